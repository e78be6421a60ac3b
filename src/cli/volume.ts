import { OperationError } from '../base/failures.ts';
import { show, showList } from '../base/show.ts';
import { recordsIn, type VolumeRecord } from '../core/catalog.ts';
import type { ObservedHost } from '../core/observed.ts';
import { type Patience, type Result, SocketClient } from '../csi/client.ts';
import {
  ControllerDefinition,
  GroupControllerDefinition,
  IdentityDefinition,
  type ListVolumesResponse_Entry,
  VolumeCapability_AccessMode_Mode as Mode,
  NodeDefinition,
  type Snapshot,
} from '../csi/generated/csi.ts';
import { missingGroupsKey } from '../csi/identity.ts';
import type { PartialOf } from '../csi/service.ts';
import type { Status } from '../csi/status.ts';
import { parseMountLines } from '../lvm/mounts.ts';
import { type Environment, exitCodes, UsageError } from './context.ts';
import { absolutePath, givenSize, knownName, newName } from './given.ts';
import { type Listed, showSize, volumeTable } from './volume-rows.ts';

export type VolumeFlags = {
  readonly socket: string;
  readonly className: string;
  readonly size: string | undefined;
  readonly fsType: string;
  readonly isBlock: boolean;
  /** LVM's own tags tell what CSI has no words for. */
  readonly look: () => Promise<ObservedHost>;
  /** The host's table of mounts. */
  readonly mounts: () => Promise<string>;
};

/** A copy of a thick volume takes its time. Whoever asks again later finds it further on. */
const patience: Patience = { timeoutMs: 3_600_000 };

