import assert from 'node:assert/strict';
import test from 'node:test';
import { readRecorded, recordedNames, suites } from '../../test/fixtures/recorded.ts';
import { sampleSteps } from '../../test/samples/steps.ts';
import { BugError } from '../base/assert.ts';
import { bytes, GiB, KiB, MiB, times } from '../base/bytes.ts';
import { limits } from '../base/limits.ts';
import type { Layout } from '../core/layouts.ts';
import type { Deed, Permit } from '../core/permit.ts';
import type { ChangeTags, CreateLv, Step, StepKind } from '../core/step.ts';
import { commandOfAll, commandsOf } from './argv.ts';

const inVg = { vg: 'vg1', vgUuid: 'VGU' } as const;
const onLv = { ...inVg, lv: 'v1', lvUuid: 'LVU' } as const;
const onPv = { device: '/dev/sda', pvUuid: 'PVU' } as const;
const origin = { origin: 'v1', originUuid: 'LVU' } as const;
const tags = ['quarry', 'quarry.pending'];

function permit<D extends Deed>(deed: D, target: string): Permit<D> {
  return { deed, target } as Permit<D>;
}

/** Options and words in one line; a word with spaces in it stands in quotes. */
function lineOf(step: Step): readonly string[] {
  return commandsOf(step).map(({ argv }) =>
    argv.map((word) => (word.includes(' ') ? `'${word}'` : word)).join(' '),
  );
}

type Spelling<K extends StepKind> = readonly [Extract<Step, { kind: K }>, ...string[]];

