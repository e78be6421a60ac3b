import { type ChildProcess, spawn } from 'node:child_process';
import { get } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { show } from '../../src/base/show.ts';
import { SocketClient } from '../../src/csi/client.ts';
import {
  ControllerDefinition,
  IdentityDefinition,
  VolumeCapability_AccessMode_Mode as Mode,
  NodeDefinition,
} from '../../src/csi/generated/csi.ts';
import { LVServiceDefinition } from '../../src/csi/generated/lvmd.ts';

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

const sockets = { csi: '/run/topolvm/csi-topolvm.sock', lvmd: '/run/topolvm/lvmd.sock' };
const quarry = join(import.meta.dirname, '../../bin/quarry');
const patience = { timeoutMs: 120_000 };
const MiB = 1024n * 1024n;

let driver: ChildProcess | undefined;
let csi = new SocketClient(sockets.csi);
let lvmd = new SocketClient(sockets.lvmd);

async function answer(ask: TroubleAsk): Promise<TroubleAnswer> {
  switch (ask.op) {
    case 'start':
      return start();
    case 'stop':
      return stop();
    case 'metrics':
      return { ...done, text: await metrics() };
    case 'look': {
      // lvmd says "gone" only after a look of its own, which is what is wanted here.
      const nothing = { name: 'no-such-volume', deviceClass: '' };
      await lvmd.call(LVServiceDefinition, 'removeLV', nothing, patience);
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
  const source = (volumeId: string) =>
    ({ type: { $case: 'volume', value: { volumeId } } }) as const;
  const request = {
    name: ask.name,
    volumeCapabilities: [capability(false)],
    parameters: new Map([['topolvm.io/device-class', ask.in]]),
    ...(ask.op === 'create'
      ? { capacityRange: { requiredBytes: BigInt(ask.mib) * MiB } }
      : { volumeContentSource: source(ask.from) }),
  };
  const made = await csi.call(ControllerDefinition, 'createVolume', request, patience);
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
    case 'delete': {
      const ended = await csi.call(ControllerDefinition, 'deleteVolume', idOf(ask), patience);
      return ended.kind === 'failed' ? ended : done;
    }
    case 'delete-snapshot': {
      const asked = { snapshotId: ask.id };
      const ended = await csi.call(ControllerDefinition, 'deleteSnapshot', asked, patience);
      return ended.kind === 'failed' ? ended : done;
    }
    case 'get': {
      const got = await csi.call(ControllerDefinition, 'controllerGetVolume', idOf(ask), patience);
      if (got.kind === 'failed') return got;
      return { ...done, condition: wordsOf(got.response.status?.volumeCondition) };
    }
    case 'expand': {
      const asked = { ...idOf(ask), capacityRange: { requiredBytes: BigInt(ask.mib) * MiB } };
      const grown = await csi.call(ControllerDefinition, 'controllerExpandVolume', asked, patience);
      if (grown.kind === 'failed') return grown;
      return { ...done, mib: Number(grown.response.capacityBytes / MiB) };
    }
    case 'snapshot': {
      const asked = { name: ask.name, sourceVolumeId: ask.id };
      const taken = await csi.call(ControllerDefinition, 'createSnapshot', asked, patience);
      if (taken.kind === 'failed') return taken;
      return { ...done, id: taken.response.snapshot?.snapshotId ?? '' };
    }
    case 'capacity': {
      const asked = { parameters: new Map([['topolvm.io/device-class', ask.in]]) };
      const told = await csi.call(ControllerDefinition, 'getCapacity', asked, patience);
      if (told.kind === 'failed') return told;
      return { ...done, mib: Number(told.response.availableCapacity / MiB) };
    }
    default:
      return list();
  }
}

async function list(): Promise<TroubleAnswer> {
  const listed = await csi.call(ControllerDefinition, 'listVolumes', {}, patience);
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
    case 'publish': {
      const volumeCapability = capability(ask.isBlock ?? false);
      const asked = { volumeId, targetPath: path, volumeCapability };
      const ended = await csi.call(NodeDefinition, 'nodePublishVolume', asked, patience);
      return ended.kind === 'failed' ? ended : done;
    }
    case 'unpublish': {
      const asked = { volumeId, targetPath: path };
      const ended = await csi.call(NodeDefinition, 'nodeUnpublishVolume', asked, patience);
      return ended.kind === 'failed' ? ended : done;
    }
    case 'grow': {
      const asked = { volumeId, volumePath: path };
      const ended = await csi.call(NodeDefinition, 'nodeExpandVolume', asked, patience);
      return ended.kind === 'failed' ? ended : done;
    }
    case 'stats': {
      const asked = { volumeId, volumePath: path };
      const told = await csi.call(NodeDefinition, 'nodeGetVolumeStats', asked, patience);
      if (told.kind === 'failed') return told;
      return { ...done, condition: wordsOf(told.response.volumeCondition) };
    }
  }
}

const done = { code: 'OK', message: '' } as const;

function idOf({ id }: { readonly id: string }) {
  return { volumeId: id };
}

/** What is wrong with a volume; nothing when all is well. */
function wordsOf(
  told: { readonly abnormal: boolean; readonly message: string } | undefined,
): string {
  return told?.abnormal === true ? told.message : '';
}

function capability(isBlock: boolean) {
  const accessType = isBlock
    ? ({ $case: 'block', value: {} } as const)
    : ({ $case: 'mount', value: { fsType: 'ext4', mountFlags: [] } } as const);
  return { accessType, accessMode: { mode: Mode.SINGLE_NODE_WRITER } };
}

/** Until both sockets answer, or the driver has ended. */
async function start(): Promise<TroubleAnswer> {
  const args = ['standalone', '--node-id', 'n1', '--metrics-address', '127.0.0.1:8080'];
  const child = spawn(quarry, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  driver = child;
  child.stdout.on('data', (chunk: Buffer) => process.stderr.write(chunk));
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += String(chunk);
  });
  const ended = new Promise<TroubleAnswer>((resolve) => {
    child.once('close', (code) => resolve({ code: String(code), message: said }));
  });
  return Promise.race([ended, serving(child)]);
}

async function serving(child: ChildProcess): Promise<TroubleAnswer> {
  while (child.exitCode === null) {
    for (const client of [csi, lvmd]) client.close();
    csi = new SocketClient(sockets.csi);
    lvmd = new SocketClient(sockets.lvmd);
    const probed = await csi.call(IdentityDefinition, 'probe', {}, { timeoutMs: 1_000 });
    if (probed.kind === 'response') return done;
    await sleep(100);
  }
  return new Promise(() => undefined);
}

async function stop(): Promise<TroubleAnswer> {
  const child = driver;
  if (child === undefined || child.exitCode !== null) return done;
  const gone = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGTERM');
  await gone;
  return done;
}

function metrics(): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port: 8080, path: '/metrics', agent: false }, (response) => {
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
  lines.once('close', () => void stop().then(() => process.exit(0)));
}
