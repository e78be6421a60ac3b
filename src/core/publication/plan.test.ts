import assert from 'node:assert/strict';
import test from 'node:test';
import { extents, sampleLv } from '../../../test/samples/observed.ts';
import {
  deviceOf,
  fileSystem,
  holds,
  lvUuid,
  mountOf,
  nodeOf,
  ourFileSystem,
  seen,
  targetPath,
  vgUuid,
  volumeLv,
  wanted,
} from '../../../test/samples/publications.ts';
import { bytes } from '../../base/bytes.ts';
import { show } from '../../base/show.ts';
import { ownerTag, pendingTag, rawTag, tagOf } from '../tags.ts';
import type { PresentPublication } from './desired.ts';
import { fileSystemUuid } from './file-systems.ts';
import type { ObservedPublication, Probes } from './observed.ts';
import { planPublication, rootMode } from './plan.ts';
import type { PublicationDecision, PublicationStepKind } from './step.ts';

const pending = { tags: [ownerTag, pendingTag] };
const noted = { tags: [ownerTag, rawTag] };
const look = 'look probes';
const zeroed = wanted({ access: { kind: 'mount', fsType: 'ext4', flags: [], zeroFirst: true } });
const raw = wanted({ access: { kind: 'block' } });
const readOnly = wanted({ isReadOnly: true });
const as = (fsType: string, ...flags: readonly string[]) =>
  wanted({ access: { kind: 'mount', fsType, flags } });
const directory = {
  path: targetPath,
  kind: 'directory',
  mode: 0o755,
  sizeBytes: bytes(0n),
} as const;
const opened = { ...directory, mode: rootMode };
const used = fileSystem();
const probed = (...signatures: Probes['signatures']): Probes => ({
  signatures,
  exclusiveOpen: 'free',
});

/** In one word, and with what matters of a step. */
function told(decision: PublicationDecision): string {
  switch (decision.kind) {
    case 'rest':
      return 'rest';
    case 'look':
      return `look ${decision.at}`;
    case 'blocked':
      return decision.code;
    case 'step':
      return decision.step.kind === 'in-group' ? decision.step.want : decision.step.kind;
  }
}

type Row = readonly [
  title: string,
  desired: PresentPublication,
  observed: ObservedPublication,
  next: PublicationStepKind | 'rest' | `look ${string}` | 'activate' | 'zero' | 'clear-marks',
];

const mounted = { here: [mountOf()], target: opened, fileSystem: used };
const shown = { here: [nodeOf()], target: { ...directory, kind: 'device' } } as const;

/** A copy with the mark that nobody used it. Those it comes from are gone. */
function pendingCopy(given: Partial<ObservedPublication>): ObservedPublication {
  const notes = [tagOf('source', 's'), tagOf('madeFor', 'source-uuid/older-uuid')];
  const copy = { tags: [...pending.tags, ...notes] };
  return seen(copy, { target: directory, probes: undefined, ...given });
}