/** `quarry volume VERB ...`: calls the driver that runs on this host, as an orchestrator does. */
export async function volume(
  environment: Environment,
  flags: VolumeFlags,
  args: readonly string[],
): Promise<number> {
  const client = new SocketClient(absolutePath('--csi-socket', flags.socket));
  try {
    return await new VolumeCommands(client, environment, flags).run(args);
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error;
    if (/^No connection established/.test(error.message)) {
      environment.warn(`quarry: nothing answers on ${flags.socket}`);
      environment.warn('quarry: start `quarry standalone`, or name its socket with --csi-socket');
    } else environment.warn(`quarry: ${error.code}: ${error.message}`);
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
  #domain = '';
  /** Was something left out of what was printed? */
  #isPartial = false;

  constructor(client: SocketClient, environment: Environment, flags: VolumeFlags) {
    this.#client = client;
    this.#environment = environment;
    this.#flags = flags;
  }

  async run(args: readonly string[]): Promise<number> {
    const work = this.#workOf(args);
    // Its keys begin with the name of the driver, whatever that is.
    this.#domain = (await this.#info()).name;
    await work();
    return this.#isPartial ? exitCodes.failed : exitCodes.done;
  }

  async #info() {
    return answer(await this.#client.call(IdentityDefinition, 'getPluginInfo', {}, patience));
  }

  /** What is wrong with the call itself is told before anybody is asked. */
  #workOf([verb, name, other, ...more]: readonly string[]): () => Promise<void> {
    refuseMore(verb, [name, other, ...more]);
    switch (verb) {
      case 'list':
        return () => this.#list();
      case 'create':
        return this.#creation(newName(name), undefined);
      case 'clone':
        return this.#creation(newName(name), sourceName(other));
      case 'expand':
        return this.#expansion(knownName(name));
      case 'snapshot': {
        const [made, source] = [newName(name), sourceName(other)];
        return () => this.#snapshot(made, source);
      }
      case 'group-snapshot': {
        const [made, volumes] = [newName(name), memberNames([other, ...more])];
        return () => this.#groupSnapshot(made, volumes);
      }
      case 'delete': {
        const what = knownName(name);
        return () => this.#delete(what);
      }
      case 'publish':
      case 'unpublish': {
        const [what, path] = [knownName(name), absolutePath('PATH', other)];
        return () => (verb === 'publish' ? this.#publish(what, path) : this.#unpublish(what, path));
      }
      default:
        throw new UsageError(
          `volume knows ${[...words.keys()].join(', ')}; not ${verb ?? 'nothing'}`,
        );
    }
  }

  async #list(): Promise<void> {
    const [volumes, snapshots] = [await this.#volumes(), await this.#snapshots()];
    const contextOf: Listed['contextOf'] = (volume, key) => this.#contextOf(volume, key);
    const records = await this.#records();
    this.#print(volumeTable({ volumes, snapshots, records, contextOf }));
    await this.#tellMissingGroups();
  }

  /** Asked after the list: a group that went before it was made is told. */
  async #tellMissingGroups(): Promise<void> {
    const { manifest } = await this.#info();
    const missing = manifest.get(missingGroupsKey({ domain: this.#domain }));
    if (missing === undefined) return;
    this.#isPartial = true;
    const { warn } = this.#environment;
    warn(`quarry: VolumeGroupMissing: ${missing} is not here, and what is in it is not shown`);
    warn('quarry: bring its disks back, or create it, or take its classes out of lvmd.yaml');
  }

  /** What LVM's tags tell. The list is good without it: a look that fails is told, no more. */
  async #records(): Promise<ReadonlyMap<string, VolumeRecord>> {
    try {
      const host = await this.#flags.look();
      const records = recordsIn(host, new Set(host.vgs.map(({ name }) => name)));
      return new Map(records.map((record) => [record.id, record]));
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      const lost = 'names of snapshots and sources, and who was never published, are not shown';
      this.#environment.warn(`quarry: ${lost}: ${error.code}: ${error.message}`);
      return new Map();
    }
  }

  #creation(name: string, source: string | undefined): () => Promise<void> {
    const { size } = this.#flags;
    const asked = size === undefined && source !== undefined ? undefined : givenSize(size);
    return () => this.#create(name, source, asked);
  }

  async #create(name: string, source: string | undefined, asked: bigint | undefined) {
    const { className } = this.#flags;
    const from = source === undefined ? undefined : await this.#source(source);
    const requiredBytes = asked ?? from?.sizeBytes ?? 0n;
    const { volume } = await this.#controller('createVolume', {
      name,
      capacityRange: { requiredBytes },
      volumeCapabilities: [this.#capability()],
      parameters: new Map([[`${this.#domain}/device-class`, from?.className ?? className]]),
      ...(from === undefined ? {} : { volumeContentSource: { type: from.type } }),
    });
    const verb = from === undefined ? 'created' : 'cloned';
    this.#print(`${verb} ${name} (${showSize(volume?.capacityBytes ?? 0n)}, ${volume?.volumeId})`);
  }

  #expansion(name: string): () => Promise<void> {
    const requiredBytes = givenSize(this.#flags.size);
    return () => this.#expand(name, requiredBytes);
  }

  async #expand(name: string, requiredBytes: bigint): Promise<void> {
    const capacityRange = { requiredBytes };
    const before = (await this.#find(name))?.volume;
    const volumeId = before?.volumeId ?? name;
    const volumeCapability = this.#capability();
    const request = { volumeId, capacityRange, volumeCapability };
    const expanded = await this.#controller('controllerExpandVolume', request);
    const size = showSize(expanded.capacityBytes);
    const isSame = expanded.capacityBytes === before?.capacityBytes;
    this.#print(isSame ? `${name} has ${size} already` : `expanded ${name} (${size})`);
    if (expanded.nodeExpansionRequired) await this.#growFileSystem(name, volumeId);
  }

  /** Kubelet does this for pods; here nobody else does. */
  async #growFileSystem(name: string, volumeId: string): Promise<void> {
    const suffix = `-${volumeId.replaceAll('-', '--')}`;
    const shown = parseMountLines(await this.#flags.mounts()).filter(
      ({ source }) => source.startsWith('/dev/mapper/') && source.endsWith(suffix),
    );
    const [first] = shown;
    if (first === undefined) {
      return this.#print(`the file system of ${name}, if it has one, grows at its next publish`);
    }
    const volumePath = first.mountPoint;
    const request = { volumeId, volumePath };
    answer(await this.#client.call(NodeDefinition, 'nodeExpandVolume', request, patience));
    this.#print(`its file system at ${volumePath} has grown with it`);
  }

  async #snapshot(name: string, source: string): Promise<void> {
    const sourceVolumeId = await this.#volumeId(source);
    const { snapshot } = await this.#controller('createSnapshot', { name, sourceVolumeId });
    const id = snapshot?.snapshotId ?? '';
    this.#print(`snapshot ${name} of ${source} (${showSize(snapshot?.sizeBytes ?? 0n)}, ${id})`);
  }

  async #groupSnapshot(name: string, volumes: readonly string[]): Promise<void> {
    const sourceVolumeIds: string[] = [];
    for (const volume of volumes) sourceVolumeIds.push(await this.#volumeId(volume));
    const { groupSnapshot } = await this.#groups('createVolumeGroupSnapshot', {
      name,
      sourceVolumeIds,
    });
    const { groupSnapshotId: id = '', snapshots = [] } = groupSnapshot ?? {};
    const members = showList(snapshots.map(({ snapshotId }) => snapshotId));
    this.#print(`group snapshot ${name} of ${showList(volumes)} (${id}): ${members}`);
  }

  /** By name, or by id: snapshots and groups of them are known to the driver by their ids. */
  async #delete(name: string): Promise<void> {
    const snapshots = await this.#snapshots();
    if (snapshots.some(({ snapshotId }) => snapshotId === name)) {
      await this.#controller('deleteSnapshot', { snapshotId: name });
    } else if (snapshots.some(({ groupSnapshotId }) => groupSnapshotId === name)) {
      await this.#groups('deleteVolumeGroupSnapshot', { groupSnapshotId: name });
    } else {
      const found = await this.#find(name);
      // What is not listed may be in a group that is away: only the driver says that it is gone.
      await this.#controller('deleteVolume', { volumeId: found?.volume?.volumeId ?? name });
      if (found === undefined) {
        return this.#print(`there is no volume ${name}; a snapshot is named by its ID`);
      }
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

  async #snapshots(): Promise<readonly Snapshot[]> {
    const { entries } = await this.#controller('listSnapshots', {});
    return entries.flatMap(({ snapshot }) => snapshot ?? []);
  }

  async #find(name: string): Promise<ListVolumesResponse_Entry | undefined> {
    const all = await this.#volumes();
    const byName = all.filter(({ volume }) => this.#contextOf(volume, 'name') === name);
    return byName[0] ?? all.find(({ volume }) => volume?.volumeId === name);
  }

  /** One that is not listed may be in a group that is away: the driver tells. */
  async #volumeId(name: string): Promise<string> {
    return (await this.#find(name))?.volume?.volumeId ?? name;
  }

  /** What a clone is made of: a volume by name or id, or a snapshot by id. */
  async #source(name: string) {
    const found = (await this.#find(name))?.volume;
    if (found !== undefined) {
      const type = { $case: 'volume', value: { volumeId: found.volumeId } } as const;
      const className = this.#contextOf(found, 'device-class');
      return { type, className, sizeBytes: found.capacityBytes };
    }
    const snapshot = (await this.#snapshots()).find(({ snapshotId }) => snapshotId === name);
    if (snapshot === undefined) throw await this.#lost(name);
    const type = { $case: 'snapshot', value: { snapshotId: snapshot.snapshotId } } as const;
    return { type, className: this.#flags.className, sizeBytes: snapshot.sizeBytes };
  }

  /** What is not listed may be in a group that is away: only the driver says that it is gone. */
  async #lost(name: string): Promise<Error> {
    const request = { volumeId: name };
    const method = 'controllerGetVolume';
    const asked = await this.#client.call(ControllerDefinition, method, request, patience);
    if (asked.kind === 'failed' && asked.code !== 'NOT_FOUND') {
      return new CallFailed(asked.code, asked.message);
    }
    const message = `there is no volume ${name}, and no snapshot with this ID`;
    return new OperationError('SourceNotFound', message);
  }

  async #controller<K extends keyof Methods>(method: K, request: PartialOf<Methods[K]>) {
    return answer(await this.#client.call(ControllerDefinition, method, request, patience));
  }

  async #groups<K extends keyof GroupMethods>(method: K, request: PartialOf<GroupMethods[K]>) {
    return answer(await this.#client.call(GroupControllerDefinition, method, request, patience));
  }

  #contextOf(
    volume: { readonly volumeContext: ReadonlyMap<string, string> } | undefined,
    key: string,
  ): string {
    return volume?.volumeContext.get(`${this.#domain}/${key}`) ?? '';
  }

  #capability() {
    const { fsType, isBlock } = this.#flags;
    const accessType = isBlock
      ? ({ $case: 'block', value: {} } as const)
      : ({ $case: 'mount', value: { fsType, mountFlags: [] } } as const);
    return { accessType, accessMode: { mode: Mode.SINGLE_NODE_WRITER } };
  }

  #print(text: string): void {
    this.#environment.print(text);
  }
}

