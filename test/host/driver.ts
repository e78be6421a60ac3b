import { createInterface } from 'node:readline';
import { decodeNodeFile } from '../../src/api/node-file/decode.ts';
import { parseQuantity } from '../../src/api/quantity.ts';
import type { Bytes } from '../../src/base/bytes.ts';
import { OperationError } from '../../src/base/failures.ts';
import { show } from '../../src/base/show.ts';
import { desiredClone } from '../../src/core/clone/desired.ts';
import { findDeviceClass } from '../../src/core/device-class.ts';
import { type DesiredNode, desiredNode } from '../../src/core/node.ts';
import { desiredSnapshot } from '../../src/core/snapshot/desired.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';
import { absentVolume, desiredVolume } from '../../src/core/volume/desired.ts';
import type { DesiredVg } from '../../src/core/volume-group/desired.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { Outcome } from '../../src/engine/job.ts';
import { observeNode } from '../../src/engine/look.ts';
import type { Host } from '../../src/engine/ports.ts';
import {
  cloneTask,
  snapshotTask,
  thinPoolTask,
  volumeGroupTask,
  volumeTask,
} from '../../src/engine/tasks.ts';
import { realClock } from '../../src/host/clock.ts';
import { realHost } from '../../src/host/host.ts';
import type { Answer, Ask, Death, Ran } from './protocol.ts';
import { Publications } from './publications.ts';

/**
 * Runs inside a guest: the real engine on the real host door, asked from outside by JSON lines.
 * It tells every command it ran, and can kill itself around any changing one.
 */
const [deathText = ''] = process.argv.slice(2);
const death = parseDeath(deathText);
const ran: Ran[] = [];
let changes = 0;
const host = countingHost(realHost({ prefix: [], path: '/usr/sbin:/usr/bin:/sbin:/bin' }));
const engine = new Engine({ host, clock: realClock, trace: () => undefined });
const publications = new Publications(engine, host);

for await (const line of createInterface({ input: process.stdin })) {
  const { id, ask } = JSON.parse(line) as { id: number; ask: Ask };
  const from = ran.length;
  const answer = await answerTo(ask).catch(failed);
  say({ id, ...answer, ran: ran.slice(from) } satisfies Answer);
}

type Told = Omit<Answer, 'id' | 'ran'>;

async function answerTo(ask: Ask): Promise<Told> {
  switch (ask.op) {
    case 'look':
      return { kind: 'settled', value: (await engine.observe()).host };
    case 'observe':
      return { kind: 'settled', value: await observeNode(host, []) };
    case 'recover':
      return { kind: 'settled', value: await engine.recover(['vg']) };
    case 'apply':
      return apply(nodeOf(ask.node));
    case 'create':
    case 'delete':
    case 'snapshot':
    case 'clone':
      return told(await submit(ask));
    case 'remove-pool':
      return removePools(nodeOf(ask.node));
    case 'remove-vg':
      return removeGroups(nodeOf(ask.node));
    case 'release':
      return release(nodeOf(ask.node), ask.device);
    case 'publish':
    case 'unpublish':
    case 'grow':
    case 'stats':
    case 'mounts':
      return publications.answer(ask);
    case 'burst': {
      const answers = await Promise.all(ask.asks.map((one) => answerTo(one).catch(failed)));
      return { kind: 'settled', value: answers };
    }
  }
}

type VolumeOp = Extract<Ask, { op: 'create' | 'delete' | 'snapshot' | 'clone' }>;

async function submit(ask: VolumeOp): Promise<Outcome<unknown>> {
  switch (ask.op) {
    case 'delete':
      return engine.submit(volumeTask(absentVolume(ask.vg, ask.name)));
    case 'create': {
      const request = { ...ask.request, sizeBytes: sizeOf(ask.request.size) };
      const wanted = desiredVolume(request, nodeOf(ask.node).deviceClasses);
      return isBlocked(wanted) ? wanted : engine.submit(volumeTask(wanted));
    }
    case 'snapshot': {
      const { name, source, className } = ask.request;
      const deviceClass = findDeviceClass(nodeOf(ask.node).deviceClasses, className);
      if (isBlocked(deviceClass)) return deviceClass;
      const wanted = desiredSnapshot({ name, source, deviceClass });
      return isBlocked(wanted) ? wanted : engine.submit(snapshotTask(wanted));
    }
    case 'clone': {
      const request = { ...ask.request, sizeBytes: sizeOf(ask.request.size) };
      const wanted = desiredClone(request, nodeOf(ask.node).deviceClasses);
      return isBlocked(wanted) ? wanted : engine.submit(cloneTask(wanted));
    }
  }
}

