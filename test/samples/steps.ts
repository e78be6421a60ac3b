import { bytes, MiB, times } from '../../src/base/bytes.ts';
import type { Deed, Permit } from '../../src/core/permit.ts';
import type { Step, StepKind } from '../../src/core/step.ts';
import { extents } from './observed.ts';

const vg = { vg: 'vg1', vgUuid: 'uuid-vg1' } as const;
const onLv = { ...vg, lv: 'v1', lvUuid: 'uuid-v1' } as const;
const onPv = { device: '/dev/sda', pvUuid: 'pv-/dev/sda' } as const;
const origin = { origin: 'v1', originUuid: 'uuid-v1' } as const;

/** One step of every kind, all on the sample group, its device and its volume `v1`. */
export const sampleSteps: { readonly [kind in StepKind]: Extract<Step, { kind: kind }> } = {
  'wipe-device': {
    kind: 'wipe-device',
    device: '/dev/sdb',
    permit: permit('wipe-device', '/dev/sdb'),
  },
  'create-vg': {
    kind: 'create-vg',
    vg: 'vg2',
    devices: ['/dev/sdb'],
    tags: ['lvms'],
    metadataBytes: times(MiB, 16),
  },
  'extend-vg': { kind: 'extend-vg', ...vg, devices: ['/dev/sdb'], metadataBytes: times(MiB, 16) },
  'evacuate-pv': { kind: 'evacuate-pv', ...vg, ...onPv },
  'reduce-vg': { kind: 'reduce-vg', ...vg, ...onPv, permit: permit('reduce-vg', 'pv-/dev/sda') },
  'drop-missing': {
    kind: 'drop-missing',
    ...vg,
    permit: permit('drop-missing', 'uuid-vg1'),
  },
  'remove-pv': { kind: 'remove-pv', ...onPv, permit: permit('remove-pv', 'pv-/dev/sda') },
  'remove-vg': { kind: 'remove-vg', ...vg, permit: permit('remove-vg', 'uuid-vg1') },
  'create-thin-pool': {
    kind: 'create-thin-pool',
    ...vg,
    pool: 'pool1',
    sizeBytes: extents(20),
    chunkSizeBytes: bytes(128n * 1024n),
    metadataBytes: extents(1),
    tags: [],
  },
  'extend-thin-pool': {
    ...{ kind: 'extend-thin-pool', ...vg, lv: 'pool0', lvUuid: 'uuid-pool0' },
    sizeBytes: extents(120),
  },
  'extend-thin-pool-metadata': {
    ...{ kind: 'extend-thin-pool-metadata', ...vg, lv: 'pool0', lvUuid: 'uuid-pool0' },
    metadataBytes: extents(3),
  },
  'create-lv': {
    kind: 'create-lv',
    ...vg,
    lv: 'v2',
    layout: { kind: 'linear' },
    sizeBytes: extents(5),
    tags: ['quarry'],
    options: [],
  },
  'extend-lv': { kind: 'extend-lv', ...onLv, sizeBytes: extents(15) },
  'create-thin-snapshot': {
    ...{ kind: 'create-thin-snapshot', ...vg, ...origin, lv: 's2' },
    isReadOnly: true,
    tags: [],
  },
  'create-cow-snapshot': {
    ...{ kind: 'create-cow-snapshot', ...vg, ...origin, lv: 's2' },
    reserveBytes: extents(4),
    tags: [],
  },
  'activate-lv': { kind: 'activate-lv', ...onLv },
  'change-tags': { kind: 'change-tags', ...onLv, add: ['a'], remove: ['quarry'] },
  'copy-range': {
    ...{ kind: 'copy-range', ...onLv, from: 's1', fromUuid: 'uuid-s1' },
    offsetBytes: bytes(0n),
    lengthBytes: extents(1),
    add: ['quarry.copied=4194304'],
    remove: [],
  },
  'zero-range': {
    ...{ kind: 'zero-range', ...onLv, offsetBytes: bytes(0n), lengthBytes: extents(1) },
    add: ['quarry.zeroed=4194304'],
    remove: [],
    permit: permit('zero-range', 'uuid-v1'),
  },
  'remove-lv': {
    ...{ kind: 'remove-lv', ...onLv, dependents: 'cow-snapshots' },
    permit: permit('remove-lv', 'uuid-v1'),
  },
};

/** Tests may pretend; the product can only ask `permitFor`. */
function permit<D extends Deed>(deed: D, target: string): Permit<D> {
  return { deed, target } as Permit<D>;
}
