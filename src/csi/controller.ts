import { bytes } from '../base/bytes.ts';
import { OperationError } from '../base/failures.ts';
import type { Access, SizeRange } from '../core/volume-size.ts';
import { volumeAccess } from './access.ts';
import type { VolumeBook, VolumeView, Whereabouts } from './book.ts';
import {
  type CapacityRange,
  ControllerDefinition,
  ControllerServiceCapability_RPC_Type as Rpc,
  type Snapshot,
  type TopologyRequirement,
  type Volume,
  type VolumeCapability,
  type VolumeContentSource,
} from './generated/csi.ts';
import { pageOf } from './pages.ts';
import { type Service, service, unimplemented } from './service.ts';
import type { CreateVolume } from './volumes.ts';

/** How this driver and this host are called. */
export type DriverNames = {
  readonly driver: string;
  readonly version: string;
  /** Prefix of parameters and of the topology key, `topolvm.io` unless told otherwise. */
  readonly domain: string;
  readonly node: string;
};

export function topologyKey({ domain }: DriverNames): string {
  return `topology.${domain}/node`;
}

const capabilities = [
  ...[Rpc.CREATE_DELETE_VOLUME, Rpc.EXPAND_VOLUME, Rpc.CLONE_VOLUME, Rpc.GET_CAPACITY],
  ...[Rpc.LIST_VOLUMES, Rpc.GET_VOLUME, Rpc.VOLUME_CONDITION],
  ...[Rpc.CREATE_DELETE_SNAPSHOT, Rpc.LIST_SNAPSHOTS, Rpc.GET_SNAPSHOT],
  Rpc.SINGLE_NODE_MULTI_WRITER,
] as const;

/** CSI's words for what a book of volumes does. Nothing is decided here but whether a call makes sense. */
export function controllerService(volumes: VolumeBook, names: DriverNames): Service {
  const controller = new Controller(volumes, names);
  return service(ControllerDefinition, {
    controllerGetCapabilities: () =>
      Promise.resolve({
        capabilities: capabilities.map((type) => ({ type: { $case: 'rpc', value: { type } } })),
      }),
    createVolume: async (request, call) => {
      call.nameVolume(request.name);
      const answer = await controller.createVolume(request, call.signal);
      // From here on every line about it has the id.
      call.nameVolume(answer.volume.volumeId);
      return answer;
    },
    deleteVolume: async ({ volumeId }, call) => {
      call.nameVolume(given('volume_id', volumeId));
      await volumes.remove('volume', volumeId, call.signal);
      return {};
    },
    controllerExpandVolume: (request, call) => {
      call.nameVolume(given('volume_id', request.volumeId));
      return controller.expandVolume(request, call.signal);
    },
    validateVolumeCapabilities: (request) => controller.validate(request),
    listVolumes: (request) => controller.listVolumes(request),
    controllerGetVolume: async ({ volumeId }) => {
      const record = await volumes.get('volume', given('volume_id', volumeId));
      return { volume: controller.volume(record), status: statusOf(record) };
    },
    getCapacity: (request) => controller.capacity(request),
    createSnapshot: async ({ name, sourceVolumeId }, call) => {
      call.nameVolume(given('name', name));
      given('source_volume_id', sourceVolumeId);
      const request = { name, sourceId: sourceVolumeId };
      return { snapshot: snapshotOf(await volumes.snapshot(request, call.signal)) };
    },
    deleteSnapshot: async ({ snapshotId }, call) => {
      call.nameVolume(given('snapshot_id', snapshotId));
      await volumes.remove('snapshot', snapshotId, call.signal);
      return {};
    },
    listSnapshots: (request) => controller.listSnapshots(request),
    getSnapshot: async ({ snapshotId }) => {
      const record = await volumes.get('snapshot', given('snapshot_id', snapshotId));
      return { snapshot: snapshotOf(record) };
    },
    controllerPublishVolume: unimplemented,
    controllerUnpublishVolume: unimplemented,
    controllerModifyVolume: unimplemented,
  });
}

type Parameters = ReadonlyMap<string, string>;

