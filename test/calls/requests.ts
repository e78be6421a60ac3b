import { VolumeCapability_AccessMode_Mode as Mode } from '../../src/csi/generated/csi.ts';
import type { Wire } from './protocol.ts';

/** The id of what somebody called by a name. */
export type Ids = (name: string) => string;

/** A call by the names a test chose; `makes` is the name of what it makes. */
export type Request = { readonly makes?: string; wire(id: Ids): Wire };

export type Access = 'ext4' | 'xfs' | 'block';

const MiB = 1024n ** 2n;

export function createVolume(
  name: string,
  wanted: {
    readonly className: 'thick' | 'thin';
    readonly optionClass?: string;
    readonly mib?: number;
    readonly access?: Access;
    readonly volume?: string;
    readonly snapshot?: string;
  },
): Request {
  const { className, optionClass = '', mib = 32, access = 'block', volume, snapshot } = wanted;
  const parameters = new Map([
    ['topolvm.io/device-class', className],
    ['topolvm.io/lvcreate-option-class', optionClass],
  ]);
  const capacityRange = { requiredBytes: BigInt(mib) * MiB };
  const volumeCapabilities = [capability(access)];
  return {
    makes: name,
    wire: (id) => {
      const type =
        volume !== undefined
          ? { $case: 'volume', value: { volumeId: id(volume) } }
          : snapshot !== undefined
            ? { $case: 'snapshot', value: { snapshotId: id(snapshot) } }
            : undefined;
      const content = type === undefined ? {} : { volumeContentSource: { type } };
      const request = { name, capacityRange, volumeCapabilities, parameters, ...content };
      return controller('createVolume', request);
    },
  };
}

export function deleteVolume(name: string): Request {
  return { wire: (id) => controller('deleteVolume', { volumeId: id(name) }) };
}

export function expandVolume(name: string, mib: number): Request {
  const capacityRange = { requiredBytes: BigInt(mib) * MiB };
  return {
    wire: (id) => controller('controllerExpandVolume', { volumeId: id(name), capacityRange }),
  };
}

export function createSnapshot(name: string, source: string): Request {
  return {
    makes: name,
    wire: (id) => controller('createSnapshot', { name, sourceVolumeId: id(source) }),
  };
}

export function deleteSnapshot(name: string): Request {
  return { wire: (id) => controller('deleteSnapshot', { snapshotId: id(name) }) };
}

export function publish(name: string, targetPath: string, access: Access): Request {
  const volumeCapability = capability(access);
  return {
    wire: (id) => node('nodePublishVolume', { volumeId: id(name), targetPath, volumeCapability }),
  };
}

export function unpublish(name: string, targetPath: string): Request {
  return { wire: (id) => node('nodeUnpublishVolume', { volumeId: id(name), targetPath }) };
}

export function nodeExpand(name: string, volumePath: string): Request {
  return { wire: (id) => node('nodeExpandVolume', { volumeId: id(name), volumePath }) };
}

/** lvmd's callers choose the names of volumes themselves. */
export function createLv(name: string, deviceClass: string): Request {
  const request = { name, deviceClass, sizeBytes: 32n * MiB, tags: ['theirs'] };
  return { makes: name, wire: () => ({ service: 'lv', method: 'createLV', request }) };
}

export function removeLv(name: string, deviceClass: string): Request {
  const request = { name, deviceClass };
  return { wire: () => ({ service: 'lv', method: 'removeLV', request }) };
}

export function resizeLv(name: string, deviceClass: string, mib: number): Request {
  const request = { name, deviceClass, sizeBytes: BigInt(mib) * MiB };
  return { wire: () => ({ service: 'lv', method: 'resizeLV', request }) };
}

export function snapshotLv(
  name: string,
  deviceClass: string,
  from: { readonly source: string; readonly accessType: 'ro' | 'rw' },
): Request {
  const { source, accessType } = from;
  return {
    makes: name,
    wire: (id) => {
      const request = { name, deviceClass, sourceVolume: id(source), sizeBytes: 0n, accessType };
      return { service: 'lv', method: 'createLVSnapshot', request };
    },
  };
}

export function listVolumes(): Wire {
  return controller('listVolumes', {});
}

export function listSnapshots(): Wire {
  return controller('listSnapshots', {});
}

function capability(access: Access) {
  const accessType =
    access === 'block'
      ? { $case: 'block', value: {} }
      : { $case: 'mount', value: { fsType: access, mountFlags: [] } };
  return { accessType, accessMode: { mode: Mode.SINGLE_NODE_WRITER } };
}

function controller(method: string, request: object): Wire {
  return { service: 'controller', method, request };
}

function node(method: string, request: object): Wire {
  return { service: 'node', method, request };
}