const rows: readonly Row[] = [
  // A new volume, in the order things happen.
  [
    'looks at superblocks first',
    wanted(),
    seen(pending, { fileSystem: undefined }),
    'look file-system',
  ],
  ['probes before it formats', wanted(), seen(pending, { probes: undefined }), 'look probes'],
  ['formats a new volume', wanted(), seen(pending), 'format-lv'],
  [
    'makes the directory then',
    wanted(),
    seen(pending, { done: { isFormatted: true, hasTriedToGrow: false } }),
    'make-directory',
  ],
  [
    'mounts',
    wanted(),
    seen(pending, { done: { isFormatted: true, hasTriedToGrow: false }, target: directory }),
    'mount',
  ],
  ['opens the root', wanted(), seen(pending, { ...mounted, target: directory }), 'change-mode'],
  ['takes the mark away', wanted(), seen(pending, mounted), 'clear-marks'],
  ['rests', wanted(), seen({}, mounted), 'rest'],
  // A volume in use.
  [
    'runs no probe for what has its file system',
    wanted(),
    seen({}, { fileSystem: used, probes: undefined }),
    'make-directory',
  ],
  [
    'does not wait for what an earlier life does elsewhere',
    wanted(),
    seen({}, { fileSystem: used, target: directory, strays: [`umount ${targetPath}2`, 'lvm vgs'] }),
    'mount',
  ],
  [
    'mounts a mirror that misses a device',
    wanted(),
    seen({ kind: 'raid1', health: 'partial' }, { fileSystem: used, target: directory }),
    'mount',
  ],
  [
    'activates a mirror that misses a device',
    wanted(),
    seen({ kind: 'raid1', health: 'partial', isActive: false }),
    'activate',
  ],
  [
    'mounts into a directory that kubelet made',
    wanted(),
    seen({}, { fileSystem: used, target: directory }),
    'mount',
  ],
  [
    'adds nothing to stacked mounts of its own',
    wanted(),
    seen({}, { ...mounted, here: [mountOf(), mountOf()] }),
    'rest',
  ],
  [
    'rests on its own mount above another',
    wanted(),
    seen({}, { ...mounted, here: [mountOf({ owner: { kind: 'other' } }), mountOf()] }),
    'rest',
  ],
  // What was cut off.
  [
    'formats again what our mkfs left unfinished',
    as('xfs'),
    seen(pending, {
      fileSystem: ourFileSystem('xfs', true),
      probes: probed(holds('xfs'), holds('xfs')),
    }),
    'format-lv',
  ],
  [
    'never makes a complete file system of ours again',
    wanted(),
    seen(pending, { fileSystem: ourFileSystem(), target: directory, probes: undefined }),
    'mount',
  ],
  [
    'uses the file system that a copy took over from a source in its first moments',
    wanted(),
    pendingCopy({ fileSystem: fileSystem({ uuid: fileSystemUuid('source-uuid') }) }),
    'mount',
  ],
  [
    'or on a copy of an earlier version, while its source is there',
    wanted(),
    seen(
      { tags: [...pending.tags, tagOf('source', 's')] },
      {
        ...{ target: directory, probes: undefined },
        fileSystem: fileSystem({ uuid: fileSystemUuid('source-uuid') }),
      },
      {
        lvs: [
          sampleLv({ name: 's', uuid: 'source-uuid' }),
          volumeLv({ tags: [...pending.tags, tagOf('source', 's')] }),
        ],
      },
    ),
    'mount',
  ],
  [
    'or that its source took over from another one',
    wanted(),
    pendingCopy({ fileSystem: fileSystem({ uuid: fileSystemUuid('older-uuid') }) }),
    'mount',
  ],
  [
    'and gives it a UUID of its own where the kernel asks for one',
    as('btrfs'),
    pendingCopy({ fileSystem: fileSystem({ type: 'btrfs', uuid: fileSystemUuid('source-uuid') }) }),
    'renew-uuid',
  ],
  [
    'leaves a root alone that somebody closed',
    wanted(),
    seen(pending, { ...mounted, target: { ...directory, mode: 0o700 } }),
    'clear-marks',
  ],
  [
    'does not format what is mounted elsewhere',
    wanted(),
    seen(pending, { fileSystem: ourFileSystem(), elsewhere: [mountOf({ mountPoint: '/b' })] }),
    'make-directory',
  ],
  // Read-only.
  [
    'opens a new volume before it is made read-only',
    readOnly,
    seen(pending, { ...mounted, target: directory }),
    'change-mode',
  ],
  ['makes a new volume read-only', readOnly, seen(pending, mounted), 'remount-read-only'],
  [
    'takes the mark of a new read-only one away',
    readOnly,
    seen(pending, { ...mounted, here: [mountOf({ isReadOnly: true })] }),
    'clear-marks',
  ],
  [
    'rests read-only',
    readOnly,
    seen({}, { ...mounted, here: [mountOf({ isReadOnly: true })] }),
    'rest',
  ],
  [
    'shows a snapshot read-only',
    readOnly,
    seen({ isReadOnly: true }, { fileSystem: used, target: directory }),
    'mount',
  ],
  // Growth.
  [
    'looks if it must grow',
    wanted(),
    seen({}, { ...mounted, fileSystem: undefined }),
    'look file-system',
  ],
  [
    'grows what is smaller than its device',
    wanted(),
    seen({}, { ...mounted, fileSystem: fileSystem({ growsToBytes: extents(20) }) }),
    'grow-file-system',
  ],
  [
    'tries that once',
    wanted(),
    seen(
      {},
      {
        ...mounted,
        done: { isFormatted: false, hasTriedToGrow: true },
        fileSystem: fileSystem({ growsToBytes: extents(20) }),
      },
    ),
    'rest',
  ],
  [
    'does not grow read-only',
    readOnly,
    seen(
      {},
      {
        ...mounted,
        here: [mountOf({ isReadOnly: true })],
        fileSystem: fileSystem({ growsToBytes: extents(20) }),
      },
    ),
    'rest',
  ],
  [
    'does not grow what it cannot read',
    wanted(),
    seen({}, { ...mounted, fileSystem: { kind: 'unknown', why: 'x' } }),
    'rest',
  ],
  // Thin volumes of others.
  [
    'asks for a new report before it formats without a mark',
    wanted(),
    seen({ kind: 'thin', dataPercent: 0, pool: 'pool0' }, { isReportFresh: false }),
    'look report',
  ],
  [
    'formats a thin volume without a block',
    wanted(),
    seen({ kind: 'thin', dataPercent: 0, pool: 'pool0', tags: [] }),
    'format-lv',
  ],
  [
    'mounts that then',
    wanted(),
    seen(
      { kind: 'thin', dataPercent: 0, pool: 'pool0', tags: [] },
      { done: { isFormatted: true, hasTriedToGrow: false } },
    ),
    'make-directory',
  ],
  [
    'asks the probes what else is on a volume',
    wanted(),
    seen({}, { probes: undefined }),
    'look probes',
  ],
  // Copies.
  [
    'gives a btrfs copy a UUID of its own',
    as('btrfs'),
    seen({ tags: [tagOf('source', 's')] }, { fileSystem: fileSystem({ type: 'btrfs' }) }),
    'renew-uuid',
  ],
  [
    'does so once',
    as('btrfs'),
    seen({ tags: [tagOf('source', 's')] }, { fileSystem: ourFileSystem('btrfs') }),
    'make-directory',
  ],
  [
    'leaves the UUID of what is no copy',
    as('btrfs'),
    seen({}, { fileSystem: fileSystem({ type: 'btrfs' }) }),
    'make-directory',
  ],
  [
    'leaves the UUID of what is mounted',
    as('btrfs'),
    seen(
      { tags: [tagOf('source', 's')] },
      {
        fileSystem: fileSystem({ type: 'btrfs' }),
        elsewhere: [mountOf({ mountPoint: '/b', fsType: 'btrfs' })],
      },
    ),
    'make-directory',
  ],
  [
    'leaves the UUID of an XFS copy',
    as('xfs'),
    seen({ tags: [tagOf('source', 's')] }, { fileSystem: fileSystem({ type: 'xfs' }) }),
    'make-directory',
  ],
  [
    'rests on what somebody has alone, whatever was bound from it',
    wanted({ isExclusive: true }),
    seen({}, { ...mounted, elsewhere: [mountOf({ mountPoint: '/b', isWhole: false })] }),
    'rest',
  ],
  // Raw devices.
  ['takes the mark of a raw volume away first', raw, seen(pending), 'clear-marks'],
  [
    'probes before it zeroes',
    wanted({ access: { kind: 'block', zeroFirst: true } }),
    seen(pending, { probes: undefined }),
    'look probes',
  ],
  [
    'zeroes a thick one when asked',
    wanted({ access: { kind: 'block', zeroFirst: true } }),
    seen(pending),
    'zero',
  ],
  [
    'never zeroes a thin one',
    wanted({ access: { kind: 'block', zeroFirst: true } }),
    seen({ ...pending, kind: 'thin', pool: 'pool0' }),
    'clear-marks',
  ],
  [
    'never zeroes one in use',
    wanted({ access: { kind: 'block', zeroFirst: true } }),
    seen(noted),
    'make-file',
  ],
  ['notes that a copy is shown raw', raw, seen(), 'clear-marks'],
  ['notes that what is shown is raw', raw, seen({}, shown), 'clear-marks'],
  ['makes the file', raw, seen(noted), 'make-file'],
  ['makes the file for a volume of others', raw, seen({ tags: [] }), 'make-file'],
  ['binds the node', raw, seen(noted, { target: { ...directory, kind: 'file' } }), 'bind'],
  ['rests when the node is there', raw, seen(noted, shown), 'rest'],
  [
    'rests on a node that TopoLVM made',
    raw,
    seen(noted, { ...shown, here: [nodeOf({ isBare: true })] }),
    'rest',
  ],
  ['takes a mark away that is left', raw, seen(pending, shown), 'clear-marks'],
  [
    'shows a raw device at a second path',
    raw,
    seen(noted, { elsewhere: [nodeOf({ mountPoint: '/b' })] }),
    'make-file',
  ],
  // What is overwritten before a file system is made.
  ['probes before it zeroes for a file system', zeroed, seen(pending, { probes: undefined }), look],
  ['zeroes all of a thick one before a file system is made', zeroed, seen(pending), 'zero'],
  [
    'makes the file system once all is zeroed',
    zeroed,
    seen({ tags: [...pending.tags, tagOf('zeroed', String(extents(10)))] }),
    'format-lv',
  ],
  [
    'zeroes what it grew by before a file system was made',
    zeroed,
    seen({ tags: [...pending.tags, tagOf('zeroed', String(extents(9)))] }),
    'zero',
  ],
  [
    'zeroes no thin one before a file system is made',
    zeroed,
    seen({ ...pending, kind: 'thin', pool: 'pool0' }),
    'format-lv',
  ],
  // Activation.
  [
    'activates an inactive volume',
    wanted(),
    seen({ isActive: false }, { device: undefined }),
    'activate',
  ],
];

