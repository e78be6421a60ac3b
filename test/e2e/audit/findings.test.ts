import assert from 'node:assert/strict';
import test from 'node:test';
import { layoutByHand } from '../layout.ts';
import { findingsIn } from './findings.ts';
import type { Lv, Seen } from './look.ts';
import { claim, logical, lv, MiB, node, on, pod, rest, target, volume } from './well.ts';

const going = '2026-01-01T00:00:00Z';
const [told] = rest.capacities;

type Row = {
  readonly what: string;
  readonly change: Partial<Seen>;
  readonly found: readonly RegExp[];
};

const rows: readonly Row[] = [
  { what: 'all is well', change: {}, found: [] },
  {
    what: 'an LV that nobody has',
    change: on({ lvs: [lv, { ...lv, name: 'lv-2', attributes: '-wi-a-----', device: '254:2' }] }),
    found: [/LV data\/lv-2 on n1 has no LogicalVolume/],
  },
  {
    what: 'an LV that is lost',
    change: { ...on({ lvs: [], mounts: [] }), pods: [] },
    found: [/LogicalVolume pvc-1 has no LV/],
  },
  {
    what: 'an LV that is smaller than told',
    change: on({ lvs: [{ ...lv, sizeBytes: 96n * MiB }] }),
    found: [/has 100663296 bytes, not 104857600/],
  },
  {
    what: 'a LogicalVolume without PersistentVolume',
    change: {
      volumes: [],
      claims: [],
      pods: [],
      ...on({ mounts: [], lvs: [{ ...lv, attributes: '-wi-a-----' }] }),
    },
    found: [/LogicalVolume pvc-1 belongs to nothing/],
  },
  {
    what: 'a size that was asked for and never given',
    change: { logical: [{ ...logical, spec: { nodeName: 'n1', size: '200Mi' } }] },
    found: [/pvc-1 has not grown/],
  },
  {
    what: 'a mark that should be off',
    change: {
      logical: [
        {
          ...logical,
          metadata: { ...logical.metadata, annotations: { 'quarry.io/unpublished': 'claim-1' } },
        },
      ],
    },
    found: [/pvc-1 is marked as never published/],
  },
  {
    what: 'a claim that is lost',
    change: { claims: [{ ...claim, status: { phase: 'Lost' } }] },
    found: [/claim default\/data is Lost/],
  },
  {
    what: 'a claim of another volume',
    change: { volumes: [{ ...volume, spec: { ...volume.spec, claimRef: { uid: 'claim-2' } } }] },
    found: [/claim default\/data is bound to nothing/],
  },
  {
    what: 'a mount that outlived its pod',
    change: { pods: [] },
    found: [/mount is mounted for no pod/, /LV data\/lv-1 is open, and no pod has it/],
  },
  {
    what: 'a device of kubelet that outlived its pod',
    change: on({
      mounts: [...node.mounts, { target: '/k/volumeDevices/publish/pvc-1/pod-2', device: '0:5' }],
    }),
    found: [/publish\/pvc-1\/pod-2 is mounted for no pod/],
  },
  {
    what: 'a pod without its mount',
    change: on({ mounts: [], lvs: [{ ...lv, attributes: '-wi-a-----' }] }),
    found: [/pod pod runs without pvc-1/],
  },
  {
    what: 'a pod with the volume of another',
    change: on({
      lvs: [
        { ...lv, attributes: '-wi-a-----' },
        { ...lv, name: 'lv-2', device: '254:2' },
      ],
      mounts: [{ target, device: '254:2' }],
    }),
    found: [/has no LogicalVolume/, /mount shows lv-2/, /lv-2 is open/],
  },
  {
    what: 'a mount in a strange place',
    change: on({ mounts: [...node.mounts, { target: '/mnt', device: '254:1' }] }),
    found: [/n1: \/mnt is a mount/],
  },
  {
    what: 'a device without LV',
    change: on({ strayDevices: ['data-old stands for no LV'] }),
    found: [/n1: device data-old stands for no LV/],
  },
  {
    what: 'a finalizer that was left',
    change: {
      claims: [{ ...claim, metadata: { ...claim.metadata, finalizers: ['topolvm.io/pvc'] } }],
    },
    found: [/claim data still has the finalizer topolvm.io\/pvc/],
  },
  {
    what: 'what is stuck in deletion',
    change: { pods: [{ ...pod, metadata: { ...pod.metadata, deletionTimestamp: going } }] },
    found: [/pod is stuck in deletion/],
  },
  {
    what: 'a report on a node that is stuck in deletion',
    change: {
      managed: [{ metadata: { name: 'n1', uid: 'report-1', deletionTimestamp: going } }],
    },
    found: [/^n1 is stuck in deletion/],
  },
  {
    what: 'a thin pool that no class has',
    change: on({
      lvs: [lv, { ...lv, name: 'left', attributes: 'twi-a-tz--', device: '254:3' }],
    }),
    found: [/thin pool data\/left on n1 is of no class/],
  },
  {
    what: 'capacity of a node that is gone',
    change: {
      capacities: [
        ...rest.capacities,
        ...rest.capacities.map((one) => ({
          ...one,
          nodeTopology: { matchLabels: { 'topology.topolvm.io/node': 'n9' } },
        })),
      ],
    },
    found: [/capacity of thick on n9, which is no node/],
  },
  {
    what: 'capacity that is not true',
    change: { capacities: told === undefined ? [] : [{ ...told, maximumVolumeSize: '1000Mi' }] },
    found: [/capacity of thick on n1 is told as 1048576000, and LVM has 943718400/],
  },
  {
    what: 'capacity that is not told',
    change: { capacities: [] },
    found: [/capacity of thick on n1: 0 objects/],
  },
  {
    what: 'capacity of a class that is gone',
    change: { classes: [] },
    found: [/capacity of thick, which is no class/],
  },
];

test('the auditor knows what is spared, and what is the host’s own', () => {
  const root: Lv = { ...lv, name: 'root', attributes: '-wi-a-----', device: '254:2' };
  const seen = { ...rest, ...on({ lvs: [lv, root] }) };
  const place = { group: 'data', spareBytes: 100n * MiB, foreign: ['root'] };
  const found = findingsIn(seen, { '': place });
  assert.deepEqual(found.length, 1, found.join('\n'));
  assert.match(
    found[0] ?? '',
    /capacity of thick on n1 is told as 943718400, and LVM has 838860800/,
  );
});

for (const { what, change, found } of rows) {
  test(`the auditor finds ${what}`, () => {
    const findings = findingsIn({ ...rest, ...change }, layoutByHand);
    assert.equal(findings.length, found.length, findings.join('\n'));
    for (const [index, pattern] of found.entries()) assert.match(findings[index] ?? '', pattern);
  });
}