class Controller {
  readonly #volumes: VolumeBook;
  readonly #names: DriverNames;

  constructor(volumes: VolumeBook, names: DriverNames) {
    this.#volumes = volumes;
    this.#names = names;
  }

  async createVolume(
    request: {
      readonly name: string;
      readonly capacityRange?: CapacityRange | undefined;
      readonly volumeCapabilities: readonly VolumeCapability[];
      readonly parameters: Parameters;
      readonly volumeContentSource?: VolumeContentSource | undefined;
      readonly accessibilityRequirements?: TopologyRequirement | undefined;
    },
    signal: AbortSignal,
  ) {
    given('name', request.name);
    const uses = usesOf(request.volumeCapabilities);
    const record = await this.#volumes.create(
      {
        name: request.name,
        ...this.#classIn(request.parameters),
        range: rangeOf(request.capacityRange),
        uses,
        source: sourceOf(request.volumeContentSource),
      },
      this.#nodesIn(request.accessibilityRequirements),
      signal,
    );
    return { volume: this.volume(record) };
  }

  async expandVolume(
    request: {
      readonly volumeId: string;
      readonly capacityRange?: CapacityRange | undefined;
      readonly volumeCapability?: VolumeCapability | undefined;
    },
    signal: AbortSignal,
  ) {
    const { volumeId, capacityRange, volumeCapability } = request;
    if (capacityRange === undefined) throw missing('capacity_range');
    const record = await this.#volumes.expand(volumeId, rangeOf(capacityRange), signal);
    const isBlock = volumeCapability?.accessType?.$case === 'block';
    return { capacityBytes: record.sizeBytes, nodeExpansionRequired: !isBlock };
  }

  async validate(request: {
    readonly volumeId: string;
    readonly volumeContext: Map<string, string>;
    readonly volumeCapabilities: readonly VolumeCapability[];
    readonly parameters: Map<string, string>;
    readonly mutableParameters: Map<string, string>;
  }) {
    const { volumeId, volumeCapabilities, volumeContext, parameters, mutableParameters } = request;
    given('volume_id', volumeId);
    if (volumeCapabilities.length === 0) throw missing('volume_capabilities');
    await this.#volumes.get('volume', volumeId);
    try {
      usesOf(volumeCapabilities);
    } catch (error) {
      if (error instanceof OperationError) return { message: error.message };
      throw error;
    }
    const confirmed = { volumeContext, volumeCapabilities, parameters, mutableParameters };
    return { confirmed, message: '' };
  }

  async listVolumes(request: { readonly maxEntries: number; readonly startingToken: string }) {
    const all = (await this.#volumes.list()).filter(({ kind }) => kind === 'volume');
    const { items, nextToken } = pageOf(all, request);
    const entries = items.map((record) => ({
      volume: this.volume(record),
      status: statusOf(record),
    }));
    return { entries, nextToken };
  }

  async listSnapshots(request: {
    readonly maxEntries: number;
    readonly startingToken: string;
    readonly sourceVolumeId: string;
    readonly snapshotId: string;
  }) {
    const { sourceVolumeId, snapshotId } = request;
    const all = (await this.#volumes.list()).filter(
      ({ kind, id, sourceId }) =>
        kind === 'snapshot' &&
        (snapshotId === '' || id === snapshotId) &&
        (sourceVolumeId === '' || sourceId === sourceVolumeId),
    );
    if (snapshotId !== '' && all.length === 0) {
      await this.#volumes.checkSeen(`the snapshot ${snapshotId}`);
    }
    const { items, nextToken } = pageOf(all, request);
    return { entries: items.map((record) => ({ snapshot: snapshotOf(record) })), nextToken };
  }

  async capacity(request: {
    readonly volumeCapabilities: readonly VolumeCapability[];
    readonly parameters: Parameters;
    readonly accessibleTopology?: { readonly segments: Parameters } | undefined;
  }) {
    const node = request.accessibleTopology?.segments.get(topologyKey(this.#names));
    const found = await this.#volumes.capacity(this.#classIn(request.parameters), node);
    return {
      availableCapacity: found?.availableBytes ?? 0n,
      maximumVolumeSize: found?.largestBytes ?? 0n,
    };
  }

  volume(record: VolumeView): Volume {
    return {
      volumeId: record.id,
      capacityBytes: record.sizeBytes,
      // Names are for people: an orchestrator knows its own.
      volumeContext: new Map([
        [`${this.#names.domain}/name`, record.name ?? ''],
        [`${this.#names.domain}/device-class`, record.className ?? ''],
      ]),
      contentSource: contentOf(record),
      accessibleTopology: [{ segments: new Map([[topologyKey(this.#names), record.node]]) }],
    };
  }

  #classIn(parameters: Parameters): Pick<CreateVolume, 'className' | 'optionClass'> {
    const { domain } = this.#names;
    return {
      className: parameters.get(`${domain}/device-class`) ?? '',
      optionClass: parameters.get(`${domain}/lvcreate-option-class`) ?? '',
    };
  }

  /** The nodes that are named, the preferred ones first. */
  #nodesIn(requirement: TopologyRequirement | undefined): Whereabouts {
    const terms = [...(requirement?.preferred ?? []), ...(requirement?.requisite ?? [])];
    if (terms.length === 0) return undefined;
    const key = topologyKey(this.#names);
    const nodes = terms.flatMap(({ segments }) => segments.get(key) ?? []);
    if (nodes.length > 0) return [...new Set(nodes)];
    throw new OperationError('TopologyElsewhere', `accessibility_requirements name no ${key}`);
  }
}

function contentOf(record: VolumeView): VolumeContentSource | undefined {
  const { kind, sourceId, sourceKind } = record;
  if (kind !== 'volume' || sourceId === undefined) return undefined;
  return sourceKind === 'snapshot'
    ? { type: { $case: 'snapshot', value: { snapshotId: sourceId } } }
    : { type: { $case: 'volume', value: { volumeId: sourceId } } };
}

function statusOf({ condition }: VolumeView) {
  const { isAbnormal, message } = condition;
  return { publishedNodeIds: [], volumeCondition: { abnormal: isAbnormal, message } };
}

export function snapshotOf(record: VolumeView): Snapshot {
  const { id, sourceId, sizeBytes, createdMs = 0, isReady, groupId } = record;
  return {
    snapshotId: id,
    sourceVolumeId: sourceId ?? '',
    sizeBytes,
    creationTime: timestampOf(createdMs),
    readyToUse: isReady,
    groupSnapshotId: groupId ?? '',
  };
}

export function timestampOf(ms: number) {
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 };
}

function sourceOf(content: VolumeContentSource | undefined): CreateVolume['source'] {
  const type = content?.type;
  if (type === undefined) {
    if (content !== undefined) throw missing('volume_content_source.type');
    return undefined;
  }
  const id = type.$case === 'snapshot' ? type.value.snapshotId : type.value.volumeId;
  const field = type.$case === 'snapshot' ? 'snapshot_id' : 'volume_id';
  return { kind: type.$case, id: given(`volume_content_source.${field}`, id) };
}

function rangeOf(range: CapacityRange | undefined): SizeRange {
  return { requiredBytes: bytes(range?.requiredBytes ?? 0n), limitBytes: range?.limitBytes ?? 0n };
}

function usesOf(wanted: readonly VolumeCapability[]): readonly Access[] {
  if (wanted.length === 0) throw missing('volume_capabilities');
  return wanted.map((capability) => {
    const { access } = volumeAccess(capability);
    return access.kind === 'block' ? 'block' : { fsType: access.fsType };
  });
}

/** CSI's own limit for names and ids; a tag of LVM holds as much in any spelling. */
const bytesMax = 128;

export function given(field: string, value: string): string {
  if (value === '') throw missing(field);
  const length = Buffer.byteLength(value);
  if (length <= bytesMax || field.endsWith('_path')) return value;
  const message = `${field} has ${length} bytes, and at most ${bytesMax} are allowed`;
  throw new OperationError('InvalidRequest', message);
}

export function missing(field: string): OperationError {
  return new OperationError('InvalidRequest', `${field} is missing`);
}