for (const [title, desired, observed, next] of rows) {
  test(title, () => {
    const decision = planPublication(desired, observed);
    assert.equal(told(decision), next, show(decision));
  });
}

function stepOf(decision: PublicationDecision) {
  assert.ok(decision.kind === 'step', show(decision));
  return decision.step;
}

test('XFS is always mounted without regard to its UUID, and flags come after', () => {
  const observed = seen({}, { fileSystem: fileSystem({ type: 'xfs' }), target: directory });
  const step = stepOf(planPublication(as('xfs', 'noatime', 'nouuid'), observed));
  assert.ok(step.kind === 'mount');
  assert.deepEqual(step.options, ['nouuid', 'noatime']);
});

test('a second path is bound read-only to the mount that is writable', () => {
  const elsewhere = [
    mountOf({ mountPoint: '/sub', isWhole: false }),
    mountOf({ mountPoint: '/b' }),
  ];
  const desired = wanted({
    isReadOnly: true,
    access: { kind: 'mount', fsType: 'ext4', flags: ['noatime', 'context="x"', 'discard'] },
  });
  const step = stepOf(
    planPublication(desired, seen({}, { fileSystem: used, target: directory, elsewhere })),
  );
  assert.deepEqual(step, {
    ...{ kind: 'bind', source: '/b', path: targetPath, isReadOnly: true },
    options: ['noatime'],
  });
});

test('what is read-only everywhere is mounted read-only once more', () => {
  const elsewhere = [mountOf({ mountPoint: '/b', isReadOnly: true, isFileSystemReadOnly: true })];
  const step = stepOf(
    planPublication(readOnly, seen({}, { fileSystem: used, target: directory, elsewhere })),
  );
  assert.ok(step.kind === 'mount' && step.isReadOnly);
});

test('a file system is made with the UUID of its volume', () => {
  const fresh = stepOf(planPublication(as('xfs'), seen(pending)));
  assert.ok(fresh.kind === 'format-lv');
  assert.deepEqual(
    { fsUuid: fresh.fsUuid, target: fresh.permit.target },
    { fsUuid: fileSystemUuid(lvUuid), target: lvUuid },
  );
});

test('the device of the volume is known by both UUIDs', () => {
  assert.match(deviceOf(volumeLv()).dmUuid, /^LVM-[^-]{64}$/);
  assert.ok(deviceOf(volumeLv()).dmUuid.includes(vgUuid.replaceAll('-', '')));
});
