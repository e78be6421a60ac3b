import assert from 'node:assert/strict';
import { bytes, noBytes } from '../../src/base/bytes.ts';
import type { ObservedLv, ObservedVg, Signatures } from '../../src/core/observed.ts';
import {
  desiredPublication,
  type PresentPublication,
  type PublicationRequest,
} from '../../src/core/publication/desired.ts';
import { fileSystemUuid } from '../../src/core/publication/file-systems.ts';
import {
  type FoundFileSystem,
  nothingDone,
  type ObservedMount,
  type ObservedPublication,
  type VolumeDevice,
} from '../../src/core/publication/observed.ts';
import { dmUuidOf } from '../../src/core/publication/publishable.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';
import { hostOf, sampleLv, samplePool, sampleVg } from './observed.ts';

/** UUIDs of real length, so that the parts of a device-mapper UUID can be told apart. */
export const vgUuid = 'vgvgvg-0000-0000-0000-0000-0000-000000';
export const lvUuid = 'lvlvlv-1111-1111-1111-1111-1111-111111';
export const targetPath = '/pods/p1/mount';

export const published = { vg: 'vg1', name: 'v1', uuid: lvUuid } as const;

export function wanted(given: Partial<PublicationRequest> = {}): PresentPublication {
  const access = { kind: 'mount', fsType: 'ext4', flags: [] } as const;
  const request = { volume: published, targetPath, access, isReadOnly: false, ...given };
  const desired = desiredPublication(request);
  assert.ok(!isBlocked(desired), JSON.stringify(desired));
  return desired;
}

export function volumeLv(given: Partial<ObservedLv> = {}): ObservedLv {
  return sampleLv({ name: 'v1', uuid: lvUuid, ...given });
}

export function deviceOf(lv: ObservedLv, given: Partial<VolumeDevice> = {}): VolumeDevice {
  return {
    path: '/dev/mapper/vg1-v1',
    number: '254:3',
    sizeBytes: lv.sizeBytes,
    dmUuid: dmUuidOf({ uuid: vgUuid }, lv),
    isSuspended: false,
    ...given,
  };
}

/** One volume, its device, and nothing at the path. */
export function seen(
  lv: Partial<ObservedLv> = {},
  given: Partial<ObservedPublication> = {},
  vg: Partial<ObservedVg> = {},
): ObservedPublication {
  const volume = volumeLv(lv);
  const lvs = [samplePool({ uuid: 'pool' }), volume];
  return {
    target: { path: targetPath, kind: 'absent', mode: 0, sizeBytes: noBytes },
    here: [],
    host: hostOf(sampleVg({ uuid: vgUuid, lvs, ...vg })),
    isReportFresh: true,
    strays: [],
    device: deviceOf(volume),
    elsewhere: [],
    fileSystem: { kind: 'none' },
    probes: { signatures: [none, none], exclusiveOpen: 'free' },
    done: nothingDone,
    ...given,
  };
}

export const none: Signatures = { kind: 'none' };

export function holds(...types: readonly string[]): Signatures {
  return { kind: 'found', types };
}

/** A file system that fills its device. */
export function fileSystem(
  given: Partial<Extract<FoundFileSystem, { kind: 'found' }>> = {},
): FoundFileSystem {
  const sizeBytes = bytes(40n * 1024n * 1024n);
  const uuid = '11111111-2222-4333-8444-555555555555';
  const size = { sizeBytes, growsToBytes: sizeBytes };
  return { kind: 'found', type: 'ext4', uuid, isUnfinished: false, ...size, ...given };
}

/** What our own mkfs leaves on the volume. */
export function ourFileSystem(type = 'ext4', isUnfinished = false): FoundFileSystem {
  return fileSystem({ type, uuid: fileSystemUuid(lvUuid), isUnfinished });
}

export function mountOf(given: Partial<ObservedMount> = {}): ObservedMount {
  const dmUuid = dmUuidOf({ uuid: vgUuid }, { uuid: lvUuid });
  return {
    mountPoint: targetPath,
    fsType: 'ext4',
    source: '/dev/mapper/vg1-v1',
    isWhole: true,
    isReadOnly: false,
    isFileSystemReadOnly: false,
    isNode: false,
    owner: { kind: 'lv', dmUuid, dmName: 'vg1-v1' },
    ...given,
  };
}

export function nodeOf(given: Partial<ObservedMount> = {}): ObservedMount {
  return mountOf({ isNode: true, fsType: 'devtmpfs', source: '/dev/dm-3', ...given });
}