/** Every kind of step but create-lv, each with the exact commands it becomes. */
const spellings: { readonly [K in Exclude<StepKind, 'create-lv'>]: Spelling<K> } = {
  'wipe-device': [
    { kind: 'wipe-device', device: '/dev/sdb', permit: permit('wipe-device', '/dev/sdb') },
    'wipefs --all /dev/sdb',
  ],
  'create-vg': [
    {
      ...{ kind: 'create-vg', vg: 'vg1', devices: ['/dev/sda', '/dev/sdb'] },
      ...{ tags: ['lvms', 'quarry'], metadataBytes: times(MiB, 16) },
    },
    'lvm vgcreate --metadatasize 16777216b --addtag lvms --addtag quarry vg1 /dev/sda /dev/sdb',
  ],
  'extend-vg': [
    { kind: 'extend-vg', ...inVg, devices: ['/dev/sdc'], metadataBytes: times(MiB, 16) },
    'lvm vgextend --metadatasize 16777216b vg1 /dev/sdc',
  ],
  'evacuate-pv': [{ kind: 'evacuate-pv', ...inVg, ...onPv }, 'lvm pvmove --interval 1 /dev/sda'],
  'reduce-vg': [
    { kind: 'reduce-vg', ...inVg, ...onPv, permit: permit('reduce-vg', 'PVU') },
    'lvm vgreduce vg1 /dev/sda',
  ],
  'drop-missing': [
    { kind: 'drop-missing', ...inVg, permit: permit('drop-missing', 'VGU') },
    'lvm vgreduce --removemissing vg1',
  ],
  'remove-pv': [
    { kind: 'remove-pv', ...onPv, permit: permit('remove-pv', 'PVU') },
    'lvm pvremove /dev/sda',
  ],
  'remove-vg': [
    { kind: 'remove-vg', ...inVg, permit: permit('remove-vg', 'VGU') },
    "lvm vgremove --select 'vg_uuid=VGU && lv_count=0' vg1",
  ],
  'create-thin-pool': [
    {
      ...{ kind: 'create-thin-pool', ...inVg, pool: 'pool', sizeBytes: times(GiB, 1), tags },
      ...{ chunkSizeBytes: times(KiB, 128), metadataBytes: times(MiB, 4) },
    },
    'lvm lvcreate --yes --type thin-pool --zero y --size 1073741824b --chunksize 131072b ' +
      '--poolmetadatasize 4194304b --poolmetadataspare y --name pool ' +
      '--addtag quarry --addtag quarry.pending vg1',
  ],
  'extend-thin-pool': [
    { kind: 'extend-thin-pool', ...onLv, sizeBytes: times(GiB, 2) },
    'lvm lvextend --size 2147483648b vg1/v1',
  ],
  'extend-thin-pool-metadata': [
    { kind: 'extend-thin-pool-metadata', ...onLv, metadataBytes: times(MiB, 8) },
    'lvm lvextend --poolmetadatasize 8388608b vg1/v1',
  ],
  'extend-lv': [
    { kind: 'extend-lv', ...onLv, sizeBytes: times(GiB, 2) },
    'lvm lvextend --size 2147483648b vg1/v1',
  ],
  'create-thin-snapshot': [
    { kind: 'create-thin-snapshot', ...inVg, ...origin, lv: 's1', isReadOnly: true, tags },
    'lvm lvcreate --yes --snapshot --name s1 --addtag quarry --addtag quarry.pending ' +
      '--setactivationskip n --permission r vg1/v1',
  ],
  'create-cow-snapshot': [
    { kind: 'create-cow-snapshot', ...inVg, ...origin, lv: 's1', reserveBytes: MiB, tags: [] },
    'lvm lvcreate --yes --snapshot --name s1 --size 1048576b --permission r vg1/v1',
  ],
  'activate-lv': [
    { kind: 'activate-lv', ...onLv },
    'lvm lvchange --yes --activate y --ignoreactivationskip --select lv_uuid=LVU vg1/v1',
  ],
  'change-tags': [
    { kind: 'change-tags', ...onLv, add: ['a', 'b'], remove: ['c'] },
    'lvm lvchange --deltag c --addtag a --addtag b --select lv_uuid=LVU vg1/v1',
  ],
  'copy-range': [
    {
      ...{ kind: 'copy-range', ...onLv, vg: 'vg-1', from: 's-1', fromUuid: 'SU' },
      ...{ offsetBytes: GiB, lengthBytes: MiB, add: ['new'], remove: ['old'] },
    },
    'dd if=/dev/mapper/vg--1-s--1 of=/dev/mapper/vg--1-v1 bs=4M ' +
      'iflag=direct,fullblock,skip_bytes,count_bytes oflag=direct,seek_bytes ' +
      'skip=1073741824 seek=1073741824 count=1048576 conv=nocreat,notrunc,fsync status=none',
    'lvm lvchange --deltag old --addtag new --select lv_uuid=LVU vg-1/v1',
  ],
  'zero-range': [
    {
      ...{ kind: 'zero-range', ...onLv, vg: 'vg-1', offsetBytes: GiB, lengthBytes: MiB },
      ...{ add: ['new'], remove: ['old'], permit: permit('zero-range', 'LVU') },
    },
    'blkdiscard --zeroout --offset 1073741824 --length 1048576 /dev/mapper/vg--1-v1',
    'sync /dev/mapper/vg--1-v1',
    'lvm lvchange --deltag old --addtag new --select lv_uuid=LVU vg-1/v1',
  ],
  'remove-lv': [
    {
      ...{ kind: 'remove-lv', ...onLv, dependents: 'cow-snapshots', bears: 'quarry' },
      permit: permit('remove-lv', 'LVU'),
    },
    'lvm lvremove --yes --select \'lv_uuid=LVU && lv_attr!~^[oO] && lv_tags="quarry"\' vg1/v1',
  ],
};

for (const [kind, [step, ...lines]] of Object.entries(spellings)) {
  test(`${kind} is spelled out`, () => {
    assert.deepEqual(lineOf(step), lines);
  });
}

/** `lv_attr` as lvm2 2.03.31 prints it. */
const letters: readonly (readonly [attributes: string, what: string, isRemoved: boolean])[] = [
  ['-wi-a-----', 'a plain volume', true],
  ['Vwi-a-tz--', 'a thin volume', true],
  ['rwi-a-r---', 'a mirror', true],
  ['swi-a-s---', 'a snapshot', true],
  ['owi-a-s---', 'the origin of a snapshot', false],
  ['Owi---s---', 'an origin that its snapshot will be merged into', false],
];

