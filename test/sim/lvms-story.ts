import type { LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import type { NetworkRates } from '../cluster/network.ts';
import { Chance } from '../world/chance.ts';
import type { FaultRates } from '../world/faults.ts';
import { newClass } from './lvms-classes.ts';
import { disksOf, type NodeDisks, paths } from './lvms-disks.ts';
import { themed } from './lvms-themes.ts';
import { type Cast, isRollOut, type Trouble, troubleOf } from './troubles.ts';

/** What people and bad luck do to a cluster whose disks an LVMCluster gives away. */
export type LvmsStory = {
  readonly seed: number;
  readonly nodes: readonly NodeDisks[];
  readonly operators: readonly string[];
  readonly network: NetworkRates;
  readonly host: FaultRates;
  /** How often a file of a node cannot be read or written. */
  readonly files: number;
  readonly kubelet: number;
  /** How often udev says nothing, says it late, or twice. */
  readonly udev: number;
  readonly cacheLag: number;
  /** Does anybody judge objects from the beginning? */
  readonly isGuarded: boolean;
  /** Was the first LVMCluster there before everybody? */
  readonly isEarly: boolean;
  readonly events: readonly LvmsEvent[];
};

export type LvmsEvent = { readonly atMs: number } & LvmsDeed;

/** A change of the LVMCluster, told so that it means something whatever came before. */
export type Edit =
  | { readonly edit: 'add-class'; readonly one: LvmDeviceClass }
  | { readonly edit: 'drop-class' | 'make-default'; readonly of: string }
  | { readonly edit: 'move-paths'; readonly of: string }
  | { readonly edit: 'add-path' | 'add-optional' | 'drop-path'; readonly of: string; path: string }
  | { readonly edit: 'ratio'; readonly of: string; readonly ratio: number }
  | { readonly edit: 'policy'; readonly of: string; readonly policy: 'Static' | 'Dynamic' }
  | { readonly edit: 'metadata'; readonly of: string; readonly mib: number }
  | { readonly edit: 'label'; readonly of: string; readonly value: string }
  | { readonly edit: 'tolerate' | 'tolerate-not' | 'drop-all' }
  /** What can never be, and is taken only while nobody judges. */
  | { readonly edit: 'pool-name' | 'force-wipe' | 'wrong-path' | 'greedy'; readonly of: string };

export type LvmsDeed =
  | { readonly kind: 'make'; readonly name: string; readonly classes: readonly LvmDeviceClass[] }
  | ({ readonly kind: 'edit' } & Edit)
  | { readonly kind: 'unmake'; readonly name: string }
  | {
      readonly kind: 'pull' | 'insert' | 'mkfs' | 'mount' | 'unmount' | 'blank';
      readonly node: string;
      readonly path: string;
    }
  | { readonly kind: 'lv' | 'lv-gone'; readonly node: string; readonly vg: string }
  | {
      readonly kind: 'lvmd';
      readonly node: string;
      readonly how: 'own-class' | 'options' | 'remark' | 'broken' | 'gone' | 'mended';
    }
  | {
      readonly kind: 'meddle';
      readonly what:
        | ('delete-class' | 'delete-group' | 'delete-report' | 'group-spec' | 'annotate')
        | 'strange-class';
      readonly name: string;
    }
  | { readonly kind: 'taint' | 'taint-not' | 'label' | 'label-not'; readonly node: string }
  | { readonly kind: 'guard' | 'guard-not' }
  /** Whatever empties a device is killed. */
  | { readonly kind: 'kill-move'; readonly node: string }
  | {
      readonly kind: 'claim';
      readonly name: string;
      readonly of: string;
      readonly mib: number;
      readonly isRaw: boolean;
    }
  | { readonly kind: 'pod'; readonly name: string; readonly claims: readonly string[] }
  | { readonly kind: 'snapshot'; readonly name: string; readonly from: string }
  | { readonly kind: 'resize'; readonly name: string; readonly mib: number }
  | { readonly kind: 'write'; readonly name: string; readonly at: number; readonly mib: number }
  | { readonly kind: 'delete-claim' | 'delete-pod' | 'delete-snapshot'; readonly name: string }
  | Trouble;

export const clusterName = 'mine';
export const nodes = ['n1', 'n2', 'n3'] as const;
const classNames = ['va', 'vb', 'vc'] as const;

export function lvmsStoryOf(seed: number): LvmsStory {
  const chance = new Chance(seed * 6271 + 5);
  const operators = chance.happens(0.4) ? ['o1', 'o2'] : ['o1'];
  const isCalm = chance.happens(0.3);
  const rate = (most: number) => (isCalm || chance.happens(0.5) ? 0 : chance.fraction() * most);
  const network = {
    ...{ lostAnswer: rate(0.05), refused: rate(0.05), failed: rate(0.05), busy: rate(0.05) },
    ...{ reset: rate(0.05), slow: rate(0.02) },
  };
  const host = {
    ...{ fail: rate(0.03), killed: rate(0.02), mishap: rate(0.02), crash: rate(0.02) },
    ...{ slow: rate(0.01), garbage: rate(0.01) },
  };
  const teller = new Teller(chance, { nodes, operators, isRollOut: isRollOut(seed) });
  const told = teller.tell(chance.between(12, 36));
  const disks = nodes.map((name) => disksOf(chance, name));
  const theme = themed(chance, { disks, told });
  return {
    ...{ seed, nodes: theme.disks, operators, network, host, events: theme.told },
    ...{ files: rate(0.02), kubelet: rate(0.1), udev: rate(0.6) },
    cacheLag: isCalm ? 0 : chance.pick([0, 5, 40] as const),
    ...{ isGuarded: chance.happens(0.8), isEarly: chance.happens(0.15) },
  };
}

/** Keeps in mind what it has told, so that later events are about something. */
class Teller {
  readonly #chance: Chance;
  readonly #cast: Cast;
  readonly #claims: string[] = [];
  readonly #pods: string[] = [];
  readonly #snapshots: string[] = [];
  #count = 0;

  constructor(chance: Chance, cast: Cast) {
    this.#chance = chance;
    this.#cast = cast;
  }

  tell(count: number): readonly LvmsEvent[] {
    const chance = this.#chance;
    const events: LvmsEvent[] = [{ atMs: 0, ...this.#make() }];
    // Half of the stories begin in peace: what comes then happens to something.
    let atMs = chance.happens(0.5) ? chance.between(15_000, 60_000) : chance.between(0, 6_000);
    for (let index = 0; index < count; index += 1) {
      for (const deed of this.#deeds()) events.push({ atMs, ...deed });
      atMs += this.#pauseMs();
    }
    return events;
  }

  /** Most trouble comes from what happens within moments. */
  #pauseMs(): number {
    const chance = this.#chance;
    if (chance.happens(0.45)) return chance.between(0, 600);
    return chance.happens(0.7) ? chance.between(600, 12_000) : chance.between(12_000, 90_000);
  }

  #deeds(): readonly LvmsDeed[] {
    const draw = this.#chance.below(100);
    if (draw < 28) return [this.#administer()];
    if (draw < 42) return this.#use();
    if (draw < 54) return this.#change();
    if (draw < 68) return [this.#disks()];
    if (draw < 78) return [this.#meddle()];
    return [troubleOf(this.#chance, this.#cast)];
  }

  #make(): LvmsDeed {
    const chance = this.#chance;
    const count = chance.pick([1, 1, 2, 2, 3] as const);
    const names = classNames.slice(0, count);
    const free = chance.shuffle(paths);
    const classes = names.map((name, index) => {
      const taken = free.splice(0, chance.between(1, 2));
      return newClass(chance, { name, paths: taken, isAlone: count === 1, isFirst: index === 0 });
    });
    return { kind: 'make', name: chance.happens(0.95) ? clusterName : 'second', classes };
  }

  #administer(): LvmsDeed {
    const chance = this.#chance;
    const draw = chance.below(100);
    if (draw < 10) return this.#make();
    if (draw < 22) {
      return { kind: 'unmake', name: chance.happens(0.9) ? clusterName : 'second' };
    }
    return { kind: 'edit', ...this.#edit() };
  }

  #edit(): Edit {
    const chance = this.#chance;
    const of = chance.pick(classNames);
    const edit = chance.pick([
      ...(['add-path', 'add-path', 'add-optional', 'drop-path', 'drop-path', 'drop-path'] as const),
      ...(['add-class', 'add-class', 'drop-class', 'drop-class', 'make-default'] as const),
      ...(['ratio', 'policy', 'metadata', 'label', 'tolerate', 'tolerate-not'] as const),
      ...(['move-paths', 'pool-name', 'force-wipe', 'wrong-path', 'greedy', 'drop-all'] as const),
    ] as const);
    const path = chance.pick(paths) ?? '/dev/sdb';
    switch (edit) {
      case 'add-class': {
        const some = chance.shuffle(paths).slice(0, chance.between(1, 2));
        const one = newClass(chance, { name: of, paths: some, isAlone: false, isFirst: false });
        return { edit, one };
      }
      case 'add-path':
      case 'add-optional':
      case 'drop-path':
        return { edit, of, path };
      case 'ratio':
        return { edit, of, ratio: chance.between(1, 20) };
      case 'policy':
        return { edit, of, policy: chance.pick(['Static', 'Dynamic'] as const) };
      case 'metadata':
        return { edit, of, mib: chance.pick([4, 8, 16, 64] as const) };
      case 'label':
        return { edit, of, value: `v${chance.below(3)}` };
      case 'tolerate':
      case 'tolerate-not':
      case 'drop-all':
        return { edit };
      default:
        return { edit, of };
    }
  }

  /** A claim comes with its pod, most of the time. */
  #use(): readonly LvmsDeed[] {
    const chance = this.#chance;
    const name = this.#name('c');
    const mib = chance.pick([300, 320, 400, 900] as const);
    const of = chance.pick(classNames);
    this.#claims.push(name);
    const claim = { kind: 'claim', name, of, mib, isRaw: chance.happens(0.2) } as const;
    if (chance.happens(0.1)) return [claim];
    const pod = this.#name('p');
    this.#pods.push(pod);
    return [claim, { kind: 'pod', name: pod, claims: [name] }];
  }

  #change(): readonly LvmsDeed[] {
    const chance = this.#chance;
    const name = chance.pick(this.#claims);
    if (name === undefined) return this.#use();
    const pod = chance.pick(this.#pods) ?? '';
    const deed = chance.pick([
      ...(['write', 'write', 'resize', 'snapshot', 'delete-snapshot', 'delete-pod'] as const),
      ...(['delete-claim', 'delete-claim', 'delete-claim'] as const),
    ] as const);
    switch (deed) {
      case 'write':
        return [{ kind: deed, name, at: chance.fraction(), mib: chance.between(1, 6) }];
      case 'resize':
        return [{ kind: deed, name, mib: chance.between(320, 1_200) }];
      case 'snapshot': {
        const made = this.#name('s');
        this.#snapshots.push(made);
        return [{ kind: deed, name: made, from: name }];
      }
      case 'delete-snapshot':
        return [{ kind: deed, name: chance.pick(this.#snapshots) ?? '' }];
      case 'delete-pod':
        return [{ kind: deed, name: pod }];
      case 'delete-claim':
        return [
          { kind: 'delete-pod', name: pod },
          { kind: deed, name },
        ];
    }
  }

  #disks(): LvmsDeed {
    const chance = this.#chance;
    const node = chance.pick(nodes) ?? 'n1';
    const path = chance.pick(paths) ?? '/dev/sdb';
    const kind = chance.pick([
      ...(['pull', 'pull', 'pull', 'insert', 'insert', 'insert', 'mkfs', 'blank'] as const),
      ...(['mount', 'unmount', 'lv', 'lv-gone'] as const),
    ] as const);
    if (kind === 'lv' || kind === 'lv-gone') return { kind, node, vg: chance.pick(classNames) };
    return { kind, node, path };
  }

  #meddle(): LvmsDeed {
    const chance = this.#chance;
    const node = chance.pick(nodes) ?? 'n1';
    const draw = chance.below(10);
    if (draw < 4) {
      const how = chance.pick([
        ...(['own-class', 'options', 'options', 'remark', 'broken', 'gone', 'mended'] as const),
      ] as const);
      return { kind: 'lvmd', node, how };
    }
    if (draw < 7) {
      const what = chance.pick([
        ...(['delete-class', 'delete-group', 'delete-report', 'group-spec', 'annotate'] as const),
        'strange-class',
      ] as const);
      return { kind: 'meddle', what, name: chance.pick([...classNames, node]) ?? 'va' };
    }
    if (draw < 8) return { kind: chance.pick(['guard', 'guard-not'] as const) };
    const kind = chance.pick(['taint', 'taint-not', 'label', 'label-not'] as const);
    return { kind, node };
  }

  #name(letter: string): string {
    this.#count += 1;
    return `${letter}${this.#count}`;
  }
}
