import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LvmVolumeGroupStatus } from '../../api/objects/lvm-volume-group.ts';
import { noBytes } from '../../base/bytes.ts';
import type { DeviceClass } from '../device-class.ts';
import { withServing } from './serving.ts';

function served(name: string, vg = name, changes: Partial<DeviceClass> = {}): DeviceClass {
  return {
    ...{ name, vg, isDefault: false, layout: { kind: 'linear' }, spareBytes: noBytes },
    ...{ overprovisionRatio: 1, lvcreateOptions: [], ...changes },
  };
}

const long = 'x'.repeat(64);
const nobody = 'lvmd.yaml does not give the device class vg1, or is refused';
const clash = 'lvmd.yaml gives vg1 from data: rename one of them';
const readOnly = 'lvmd.yaml: FileFailed';

type Row = {
  readonly what: string;
  readonly name?: string;
  readonly classes: readonly DeviceClass[];
  readonly retired?: readonly string[];
  readonly unserved?: readonly (readonly [string, string])[];
  readonly reason: string | undefined;
};

const rows: readonly Row[] = [
  { what: 'one that the file gives', classes: [served('vg1')], reason: undefined },
  { what: 'one that the file does not give', classes: [served('vg2')], reason: nobody },
  {
    what: 'one that is refused',
    classes: [served('vg1', 'vg1', { refusal: 'no' })],
    reason: nobody,
  },
  {
    what: 'a file that cannot be written',
    classes: [],
    unserved: [['', readOnly]],
    reason: readOnly,
  },
  {
    what: 'a file that still has what it was',
    classes: [served('vg1')],
    unserved: [['vg1', 'it stays as it was']],
    reason: 'it stays as it was',
  },
  {
    what: 'a file that cannot take another one',
    classes: [served('vg1')],
    unserved: [['vg2', 'it is left out']],
    reason: undefined,
  },
  { what: 'another group’s class of the name', classes: [served('vg1', 'data')], reason: clash },
  {
    what: 'another group’s that is refused, too',
    classes: [served('vg1', 'data', { refusal: 'no' })],
    unserved: [['', readOnly]],
    reason: clash,
  },
  {
    what: 'another group’s that the file no longer has',
    classes: [served('vg1', 'data', { refusal: 'no' })],
    retired: ['vg1'],
    reason: nobody,
  },
  {
    what: 'another class of our group',
    classes: [served('vg1'), served('fast', 'vg1')],
    reason: undefined,
  },
  {
    ...{ what: 'a name that is too long', name: long, classes: [] },
    reason: `${long} is not served: its name is longer than 63 characters`,
  },
];

for (const { what, name = 'vg1', classes, retired = [], unserved = [], reason } of rows) {
  test(`${what}: the group is ${reason === undefined ? 'Ready' : 'not Ready, and says why'}`, () => {
    const policy = { deviceDiscoveryPolicy: 'Preconfigured' } as const;
    const one: LvmVolumeGroupStatus = { name, status: 'Ready', ...policy };
    const other: LvmVolumeGroupStatus = { name: 'vg9', status: 'Failed', reason: 'x', ...policy };
    const [told, rest] = withServing([one, other], { classes, retired }, new Map(unserved));
    assert.deepEqual([told?.status, told?.reason], [reason ? 'Degraded' : 'Ready', reason]);
    assert.equal(rest, other, 'what is not Ready has its own reason');
  });
}