async function apply(node: DesiredNode): Promise<Told> {
  for (const vg of node.volumeGroups) {
    const outcome = await engine.submitNode(volumeGroupTask(vg, node));
    if (outcome.kind === 'blocked') return told(outcome);
  }
  for (const pool of node.thinPools) {
    const outcome = await engine.submit(thinPoolTask(pool));
    if (outcome.kind === 'blocked') return told(outcome);
  }
  return { kind: 'settled' };
}

async function removePools(node: DesiredNode): Promise<Told> {
  for (const pool of node.thinPools) {
    const outcome = await engine.submit(thinPoolTask({ ...pool, presence: 'absent' }));
    if (outcome.kind === 'blocked') return told(outcome);
  }
  return { kind: 'settled' };
}

async function removeGroups(node: DesiredNode): Promise<Told> {
  for (const vg of node.volumeGroups) {
    const absent = { ...vg, presence: 'absent' } as const;
    const outcome = await engine.submitNode(volumeGroupTask(absent, node));
    if (outcome.kind === 'blocked') return told(outcome);
  }
  return { kind: 'settled' };
}

async function release(node: DesiredNode, device: string): Promise<Told> {
  const [vg] = node.volumeGroups;
  if (vg === undefined) throw new Error('release needs a volume group');
  const selector = without(vg.selector, device);
  const pvs = (await engine.observe()).host.vgs.flatMap((each) => each.pvs);
  const uuids = pvs.filter((pv) => pv.device === device).map(({ uuid }) => uuid);
  const leaving = { ...vg, selector, takesNewDevices: false, release: uuids };
  for (;;) {
    const outcome = await engine.submitNode(volumeGroupTask(leaving, node));
    const isDone = outcome.kind === 'blocked' || outcome.status.state !== 'Progressing';
    if (isDone) return told(outcome);
    await realClock.sleep(100);
  }
}

/** Who wants a device to leave has taken it out of what he asks for. */
function without(selector: DesiredVg['selector'], device: string): DesiredVg['selector'] {
  if (selector.kind === 'any') return selector;
  const others = (paths: readonly string[]) => paths.filter((path) => path !== device);
  return {
    ...selector,
    required: others(selector.required),
    optional: others(selector.optional),
  };
}

function told(outcome: Outcome<unknown>): Told {
  if (outcome.kind === 'settled') return { kind: 'settled', value: outcome.status };
  return { kind: 'blocked', code: outcome.code, message: outcome.message };
}

function failed(error: unknown): Told {
  if (error instanceof OperationError) {
    return { kind: 'failed', code: error.code, message: error.message };
  }
  return { kind: 'failed', code: 'Bug', message: String((error as Error).stack ?? error) };
}

function nodeOf(value: unknown): DesiredNode {
  const decoded = decodeNodeFile(value);
  if (decoded.kind === 'node') return desiredNode(decoded.spec);
  throw new Error(`bad node file in a test: ${show(decoded.problems)}`);
}

function sizeOf(text: string): Bytes {
  const size = parseQuantity(text);
  if (typeof size === 'bigint') return size;
  throw new Error(`bad size in a test: ${text}`);
}

function countingHost(inner: Host): Host {
  return {
    ...inner,
    changeFile: async (step) => {
      changes += 1;
      const count = changes;
      dieIf('before');
      await inner.changeFile(step);
      const argv = [step.kind, step.path];
      ran.push({ argv, effect: 'changes', exitCode: 0, durationMs: 0 });
      if (death !== undefined && death.when !== 'before' && death.count === count) die();
    },
    start: (command, signal, heard) => {
      const isChange = command.effect === 'changes';
      if (isChange) changes += 1;
      if (isChange) dieIf('before');
      const running = inner.start(command, signal, heard);
      if (isChange) say({ started: command.argv, count: changes });
      if (isChange) dieIf('during');
      const count = changes;
      const note = (exitCode: number | undefined, durationMs: number) => {
        ran.push({ argv: command.argv, effect: command.effect, exitCode, durationMs });
        if (isChange && death?.when === 'after' && death.count === count) die();
      };
      const result = running.result.then(
        (ended) => {
          note(ended.exitCode, ended.durationMs);
          return ended;
        },
        (error: unknown) => {
          note(undefined, 0);
          throw error;
        },
      );
      return { result, gone: running.gone };
    },
  };
}

function dieIf(when: Death['when']): void {
  if (death?.when === when && death.count === changes) die();
}

function die(): never {
  process.kill(process.pid, 'SIGKILL');
  // The signal is on its way; nothing more may run.
  for (;;);
}

function parseDeath(text: string): Death | undefined {
  const match = /^(before|during|after):(\d+)$/.exec(text);
  if (match === null) return undefined;
  return { when: match[1] as Death['when'], count: Number(match[2]) };
}

function say(value: unknown): void {
  process.stdout.write(`${show(value)}\n`);
}