type Methods = (typeof ControllerDefinition)['methods'];
type GroupMethods = (typeof GroupControllerDefinition)['methods'];

/** What can be said to `quarry volume`, and with how many words. */
const words: ReadonlyMap<string, number> = new Map([
  ...([['list', 0]] as const),
  ...(['create', 'expand', 'delete'] as const).map((verb) => [verb, 1] as const),
  ...(['snapshot', 'clone', 'publish', 'unpublish'] as const).map((verb) => [verb, 2] as const),
  ...([['group-snapshot', Number.POSITIVE_INFINITY]] as const),
]);

function answer<T>(result: Result<T>): T {
  if (result.kind === 'response') return result.response;
  throw new CallFailed(result.code, result.message);
}

function refuseMore(verb: string | undefined, given: readonly (string | undefined)[]): void {
  const most = words.get(verb ?? '');
  const more = most === undefined ? undefined : given[most];
  if (more !== undefined) throw new UsageError(`volume ${verb} takes no ${show(more)}`);
}

function sourceName(source: string | undefined): string {
  if (source === undefined) throw new UsageError('a source is missing');
  return knownName(source);
}

function memberNames(given: readonly (string | undefined)[]): readonly string[] {
  const names = given.filter((name) => name !== undefined).map(knownName);
  if (names.length === 0) throw new UsageError('name the volumes that it shall be of');
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`${show(twice)} is named twice`);
  return names;
}