for (const [attributes, what, isRemoved] of letters) {
  test(`${what} ${isRemoved ? 'may be removed' : 'is kept by lvm itself'}`, () => {
    const [line = ''] = lineOf(spellings['remove-lv'][0]);
    const [, pattern = ''] = /lv_attr!~(\S+) /.exec(line) ?? [];
    assert.notEqual(pattern, '');
    assert.equal(!new RegExp(pattern).test(attributes), isRemoved);
  });
}

const stripeSizeBytes = 65_536n;

const layouts: readonly (readonly [Layout, string])[] = [
  [{ kind: 'linear' }, 'linear'],
  [{ kind: 'striped', stripes: 3 }, 'striped --stripes 3'],
  [{ kind: 'striped', stripes: 2, stripeSizeBytes }, 'striped --stripes 2 --stripesize 65536b'],
  [{ kind: 'raid1', mirrors: 2 }, 'raid1 --mirrors 2'],
  [{ kind: 'raid4', stripes: 2 }, 'raid4 --stripes 2'],
  [{ kind: 'raid5', stripes: 2, stripeSizeBytes }, 'raid5 --stripes 2 --stripesize 65536b'],
  [{ kind: 'raid6', stripes: 3 }, 'raid6 --stripes 3'],
  [
    { kind: 'raid10', stripes: 2, mirrors: 1, stripeSizeBytes },
    'raid10 --stripes 2 --mirrors 1 --stripesize 65536b',
  ],
];

function createLv(layout: Layout, options: readonly string[] = []): CreateLv {
  return { kind: 'create-lv', ...inVg, lv: 'v1', layout, sizeBytes: GiB, tags, options };
}

const tail = '--name v1 --addtag quarry --addtag quarry.pending';

for (const [layout, spelled] of layouts) {
  test(`a volume is made as ${spelled}, cleared of what was there before`, () => {
    const clearing = '--wipesignatures y --zero y --size 1073741824b';
    const line = `lvm lvcreate --yes --type ${spelled} ${clearing} ${tail} vg1`;
    assert.deepEqual(lineOf(createLv(layout)), [line]);
  });
}

test('a thin volume is made in its pool, where there is nothing to clear', () => {
  const size = '--wipesignatures n --virtualsize 1073741824b --thinpool pool';
  assert.deepEqual(lineOf(createLv({ kind: 'thin', pool: 'pool' })), [
    `lvm lvcreate --yes --type thin ${size} ${tail} vg1`,
  ]);
});

test('the options of an administrator come last, before the group', () => {
  const [line] = lineOf(createLv({ kind: 'linear' }, ['--contiguous', 'y']));
  assert.match(line ?? '', / --addtag quarry.pending --contiguous y vg1$/);
});

test('a thin snapshot that is a clone may be written', () => {
  const [step] = spellings['create-thin-snapshot'];
  const [line] = lineOf({ ...step, isReadOnly: false });
  assert.match(line ?? '', /--permission rw vg1\/v1$/);
});

test('a thin pool is removed only while it has no volumes', () => {
  const [step] = spellings['remove-lv'];
  const [line] = lineOf({ ...step, dependents: 'thin-volumes' });
  assert.equal(
    line,
    'lvm lvremove --yes --select \'lv_uuid=LVU && thin_count=0 && lv_tags="quarry"\' vg1/v1',
  );
});

test('what a volume in use grew by is overwritten, and noted only while its mark is there', () => {
  const [step] = spellings['zero-range'];
  assert.deepEqual(lineOf({ ...step, isShown: true }), [
    'dd if=/dev/zero of=/dev/mapper/vg--1-v1 bs=4M iflag=fullblock,count_bytes ' +
      'oflag=direct,seek_bytes seek=1073741824 count=1048576 conv=nocreat,notrunc,fsync status=none',
    `lvm lvchange --deltag old --addtag new --select 'lv_uuid=LVU && lv_tags="old"' vg-1/v1`,
  ]);
});

