import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBlocked } from '../../../test/samples/decisions.ts';
import { published, wanted } from '../../../test/samples/publications.ts';
import type { FailureCode } from '../../base/failures.ts';
import { limits } from '../../base/limits.ts';
import { absentPublication, desiredPublication, type PublicationRequest } from './desired.ts';
import { fileSystemUuid } from './file-systems.ts';
import { desiredGrowth } from './growth.ts';

const mount = (fsType: string, ...flags: readonly string[]) => ({
  access: { kind: 'mount', fsType, flags } as const,
});

test('no file system in particular is ext4', () => {
  const { access } = wanted(mount(''));
  assert.ok(access.kind === 'mount' && access.fsType === 'ext4');
});

test('a raw device is zeroed first only when that is asked for', () => {
  const { access } = wanted({ access: { kind: 'block' } });
  assert.deepEqual(access, { kind: 'block', zeroFirst: false });
});

const flags: readonly (readonly [given: readonly string[], kept: readonly string[], boolean])[] = [
  [[], [], false],
  [['noatime', 'noatime', ''], ['noatime'], false],
  [['noatime,nodev'], ['noatime', 'nodev'], false],
  [['rw', 'discard'], ['discard'], false],
  [['ro'], [], true],
  [['nodev,ro'], ['nodev'], true],
  [['ro=recursive'], [], true],
  [['rw=vfs', 'noatime'], ['noatime'], false],
  [
    ['data=ordered', 'x-systemd.a', 'X-mount.mkdir'],
    ['data=ordered', 'x-systemd.a', 'X-mount.mkdir'],
    false,
  ],
  [['context="a:b:c:s0:c1,c2"', 'ro'], ['context="a:b:c:s0:c1,c2"'], true],
];

for (const [given, kept, isReadOnly] of flags) {
  test(`the mount flags ${JSON.stringify(given)} become ${JSON.stringify(kept)}`, () => {
    const desired = wanted(mount('ext4', ...given));
    assert.ok(desired.access.kind === 'mount');
    assert.deepEqual(desired.access.flags, kept);
    assert.equal(desired.isReadOnly, isReadOnly);
  });
}

const bad: readonly (readonly [string, Partial<PublicationRequest>, FailureCode, RegExp])[] = [
  ['an unknown file system', mount('ntfs'), 'UnknownFileSystem', /"ntfs" is none of ext4, xfs/],
  ['a name from the prototype', mount('toString'), 'UnknownFileSystem', /toString/],
  [
    'rw when it is wanted read-only',
    { ...mount('', 'rw'), isReadOnly: true },
    'InvalidMountOptions',
    /"rw"/,
  ],
  ['ro and rw', mount('', 'ro', 'rw'), 'InvalidMountOptions', /"rw"/],
  ['a line break in a flag', mount('', 'a\nb'), 'InvalidMountOptions', /a\\nb/],
  ['a NUL in a flag', mount('', 'a\0'), 'InvalidMountOptions', /characters/],
  [
    'a flag that makes another kind of mount',
    mount('', 'nodev,bind'),
    'InvalidMountOptions',
    /"bind"/,
  ],
  ['remounting', mount('', 'remount'), 'InvalidMountOptions', /remount/],
  ...[
    ...['loop', 'loop=/dev/loop0', 'offset=4096', 'sizelimit=1m', 'encryption=aes'],
    ...['X-mount.subdir=x', 'x-mount.subdir=x', 'make-shared', 'make-rprivate', 'bind=x'],
    ...['remount=x', 'verity.hashdevice=/dev/x', ' offset = 1'],
  ].map((flag): (typeof bad)[number] => [
    `the flag ${flag}`,
    mount('', 'noatime', flag),
    'InvalidMountOptions',
    /another kind of mount/,
  ]),
  ['ro=vfs and rw=vfs', mount('', 'ro=vfs', 'rw=vfs'), 'InvalidMountOptions', /"rw=vfs"/],
  [
    'rw=vfs when it is wanted read-only',
    { ...mount('', 'rw=vfs'), isReadOnly: true },
    'InvalidMountOptions',
    /"rw=vfs"/,
  ],
  ['a relative path', { targetPath: 'a/b' }, 'InvalidTargetPath', /"a\/b"/],
  ['an empty path', { targetPath: '' }, 'InvalidTargetPath', /""/],
  ['the root', { targetPath: '//' }, 'InvalidTargetPath', /"\/\/"/],
  ['a path that climbs', { targetPath: '/a/../b' }, 'InvalidTargetPath', /\.\./],
  ['a path with a line break', { targetPath: '/a\nb' }, 'InvalidTargetPath', /a\\nb/],
  [
    'a path without end',
    { targetPath: `/${'a'.repeat(limits.pathLengthMax)}` },
    'InvalidTargetPath',
    /a/,
  ],
];

for (const [title, given, code, names] of bad) {
  test(`refuses ${title}`, () => {
    const access = { kind: 'mount', fsType: '', flags: [] } as const;
    const request = { volume: published, targetPath: '/a', access, isReadOnly: false, ...given };
    assertBlocked(desiredPublication(request), code, names);
  });
}

test('a path has one spelling, whoever asks', () => {
  const targetPath = '//a//b/';
  assert.equal(wanted({ targetPath }).targetPath, '/a/b');
  const absent = absentPublication({ volume: { name: 'v1' }, targetPath });
  assert.ok('targetPath' in absent && absent.targetPath === '/a/b');
  const growth = desiredGrowth({ volume: published, targetPath });
  assert.ok('targetPath' in growth && growth.targetPath === '/a/b');
  assertBlocked(
    absentPublication({ volume: { name: 'v1' }, targetPath: 'a' }),
    'InvalidTargetPath',
  );
  assertBlocked(desiredGrowth({ volume: published, targetPath: 'a' }), 'InvalidTargetPath');
});

test('the UUID of a file system is that of its volume only, and never changes', () => {
  assert.equal(fileSystemUuid('a'), fileSystemUuid('a'));
  const uuids = Array.from({ length: 2000 }, (_, index) => fileSystemUuid(`volume-${index}`));
  assert.equal(new Set(uuids).size, uuids.length);
  for (const uuid of uuids) {
    assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  }
  // Volumes that exist carry it: another result would make our own work look like somebody's.
  assert.equal(fileSystemUuid('LVU'), '80281625-27e7-819b-a62a-082b945e1d33');
});
