import { OperationError } from '../base/failures.ts';
import { absentPublication, desiredPublication } from '../core/publication/desired.ts';
import { desiredGrowth } from '../core/publication/growth.ts';
import type { PublicationStats } from '../core/publication/status.ts';
import { isBlocked } from '../core/usable-vg.ts';
import { showsOldBlocks } from '../core/volume/growth.ts';
import { settled } from '../engine/job.ts';
import type { Publisher } from '../engine/publisher.ts';
import { volumeAccess } from './access.ts';
import { type DriverNames, given, missing, topologyKey } from './controller.ts';
import {
  NodeDefinition,
  type NodePublishVolumeRequest,
  type NodePublishVolumeResponse,
  NodeServiceCapability_RPC_Type as Rpc,
  VolumeUsage_Unit as Unit,
  type VolumeUsage,
} from './generated/csi.ts';
import { orThrow } from './outcome.ts';
import { type Service, service, unimplemented } from './service.ts';
import type { Volumes } from './volumes.ts';

const capabilities = [
  ...[Rpc.GET_VOLUME_STATS, Rpc.EXPAND_VOLUME, Rpc.VOLUME_CONDITION],
  Rpc.SINGLE_NODE_MULTI_WRITER,
] as const;

type Parts = { readonly volumes: Volumes; readonly publisher: Publisher };

/** CSI's words for what the publisher does. */
export function nodeService(parts: Parts, names: DriverNames): Service {
  const node = new NodeSide(parts);
  return service(NodeDefinition, {
    nodeGetCapabilities: () =>
      Promise.resolve({
        capabilities: capabilities.map((type) => ({ type: { $case: 'rpc', value: { type } } })),
      }),
    nodeGetInfo: () =>
      Promise.resolve({
        nodeId: names.node,
        maxVolumesPerNode: 0n,
        accessibleTopology: { segments: new Map([[topologyKey(names), names.node]]) },
      }),
    nodePublishVolume: (request, call) => {
      call.nameVolume(given('volume_id', request.volumeId));
      return node.publish(request, call.signal);
    },
    nodeUnpublishVolume: async ({ volumeId, targetPath }, call) => {
      call.nameVolume(given('volume_id', volumeId));
      await node.unpublish(volumeId, given('target_path', targetPath), call.signal);
      return {};
    },
    nodeExpandVolume: async ({ volumeId, volumePath }, call) => {
      call.nameVolume(given('volume_id', volumeId));
      const path = given('volume_path', volumePath);
      return { capacityBytes: await node.expand(volumeId, path, call.signal) };
    },
    nodeGetVolumeStats: async ({ volumeId, volumePath }) => {
      const path = given('volume_path', volumePath);
      const { usage, condition } = await node.stats(given('volume_id', volumeId), path);
      const { isAbnormal, message } = condition;
      return { usage: usageOf(usage), volumeCondition: { abnormal: isAbnormal, message } };
    },
    nodeStageVolume: unimplemented,
    nodeUnstageVolume: unimplemented,
  });
}

class NodeSide {
  readonly #volumes: Volumes;
  readonly #publisher: Publisher;

  constructor({ volumes, publisher }: Parts) {
    this.#volumes = volumes;
    this.#publisher = publisher;
  }

  async publish(
    request: NodePublishVolumeRequest,
    signal: AbortSignal,
  ): Promise<NodePublishVolumeResponse> {
    const targetPath = given('target_path', request.targetPath);
    if (request.volumeCapability === undefined) throw missing('volume_capability');
    const { access, isReadOnly, isExclusive } = volumeAccess(request.volumeCapability);
    const { volume, lv } = await this.#volumes.locate(request.volumeId);
    const isRaw = access.kind === 'block';
    // What former tenants left on the disks must not be read through a raw volume.
    const zeroFirst = showsOldBlocks(lv) && (isRaw || (await this.#isWipedInFull(request)));
    const desired = desiredPublication({
      volume,
      targetPath,
      access: { ...access, zeroFirst },
      isReadOnly: isReadOnly || request.readonly,
      isExclusive,
    });
    settled(await this.#publisher.publish(orThrow(desired), signal));
    return {};
  }

  async #isWipedInFull({ volumeId }: NodePublishVolumeRequest): Promise<boolean> {
    const record = await this.#volumes.find('volume', volumeId);
    const deviceClass = record === undefined ? undefined : this.#volumes.classOf(record);
    if (deviceClass === undefined || isBlocked(deviceClass)) return false;
    return deviceClass.wipePolicy === 'full';
  }

  async unpublish(volumeId: string, targetPath: string, signal: AbortSignal): Promise<void> {
    const found = await this.#volumes.known(volumeId).catch(unknownIsFine);
    const volume = found?.volume ?? { name: volumeId };
    const desired = orThrow(absentPublication({ volume, targetPath }));
    settled(await this.#publisher.unpublish(desired, signal));
  }

  async expand(volumeId: string, targetPath: string, signal: AbortSignal): Promise<bigint> {
    const { volume } = await this.#volumes.locate(volumeId);
    settled(await this.#publisher.grow(orThrow(desiredGrowth({ volume, targetPath })), signal));
    return (await this.#volumes.locate(volumeId)).lv.sizeBytes;
  }

  async stats(volumeId: string, path: string): Promise<PublicationStats> {
    const { volume } = await this.#volumes.locate(volumeId);
    const stats = await this.#publisher.stats(volume, path);
    // A path that cannot be is a path where the volume is not.
    if (isBlocked(stats) && stats.code === 'InvalidTargetPath') {
      throw new OperationError('NotPublished', `${volumeId} is not shown at ${path}`);
    }
    return orThrow(stats);
  }
}

/**
 * A pod must be able to end while groups are away or lvm gives no report: what is mounted tells
 * the volume's name, and that is enough to know it by.
 */
function unknownIsFine(error: unknown): undefined {
  if (error instanceof OperationError) return undefined;
  throw error;
}

function usageOf(usage: PublicationStats['usage']): readonly VolumeUsage[] {
  if (usage.kind === 'block') {
    return [{ unit: Unit.BYTES, total: usage.sizeBytes, available: 0n, used: 0n }];
  }
  const { totalBytes, freeBytes, availableBytes, inodes, freeInodes } = usage;
  return [
    {
      unit: Unit.BYTES,
      total: totalBytes,
      available: availableBytes,
      used: totalBytes - freeBytes,
    },
    { unit: Unit.INODES, total: inodes, available: freeInodes, used: inodes - freeInodes },
  ];
}
