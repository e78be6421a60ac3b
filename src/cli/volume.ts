import { parseQuantity } from '../api/quantity.ts';
import { bytes } from '../base/bytes.ts';
import { OperationError } from '../base/failures.ts';
import { showBytes } from '../base/show.ts';
import { type Patience, type Result, SocketClient } from '../csi/client.ts';
import {
  ControllerDefinition,
  type ListSnapshotsResponse_Entry,
  type ListVolumesResponse_Entry,
  VolumeCapability_AccessMode_Mode as Mode,
  NodeDefinition,
} from '../csi/generated/csi.ts';
import type { PartialOf } from '../csi/service.ts';
import type { Status } from '../csi/status.ts';
import { type Environment, exitCodes, UsageError } from './context.ts';
import { table } from './table.ts';

export type VolumeFlags = {
  readonly socket: string;
  readonly className: string;
  readonly size: string | undefined;
  readonly fsType: string;
  readonly isBlock: boolean;
};

/** A copy of a thick volume takes its time. Whoever asks again later finds it further on. */
const patience: Patience = { timeoutMs: 3_600_000 };

/** `quarry volume VERB ...`: calls the driver that runs on this host, as an orchestrator does. */
export async function volume(
  environment: Environment,
  flags: VolumeFlags,
  args: readonly string[],
): Promise<number> {
  const client = new SocketClient(flags.socket);
  try {
    await new VolumeCommands(client, environment, flags).run(args);
    return exitCodes.done;
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error;
    const isAway =
      error.code === 'UNAVAILABLE' && /connect|ENOENT|ECONNREFUSED/.test(error.message);
    const hint = isAway
      ? ` Is \`quarry standalone\` running, with its socket at ${flags.socket}?`
      : '';
    environment.warn(`quarry: ${error.code}: ${error.message}${hint}`);
    return retried.has(error.code) ? exitCodes.retryLater : exitCodes.failed;
  } finally {
    client.close();
  }
}

const retried: ReadonlySet<Status> = new Set(['UNAVAILABLE', 'ABORTED', 'DEADLINE_EXCEEDED']);

class CallFailed extends Error {
  override readonly name = 'CallFailed';
  readonly code: Status;

  constructor(code: Status, message: string) {
    super(message);
    this.code = code;
  }
}

class VolumeCommands {
  readonly #client: SocketClient;
  readonly #environment: Environment;
  readonly #flags: VolumeFlags;

  constructor(client: SocketClient, environment: Environment, flags: VolumeFlags) {
    this.#client = client;
    this.#environment = environment;
    this.#flags = flags;
  }

  async run([verb, name, other]: readonly string[]): Promise<void> {
    switch (verb) {
      case 'list':
        return this.#list();
      case 'create':
        return this.#create(needed(name, 'a name'), undefined);
      case 'clone':
        return this.#create(needed(name, 'a name'), needed(other, 'a source'));
      case 'expand':
        return this.#expand(needed(name, 'a name'));
      case 'snapshot':
        return this.#snapshot(needed(name, 'a name'), needed(other, 'a source volume'));
      case 'delete':
        return this.#delete(needed(name, 'a name'));
      case 'publish':
        return this.#publish(needed(name, 'a name'), needed(other, 'a path'));
      case 'unpublish':
        return this.#unpublish(needed(name, 'a name'), needed(other, 'a path'));
      default:
        throw new UsageError(`volume knows ${verbs.join(', ')}; not ${verb ?? 'nothing'}`);
    }
  }

