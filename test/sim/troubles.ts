import { ownProtocols, type Protocols } from '../../src/core/cluster/protocol.ts';
import type { ClusterStage } from '../cluster/stage.ts';
import type { Chance } from '../world/chance.ts';

/** What fate does to the processes of a cluster, its machines and its network. */
export type Trouble =
  | { readonly kind: 'kill-agent' | 'power-off' | 'power-on' | 'cut'; readonly node: string }
  | { readonly kind: 'kubelet'; readonly node: string }
  /** A node, or where an operator runs. */
  | { readonly kind: 'lag'; readonly node: string; readonly ms: number }
  | { readonly kind: 'hold-agent'; readonly node: string; readonly ms: number }
  | { readonly kind: 'kill-operator'; readonly name: string }
  | { readonly kind: 'hold-operator'; readonly name: string; readonly ms: number }
  /** The program on a node, or an operator, is another version from now on. */
  | { readonly kind: 'version'; readonly place: string; readonly protocols: Protocols }
  | { readonly kind: 'mend' | 'away' | 'back' | 'compact' | 'reset' };

export type Cast = {
  readonly nodes: readonly string[];
  readonly operators: readonly string[];
  /** Somebody upgrades and downgrades meanwhile. */
  readonly isRollOut: boolean;
};

/** Every so manieth story is about roll-outs that come half-way. */
export function isRollOut(seed: number): boolean {
  return seed % 7 === 3;
}

/** The last one goes with none of the others. */
const versions: readonly Protocols[] = [
  { newest: 1, oldest: 1 },
  { newest: 2, oldest: 1 },
  { newest: 3, oldest: 3 },
];

export function troubleOf(chance: Chance, { nodes, operators, isRollOut: mayRoll }: Cast): Trouble {
  if (mayRoll && chance.happens(0.4)) {
    const where = chance.pick([...nodes, ...operators]) ?? 'n1';
    return { kind: 'version', place: where, protocols: chance.pick(versions) ?? ownProtocols };
  }
  const node = chance.pick(nodes) ?? 'n1';
  const name = chance.pick(operators) ?? 'o1';
  const kind = chance.pick([
    ...(['kill-agent', 'kill-agent', 'kill-operator', 'kill-operator', 'power-off'] as const),
    ...(['power-on', 'cut', 'mend', 'mend', 'kubelet', 'hold-agent', 'hold-operator'] as const),
    ...(['away', 'back', 'back', 'compact', 'reset', 'lag', 'lag'] as const),
  ] as const);
  const place = chance.pick([...nodes, ...operators]) ?? 'n1';
  switch (kind) {
    case 'kill-agent':
    case 'power-off':
    case 'power-on':
    case 'kubelet':
      return { kind, node };
    case 'cut':
      return { kind, node: place };
    case 'lag':
      return { kind, node: place, ms: chance.between(1_000, 60_000) };
    case 'hold-agent':
      return { kind, node, ms: chance.between(100, 40_000) };
    case 'kill-operator':
      return { kind, name };
    case 'hold-operator':
      return { kind, name, ms: chance.between(100, 40_000) };
    case 'mend':
    case 'away':
    case 'back':
    case 'compact':
    case 'reset':
      return { kind };
  }
}

export function causeTrouble(stage: ClusterStage, deed: Trouble): void {
  const { network } = stage;
  switch (deed.kind) {
    case 'kill-agent':
      stage.machine(deed.node).killAgent();
      return;
    case 'power-off':
      if (stage.machine(deed.node).isUp) stage.cutPower(deed.node);
      return;
    case 'power-on':
      stage.powerOn(deed.node);
      return;
    case 'cut':
      network.cut(deed.node);
      return;
    case 'lag':
      network.lag(deed.node, stage.clock.nowMs() + deed.ms);
      return;
    case 'kubelet':
      restartKubelet(stage, deed.node);
      return;
    case 'hold-agent':
      stage.machine(deed.node).holdUpAgent(deed.ms);
      return;
    case 'kill-operator':
      stage.killOperator(deed.name);
      return;
    case 'hold-operator':
      stage.operators.get(deed.name)?.holdUp(deed.ms);
      return;
    case 'version': {
      const version = `0.${deed.protocols.newest}.0`;
      stage.builds.set(deed.place, { version, protocols: deed.protocols });
      begunAnew(stage, deed.place);
      return;
    }
    case 'mend':
      network.mend();
      return;
    case 'away':
      network.isAway = true;
      return;
    case 'back':
      network.isAway = false;
      return;
    case 'compact':
      stage.api.compact();
      return;
    case 'reset':
      network.resetWatches();
  }
}

function begunAnew(stage: ClusterStage, place: string): void {
  if (stage.operators.has(place)) stage.killOperator(place);
  else stage.machine(place).killAgent();
}

function restartKubelet({ machines, pods, removals }: ClusterStage, node: string): void {
  const machine = machines.get(node);
  machine?.kubelet?.restart();
  if (machine?.isUp === true) void machine.kubelet?.register('known');
  removals.join(node);
  pods.changed();
}

/** All of it ends: what runs runs well, and everybody hears everybody. */
export function endTroubles(stage: ClusterStage): void {
  stage.network.rates({});
  stage.network.mend();
  stage.network.catchUp();
  stage.network.isAway = false;
  stage.api.cacheLag = 0;
  for (const machine of stage.machines.values()) {
    machine.world.faults.stop();
    machine.kubelet?.losesAnswers(0);
    machine.powerOn();
  }
  stage.removals.allBack();
  for (const place of stage.builds.keys()) {
    stage.builds.delete(place);
    begunAnew(stage, place);
  }
}
