import {
  ControllerDefinition,
  VolumeCapability_AccessMode_Mode as Mode,
  NodeDefinition,
} from '../../src/csi/generated/csi.ts';
import type { Definition } from '../../src/csi/service.ts';
import type { Checker, Ending } from './checker.ts';
import type { Call } from './history.ts';

/** A call of a history as the driver gets it. */
export type WireCall = {
  readonly definition: Definition;
  readonly method: string;
  readonly request: object;
  read(response: never): Partial<Ending>;
};

const MiB = 1024n ** 2n;

export function wireCall(call: Exclude<Call, { op: 'write' }>, checker: Checker): WireCall {
  const volumeId = 'name' in call ? checker.idOf('volume', call.name) : '';
  switch (call.op) {
    case 'create':
      return controller('createVolume', creation(call, checker), (response: VolumeAnswer) => ({
        ...(response.volume === undefined ? {} : idAndSize(response.volume)),
      }));
    case 'delete':
      return controller('deleteVolume', { volumeId });
    case 'expand': {
      const capacityRange = { requiredBytes: BigInt(call.mib) * MiB };
      return controller(
        'controllerExpandVolume',
        { volumeId, capacityRange },
        ({ capacityBytes }: { readonly capacityBytes: bigint }) => ({ sizeBytes: capacityBytes }),
      );
    }
    case 'snapshot': {
      const sourceVolumeId = checker.idOf('volume', call.source);
      return controller(
        'createSnapshot',
        { name: call.name, sourceVolumeId },
        ({ snapshot }: SnapshotAnswer) => ({
          ...(snapshot === undefined
            ? {}
            : { id: snapshot.snapshotId, sizeBytes: snapshot.sizeBytes }),
        }),
      );
    }
    case 'delete-snapshot':
      return controller('deleteSnapshot', { snapshotId: checker.idOf('snapshot', call.name) });
    case 'publish': {
      const { path: targetPath, isReadOnly: readonly } = call;
      const volumeCapability = capability(call.isBlock);
      return node('nodePublishVolume', { volumeId, targetPath, readonly, volumeCapability });
    }
    case 'unpublish':
      return node('nodeUnpublishVolume', { volumeId, targetPath: call.path });
    case 'stats':
      return node('nodeGetVolumeStats', { volumeId, volumePath: call.path });
    case 'list':
      return controller('listVolumes', {}, ({ entries }: ListAnswer) => ({
        ids: entries.flatMap(({ volume }) => (volume === undefined ? [] : [volume.volumeId])),
      }));
  }
}

type VolumeAnswer = { readonly volume?: { volumeId: string; capacityBytes: bigint } | undefined };
type SnapshotAnswer = { readonly snapshot?: { snapshotId: string; sizeBytes: bigint } | undefined };
type ListAnswer = { readonly entries: readonly { readonly volume?: { volumeId: string } }[] };

function idAndSize(volume: { readonly volumeId: string; readonly capacityBytes: bigint }) {
  return { id: volume.volumeId, sizeBytes: volume.capacityBytes };
}

function creation(call: Extract<Call, { op: 'create' }>, checker: Checker) {
  const { from } = call;
  const id = from === undefined ? '' : checker.idOf(from.kind, from.name);
  const value = from?.kind === 'snapshot' ? { snapshotId: id } : { volumeId: id };
  return {
    name: call.name,
    capacityRange: { requiredBytes: BigInt(call.mib) * MiB },
    volumeCapabilities: [capability(false)],
    parameters: new Map([['topolvm.io/device-class', call.className]]),
    ...(from === undefined ? {} : { volumeContentSource: { type: { $case: from.kind, value } } }),
  };
}

function capability(isBlock: boolean) {
  const accessType = isBlock
    ? { $case: 'block', value: {} }
    : { $case: 'mount', value: { fsType: 'ext4', mountFlags: [] } };
  return { accessType, accessMode: { mode: Mode.SINGLE_NODE_WRITER } };
}

function controller<T>(
  method: keyof (typeof ControllerDefinition)['methods'],
  request: object,
  read: (response: T) => Partial<Ending> = () => ({}),
): WireCall {
  return { definition: ControllerDefinition, method, request, read };
}

function node(method: keyof (typeof NodeDefinition)['methods'], request: object): WireCall {
  return { definition: NodeDefinition, method, request, read: () => ({}) };
}