  async #list(): Promise<void> {
    const rows = [
      ...(await this.#volumes()).map(({ volume, status }) => {
        const source = volume?.contentSource?.type?.value ?? {};
        return [
          ...[contextOf(volume, 'name'), 'volume', contextOf(volume, 'device-class')],
          ...[
            showSize(volume?.capacityBytes ?? 0n),
            Object.values(source).join(''),
            volume?.volumeId,
          ],
          status?.volumeCondition?.message ?? '',
        ];
      }),
      ...(await this.#snapshots()).map(({ snapshot }) => [
        ...['', 'snapshot', '', showSize(snapshot?.sizeBytes ?? 0n), snapshot?.sourceVolumeId],
        ...[snapshot?.snapshotId, snapshot?.readyToUse === true ? 'ready' : 'overflowed'],
      ]),
    ];
    const head = ['NAME', 'KIND', 'CLASS', 'SIZE', 'SOURCE', 'ID', 'CONDITION'];
    this.#print(
      table(
        head,
        rows.map((row) => row.map((cell) => cell || '-')),
      ),
    );
  }

  async #create(name: string, source: string | undefined): Promise<void> {
    const { className, size } = this.#flags;
    const from = source === undefined ? undefined : await this.#source(source);
    const requiredBytes = size === undefined && from !== undefined ? from.sizeBytes : this.#size();
    const { volume } = await this.#controller('createVolume', {
      name,
      capacityRange: { requiredBytes },
      volumeCapabilities: [this.#capability()],
      parameters: new Map([[`${domain}/device-class`, from?.className ?? className]]),
      ...(from === undefined ? {} : { volumeContentSource: { type: from.type } }),
    });
    const verb = from === undefined ? 'created' : 'cloned';
    this.#print(`${verb} ${name} (${showSize(volume?.capacityBytes ?? 0n)}, ${volume?.volumeId})`);
  }

  async #expand(name: string): Promise<void> {
    const volumeId = await this.#volumeId(name);
    const capacityRange = { requiredBytes: this.#size() };
    const volumeCapability = this.#capability();
    const request = { volumeId, capacityRange, volumeCapability };
    const { capacityBytes } = await this.#controller('controllerExpandVolume', request);
    this.#print(`expanded ${name} (${showSize(capacityBytes)})`);
  }

  async #snapshot(name: string, source: string): Promise<void> {
    const sourceVolumeId = await this.#volumeId(source);
    const { snapshot } = await this.#controller('createSnapshot', { name, sourceVolumeId });
    const id = snapshot?.snapshotId ?? '';
    this.#print(`snapshot ${name} of ${source} (${showSize(snapshot?.sizeBytes ?? 0n)}, ${id})`);
  }

  /** By name, or by id: snapshots are known to the driver by their ids. */
  async #delete(name: string): Promise<void> {
    const snapshot = (await this.#snapshots()).find((entry) => entry.snapshot?.snapshotId === name);
    if (snapshot !== undefined) {
      await this.#controller('deleteSnapshot', { snapshotId: name });
    } else {
      const found = await this.#find(name);
      if (found === undefined) return this.#print(`${name} does not exist`);
      await this.#controller('deleteVolume', { volumeId: found.volume?.volumeId ?? '' });
    }
    this.#print(`deleted ${name}`);
  }

  async #publish(name: string, targetPath: string): Promise<void> {
    const volumeId = await this.#volumeId(name);
    const volumeCapability = this.#capability();
    const request = { volumeId, targetPath, volumeCapability };
    answer(await this.#client.call(NodeDefinition, 'nodePublishVolume', request, patience));
    this.#print(`${name} is shown at ${targetPath}`);
  }

  async #unpublish(name: string, targetPath: string): Promise<void> {
    const volumeId = await this.#volumeId(name);
    const request = { volumeId, targetPath };
    answer(await this.#client.call(NodeDefinition, 'nodeUnpublishVolume', request, patience));
    this.#print(`${name} is no longer shown at ${targetPath}`);
  }

  async #volumes(): Promise<readonly ListVolumesResponse_Entry[]> {
    return (await this.#controller('listVolumes', {})).entries;
  }

  async #snapshots(): Promise<readonly ListSnapshotsResponse_Entry[]> {
    return (await this.#controller('listSnapshots', {})).entries;
  }

  async #find(name: string): Promise<ListVolumesResponse_Entry | undefined> {
    const all = await this.#volumes();
    const byName = all.filter(({ volume }) => contextOf(volume, 'name') === name);
    return byName[0] ?? all.find(({ volume }) => volume?.volumeId === name);
  }

  async #volumeId(name: string): Promise<string> {
    const found = await this.#find(name);
    if (found?.volume !== undefined) return found.volume.volumeId;
    throw new OperationError('VolumeNotFound', `there is no volume ${name}`);
  }

  /** What a clone is made of: a volume by name or id, or a snapshot by id. */
  async #source(name: string) {
    const found = (await this.#find(name))?.volume;
    if (found !== undefined) {
      const type = { $case: 'volume', value: { volumeId: found.volumeId } } as const;
      const className = contextOf(found, 'device-class');
      return { type, className, sizeBytes: found.capacityBytes };
    }
    const entries = await this.#snapshots();
    const snapshot = entries.find((entry) => entry.snapshot?.snapshotId === name)?.snapshot;
    if (snapshot === undefined) {
      throw new OperationError('SourceNotFound', `there is no volume or snapshot ${name}`);
    }
    const type = { $case: 'snapshot', value: { snapshotId: snapshot.snapshotId } } as const;
    return { type, className: this.#flags.className, sizeBytes: snapshot.sizeBytes };
  }

  async #controller<K extends keyof Methods>(method: K, request: PartialOf<Methods[K]>) {
    return answer(await this.#client.call(ControllerDefinition, method, request, patience));
  }

  #capability() {
    const { fsType, isBlock } = this.#flags;
    const accessType = isBlock
      ? ({ $case: 'block', value: {} } as const)
      : ({ $case: 'mount', value: { fsType, mountFlags: [] } } as const);
    return { accessType, accessMode: { mode: Mode.SINGLE_NODE_WRITER } };
  }

  #size(): bigint {
    const { size } = this.#flags;
    if (size === undefined) throw new UsageError('say how large it shall be: --size 10Gi');
    const parsed = parseQuantity(size);
    if (typeof parsed === 'bigint') return parsed;
    throw new OperationError(parsed.code, parsed.message);
  }

  #print(text: string): void {
    this.#environment.print(text);
  }
}

type Methods = (typeof ControllerDefinition)['methods'];

const verbs = [
  ...['list', 'create', 'expand', 'delete', 'snapshot', 'clone', 'publish', 'unpublish'],
];

/** Whatever the driver is called: these keys are how this command and the driver talk. */
const domain = 'topolvm.io';

function showSize(value: bigint): string {
  return showBytes(bytes(value));
}

function contextOf(
  volume: { readonly volumeContext: ReadonlyMap<string, string> } | undefined,
  key: string,
): string {
  return volume?.volumeContext.get(`${domain}/${key}`) ?? '';
}

function answer<T>(result: Result<T>): T {
  if (result.kind === 'response') return result.response;
  throw new CallFailed(result.code, result.message);
}

function needed(value: string | undefined, what: string): string {
  if (value === undefined) throw new UsageError(`${what} is missing`);
  return value;
}