test('a size that is noted is noted only while it is the size', () => {
  const [step] = spellings['change-tags'];
  const [line] = lineOf({ ...step, whileSizeBytes: GiB });
  assert.match(line ?? '', /--select 'lv_uuid=LVU && lv_size=1073741824b' vg1\/v1$/);
});

test('one change of tags for several volumes is one command, which aims at each of them', () => {
  const [step] = spellings['change-tags'];
  const other = { ...step, lv: 'v2', lvUuid: 'LVU2' };
  const { argv } = commandOfAll([step, other]);
  const tags = ['--deltag', 'c', '--addtag', 'a', '--addtag', 'b'];
  const selection = 'lv_uuid=LVU && lv_name="v1" || lv_uuid=LVU2 && lv_name="v2"';
  const only = ['--select', selection, 'vg1/v1', 'vg1/v2'];
  assert.deepEqual(argv, ['lvm', 'lvchange', ...tags, ...only]);
  assert.deepEqual(commandOfAll([step]), commandsOf(step)[0]);
});

test('several changes that are not the same are no one command', () => {
  const [step] = spellings['change-tags'];
  const differing: readonly Partial<ChangeTags>[] = [
    { remove: ['d'] },
    { add: ['a'] },
    { vgUuid: 'other' },
    { whileSizeBytes: GiB },
    { isReadOnly: true },
  ];
  for (const change of differing) {
    assert.throws(() => commandOfAll([step, { ...step, ...change }]), BugError);
  }
});

test('zeroing before what the permit is for is a bug', () => {
  const [step] = spellings['zero-range'];
  const given = permit('zero-range', 'LVU');
  const behind = (fromBytes: bigint) =>
    ({ ...step, permit: { ...given, fromBytes: bytes(fromBytes) } }) as const;
  assert.equal(commandsOf(behind(GiB)).length, 3);
  assert.throws(() => commandsOf(behind(GiB + 1n)), BugError);
});

test('the blocks of a removed volume are passed on only where that is asked for', () => {
  const [step] = spellings['remove-lv'];
  const [line = ''] = lineOf({ ...step, discards: true });
  assert.match(line, /^lvm lvremove --config devices\/issue_discards=1 --yes --select /);
});

const everyStep: readonly Step[] = [
  ...Object.values(sampleSteps),
  ...Object.values(spellings).map(([step]) => step),
  ...layouts.map(([layout]) => createLv(layout)),
];

test('no step takes a disk with --yes, and none ever uses force', () => {
  for (const { argv } of everyStep.flatMap(commandsOf)) {
    assert.ok(!argv.some((word) => /^(--force|-f+|-y)$/.test(word)), argv.join(' '));
    const takesDisks = /^(pvcreate|vgcreate|vgextend|pvremove|vgreduce|vgremove)$/;
    if (takesDisks.test(argv[1] ?? '')) assert.ok(!argv.includes('--yes'), argv.join(' '));
  }
});

test('every option is a long one, and every size of ours has a unit', () => {
  for (const { argv } of everyStep.flatMap(commandsOf)) {
    for (const [index, word] of argv.entries()) {
      assert.doesNotMatch(word, /^-[^-]/);
      if (/size$/.test(word)) assert.match(argv[index + 1] ?? '', /^\d+b$/);
    }
  }
});

test('every command of a step changes the host, and has a limit', () => {
  for (const { effect, timeoutMs } of everyStep.flatMap(commandsOf)) {
    assert.equal(effect, 'changes');
    assert.ok(timeoutMs >= limits.changeTimeoutMs);
  }
  const [evacuate] = commandsOf(sampleSteps['evacuate-pv']);
  assert.equal(evacuate?.timeoutMs, limits.copyTimeoutMs);
});

const destroying = everyStep.filter((step) => 'permit' in step);

test('every step that destroys needs a permit', () => {
  const kinds = new Set(destroying.map((step) => step.kind));
  assert.deepEqual([...kinds].toSorted(), [
    ...['drop-missing', 'reduce-vg', 'remove-lv', 'remove-pv', 'remove-vg', 'wipe-device'],
    'zero-range',
  ]);
});

