import assert from 'node:assert/strict';
import test from 'node:test';
import { kib, plainClass, plainSpec, readSilently } from '../../../test/samples/lvmd-files.ts';
import { GiB, noBytes, times } from '../../base/bytes.ts';
import { decodeLvmdFile } from './decode.ts';
import type { LvmdSpec } from './spec.ts';

/** Files as they lie on nodes today. */
const thin = (poolName: string, overprovisionRatio: number) =>
  ({ kind: 'thin', poolName, overprovisionRatio }) as const;

const files: readonly (readonly [title: string, text: string, spec: LvmdSpec])[] = [
  ['the least there can be', 'device-classes: [{name: ssd, volume-group: vg1}]', plainSpec],
  [
    'what TopoLVM documents, every key of it',
    `socket-name: /run/topolvm/lvmd.sock
lvm-command-prefix: [nsenter, -m, -u, -i, -n, -p, -t, "1", /sbin/lvm]
device-classes:
  - name: ssd
    volume-group: ssd-vg
    default: true
    spare-gb: 20
    stripe: 2
    stripe-size: "64"
    lvcreate-options:
      - --readahead=auto
  - name: ssd-thin
    volume-group: ssd-vg
    type: thin
    thin-pool:
      name: pool0
      overprovision-ratio: 5.0
  - name: hdd
    volume-group: hdd-vg
    spare-gb: 0
lvcreate-option-classes:
  - name: raid1
    options:
      - --type=raid1
      - --mirrors=1
`,
    {
      socketName: '/run/topolvm/lvmd.sock',
      lvmCommandPrefix: ['nsenter', '-m', '-u', '-i', '-n', '-p', '-t', '1', '/sbin/lvm'],
      deviceClasses: [
        {
          ...plainClass,
          volumeGroup: 'ssd-vg',
          isDefault: true,
          spareBytes: times(GiB, 20),
          stripe: 2,
          stripeSizeBytes: kib(64),
          lvcreateOptions: ['--readahead=auto'],
        },
        { ...plainClass, name: 'ssd-thin', volumeGroup: 'ssd-vg', target: thin('pool0', 5) },
        { ...plainClass, name: 'hdd', volumeGroup: 'hdd-vg', spareBytes: noBytes },
      ],
      lvcreateOptionClasses: [{ name: 'raid1', options: ['--type=raid1', '--mirrors=1'] }],
    },
  ],
  [
    'a thin class as LVMS writes it',
    `device-classes:
- default: true
  lvcreate-options: null
  name: vg1
  spare-gb: null
  stripe: null
  stripe-size: ""
  thin-pool:
    name: thin-pool-1
    overprovision-ratio: 10
  type: thin
  volume-group: vg1
lvcreate-option-classes: null
lvm-command-prefix: null
socket-name: ""
`,
    {
      ...plainSpec,
      deviceClasses: [
        { ...plainClass, name: 'vg1', isDefault: true, target: thin('thin-pool-1', 10) },
      ],
    },
  ],
  [
    'a thick class as LVMS writes it, with an administrator’s edits',
    `device-classes:
- default: false
  lvcreate-options: [--type, raid1, -m, "1"]
  name: vg1
  overhead-factor: 2
  spare-gb: 0
  stripe: null
  stripe-size: ""
  thin-pool: null
  type: thick
  volume-group: vg1
lvcreate-option-classes:
- name: fast
  options: ["-i", "2"]
socket-name: ""
`,
    {
      ...plainSpec,
      deviceClasses: [
        {
          ...plainClass,
          name: 'vg1',
          spareBytes: noBytes,
          lvcreateOptions: ['--type', 'raid1', '-m', '1'],
          overheadFactor: 2,
        },
      ],
      lvcreateOptionClasses: [{ name: 'fast', options: ['-i', '2'] }],
    },
  ],
  [
    'the configuration map of MicroShift',
    `device-classes:
- name: user-provided-config
  volume-group: rhel
  default: true
socket-name: /run/lvmd/lvmd.sock
`,
    {
      ...plainSpec,
      socketName: '/run/lvmd/lvmd.sock',
      deviceClasses: [
        { ...plainClass, name: 'user-provided-config', volumeGroup: 'rhel', isDefault: true },
      ],
    },
  ],
  [
    'one pool name in two groups, and thick beside thin',
    `device-classes:
- {name: a, volume-group: vg1, type: thin, thin-pool: {name: p, overprovision-ratio: 1}}
- {name: b, volume-group: vg1, type: thin, thin-pool: {name: q, overprovision-ratio: 1}}
- {name: c, volume-group: vg2, type: thin, thin-pool: {name: p, overprovision-ratio: 1}}
- {name: d, volume-group: vg1}
- {name: e, volume-group: vg2, type: thick}
`,
    {
      ...plainSpec,
      deviceClasses: [
        { ...plainClass, name: 'a', target: thin('p', 1) },
        { ...plainClass, name: 'b', target: thin('q', 1) },
        { ...plainClass, name: 'c', volumeGroup: 'vg2', target: thin('p', 1) },
        { ...plainClass, name: 'd' },
        { ...plainClass, name: 'e', volumeGroup: 'vg2' },
      ],
    },
  ],
  [
    'the longest name',
    `device-classes: [{name: ${'a'.repeat(63)}, volume-group: vg1, wipe-policy: zero}]`,
    {
      ...plainSpec,
      deviceClasses: [{ ...plainClass, name: 'a'.repeat(63), wipePolicy: 'zero' }],
    },
  ],
];

for (const [title, text, spec] of files) {
  test(`lvmd.yaml: reads ${title}`, () => {
    assert.deepEqual(readSilently(text), spec);
  });
}

test('lvmd.yaml: reads the sample of MicroShift’s design, which says deviceClasses', () => {
  const text = `deviceClasses:
- default: true
  name: "default"
  volume-group: "rhel"
  spare-gb: 10 # in GB
socket-name: /run/lvmd/lvmd.sock
`;
  const decoded = decodeLvmdFile({ file: '/etc/microshift/lvmd.yaml', text });
  assert.ok(decoded.kind === 'lvmd');
  assert.deepEqual(decoded.spec, {
    ...plainSpec,
    socketName: '/run/lvmd/lvmd.sock',
    deviceClasses: [{ ...plainClass, name: 'default', volumeGroup: 'rhel', isDefault: true }],
  });
  assert.equal(decoded.warnings.length, 1);
});
