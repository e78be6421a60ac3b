import { get } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { show } from '../../src/base/show.ts';
import type { Result } from '../../src/csi/client.ts';
import { LVServiceDefinition } from '../../src/csi/generated/lvmd.ts';
import { GuestDriver, metricsPort, patience } from './guest-driver.ts';

/** What a test asks of the driver in a guest. */
export type TroubleAsk =
  | { readonly op: 'start' | 'stop' | 'look' | 'list' | 'metrics' }
  | { readonly op: 'create'; readonly name: string; readonly in: string; readonly mib: number }
  | { readonly op: 'clone'; readonly name: string; readonly in: string; readonly from: string }
  | { readonly op: 'delete' | 'delete-snapshot' | 'get'; readonly id: string }
  | { readonly op: 'expand'; readonly id: string; readonly mib: number }
  | { readonly op: 'snapshot'; readonly name: string; readonly id: string }
  | {
      readonly op: 'publish';
      readonly id: string;
      readonly path: string;
      readonly isBlock?: boolean;
    }
  | { readonly op: 'unpublish' | 'stats' | 'grow'; readonly id: string; readonly path: string }
  | { readonly op: 'capacity'; readonly in: string };

export type TroubleAnswer = {
  /** gRPC's word; of a start that failed the exit code. */
  readonly code: string;
  readonly message: string;
  readonly id?: string;
  readonly mib?: number;
  readonly condition?: string;
  readonly conditions?: Readonly<Record<string, string>>;
  readonly text?: string;
};

const MiB = 1024n * 1024n;
const driver = new GuestDriver();

async function answer(ask: TroubleAsk): Promise<TroubleAnswer> {
  switch (ask.op) {
    case 'start':
      return (await driver.start()) ?? done;
    case 'stop':
      await driver.end('SIGTERM');
      return done;
    case 'metrics':
      return { ...done, text: await metrics() };
    case 'look': {
      // lvmd says "gone" only after a look of its own, which is what is wanted here.
      const nothing = { name: 'no-such-volume', deviceClass: '' };
      await driver.lvmd.call(LVServiceDefinition, 'removeLV', nothing, patience);
      return done;
    }
    case 'create':
    case 'clone':
      return create(ask);
    case 'publish':
    case 'unpublish':
    case 'stats':
    case 'grow':
      return onNode(ask);
    default:
      return inController(ask);
  }
}

async function create(
  ask: Extract<TroubleAsk, { op: 'create' | 'clone' }>,
): Promise<TroubleAnswer> {
  const { name, in: where } = ask;
  const rest = ask.op === 'create' ? { mib: ask.mib } : { from: { volumeId: ask.from } };
  const made = await driver.create({ name, in: where, ...rest });
  if (made.kind === 'failed') return made;
  const { volumeId: id = '', capacityBytes = 0n } = made.response.volume ?? {};
  return { ...done, id, mib: Number(capacityBytes / MiB) };
}

async function inController(
  ask: Exclude<
    TroubleAsk,
    { op: 'start' | 'stop' | 'metrics' | 'look' | 'create' | 'clone' | 'publish' | 'stats' }
  >,
): Promise<TroubleAnswer> {
  switch (ask.op) {
    case 'delete':
      return ended(driver.delete(ask.id));
    case 'delete-snapshot':
      return ended(driver.controller('deleteSnapshot', { snapshotId: ask.id }));
    case 'get': {
      const got = await driver.controller('controllerGetVolume', { volumeId: ask.id });
      if (got.kind === 'failed') return got;
      return { ...done, condition: wordsOf(got.response.status?.volumeCondition) };
    }
    case 'expand': {
      const grown = await driver.expand(ask.id, ask.mib);
      if (grown.kind === 'failed') return grown;
      return { ...done, mib: Number(grown.response.capacityBytes / MiB) };
    }
    case 'snapshot': {
      const asked = { name: ask.name, sourceVolumeId: ask.id };
      const taken = await driver.controller('createSnapshot', asked);
      if (taken.kind === 'failed') return taken;
      return { ...done, id: taken.response.snapshot?.snapshotId ?? '' };
    }
    case 'capacity': {
      const asked = { parameters: new Map([['topolvm.io/device-class', ask.in]]) };
      const told = await driver.controller('getCapacity', asked);
      if (told.kind === 'failed') return told;
      return { ...done, mib: Number(told.response.availableCapacity / MiB) };
    }
    default:
      return list();
  }
}

async function list(): Promise<TroubleAnswer> {
  const listed = await driver.controller('listVolumes', {});
  if (listed.kind === 'failed') return listed;
  const entries = listed.response.entries.map(
    ({ volume, status }) => [volume?.volumeId ?? '', wordsOf(status?.volumeCondition)] as const,
  );
  return { ...done, conditions: Object.fromEntries(entries) };
}

async function onNode(
  ask: Extract<TroubleAsk, { op: 'publish' | 'unpublish' | 'stats' | 'grow' }>,
): Promise<TroubleAnswer> {
  const { id: volumeId, path } = ask;
  switch (ask.op) {
    case 'publish':
      return ended(driver.publish(volumeId, path, ask.isBlock === true ? 'raw' : 'ext4'));
    case 'unpublish':
      return ended(driver.unpublish(volumeId, path));
    case 'grow':
      return ended(driver.node('nodeExpandVolume', { volumeId, volumePath: path }));
    case 'stats': {
      const told = await driver.node('nodeGetVolumeStats', { volumeId, volumePath: path });
      if (told.kind === 'failed') return told;
      return { ...done, condition: wordsOf(told.response.volumeCondition) };
    }
  }
}

const done = { code: 'OK', message: '' } as const;

async function ended(call: Promise<Result<unknown>>): Promise<TroubleAnswer> {
  const result = await call;
  return result.kind === 'failed' ? result : done;
}

/** What is wrong with a volume; nothing when all is well. */
function wordsOf(
  told: { readonly abnormal: boolean; readonly message: string } | undefined,
): string {
  return told?.abnormal === true ? told.message : '';
}

function metrics(): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port: metricsPort, path: '/metrics', agent: false }, (response) => {
      text(response).then(resolve, reject);
    }).on('error', reject);
  });
}

if (import.meta.main) {
  const lines = createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const { number, ask } = JSON.parse(line) as { number: number; ask: TroubleAsk };
    void answer(ask).then((told) => console.log(show({ number, ...told })));
  });
  lines.once('close', () => void driver.end('SIGTERM').then(() => process.exit(0)));
}