for (const step of destroying) {
  const { kind, permit: good } = step;
  const bad: readonly (readonly [string, object])[] = [
    ['for another deed', { permit: { ...good, deed: 'format-lv' } }],
    ['for another target', { permit: { ...good, target: 'another' } }],
  ];
  for (const [what, change] of bad) {
    test(`${kind} with a permit ${what} is a bug`, () => {
      assert.throws(() => commandsOf({ ...step, ...change }), BugError);
    });
  }
  test(`${kind} without a permit is a bug`, () => {
    const { permit: _removed, ...rest } = step;
    assert.throws(() => commandsOf(rest as Step), BugError);
  });
}

test('a step on what is only foreseen is a bug', () => {
  const [extend] = spellings['extend-lv'];
  const [snapshot] = spellings['create-thin-snapshot'];
  assert.throws(() => commandsOf({ ...extend, lvUuid: 'foreseen:1' }), BugError);
  assert.throws(() => commandsOf({ ...extend, vgUuid: 'foreseen:1' }), BugError);
  assert.throws(() => commandsOf({ ...snapshot, originUuid: 'foreseen:1' }), BugError);
});

/** Steps that real lvm was given although it had to say no, or nothing to do. */
const refused = ['step-remove-lv-gone'];

for (const suite of suites) {
  test(`${suite}: lvm2 takes every step as it is spelled`, () => {
    const names = recordedNames(suite).filter((name) => name.startsWith('step-'));
    for (const name of names) {
      const { exitCode, stderr } = readRecorded(suite, name);
      assert.equal(exitCode === 0, !refused.includes(name), `${name}: ${stderr}`);
    }
    const missing = Object.keys(spellings).filter(
      (kind) => !names.some((name) => name.startsWith(`step-${kind}`)),
    );
    assert.deepEqual(missing, []);
    for (const [layout] of layouts) assert.ok(names.includes(`step-create-${layout.kind}`));
  });

  for (const [name, what] of [
    ['step-remove-lv-other-uuid', 'a name that changed hands'],
    ['step-remove-origin-refused', 'an origin with a snapshot'],
    ['step-remove-pool-refused', 'a pool with volumes'],
    ['step-remove-vg-not-empty', 'a group with volumes'],
  ] as const) {
    test(`${suite}: ${what} is not removed, though lvm says nothing`, () => {
      const { exitCode, stdout, stderr } = readRecorded(suite, name);
      assert.deepEqual({ exitCode, stdout, stderr }, { exitCode: 0, stdout: '', stderr: '' });
    });
  }
}

test('a pool is made under the host name of its step, if it has one', () => {
  const [step] = spellings['create-thin-pool'];
  const names = (hostName: object) =>
    commandsOf({ ...step, ...hostName }).map((command) => command.hostName);
  assert.deepEqual(names({ hostName: 'quarry.pool.pool' }), ['quarry.pool.pool']);
  assert.deepEqual(names({}), [undefined]);
  // Its devices stay as they are listed, though this looks like another host.
  const [command] = commandsOf({ ...step, hostName: 'quarry.pool.pool' });
  assert.ok(command?.argv.includes('config { checks=0 } devices { device_ids_refresh=0 }'));
  const at = command?.argv.indexOf('--activate') ?? -1;
  assert.equal(command?.argv[at + 1], 'n', 'the daemon that watches it is born elsewhere');
});

test('a label that lvm did not come to list is cleared past its list of devices', () => {
  const [step] = spellings['remove-pv'];
  assert.deepEqual(lineOf({ ...step, isUnlisted: true }), [
    'lvm pvremove --config devices/use_devicesfile=0 /dev/sda',
  ]);
});

test('a snapshot that another system left writable is made read-only by its identity', () => {
  const step = { kind: 'change-tags', ...onLv, add: [], remove: [], isReadOnly: true } as const;
  const argv = commandsOf(step).map((command) => command.argv.join(' '));
  assert.deepEqual(argv, ['lvm lvchange --permission r --select lv_uuid=LVU vg1/v1']);
});
