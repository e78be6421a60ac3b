import assert from 'node:assert/strict';
import test from 'node:test';
import { BugError } from '../base/assert.ts';
import type { Deed, Permit } from '../core/permit.ts';
import type { FsType } from '../core/publication/file-systems.ts';
import type { FormatLv } from '../core/publication/step.ts';
import { type ProgramStep, publicationCommands } from './publication-argv.ts';

const device = '/dev/mapper/vg-v';
const path = '/p q';

function permit<D extends Deed>(deed: D, target: string): Permit<D> {
  return { deed, target } as Permit<D>;
}

function format(fsType: FsType, given: Partial<FormatLv> = {}): FormatLv {
  const what = { device, lvUuid: 'LVU', fsType, fsUuid: 'FSU' };
  return { kind: 'format-lv', ...what, permit: permit('format-lv', 'LVU'), ...given };
}

const mount = { kind: 'mount', device, path, isReadOnly: false, options: [] } as const;
const bind = { kind: 'bind', source: '/a', path, isReadOnly: false, options: [] } as const;
const grow = { kind: 'grow-file-system', device, path } as const;

const spellings: readonly (readonly [ProgramStep, ...string[]])[] = [
  [format('ext4'), 'mkfs.ext4 -q -F -m0 -U FSU /dev/mapper/vg-v'],
  [format('xfs'), 'mkfs.xfs -q -f -m uuid=FSU /dev/mapper/vg-v'],
  [format('btrfs'), 'mkfs.btrfs --quiet --force --uuid FSU /dev/mapper/vg-v'],
  [
    { kind: 'renew-uuid', device, fsType: 'btrfs', fsUuid: 'FSU' },
    'btrfstune -M FSU /dev/mapper/vg-v',
  ],
  [{ ...mount, fsType: 'ext4' }, "mount --read-write --types ext4 /dev/mapper/vg-v '/p q'"],
  [
    { ...mount, fsType: 'xfs', isReadOnly: true, options: ['nouuid', 'noatime'] },
    "mount --read-only --types xfs --options nouuid,noatime /dev/mapper/vg-v '/p q'",
  ],
  [bind, "mount --options bind /a '/p q'"],
  [{ ...bind, isReadOnly: true, options: ['nodev'] }, "mount --options bind,ro,nodev /a '/p q'"],
  [{ kind: 'remount-read-only', path }, "mount --options remount,ro '/p q'"],
  [{ kind: 'unmount', path }, "umount '/p q'"],
  [{ ...grow, fsType: 'ext4' }, 'resize2fs /dev/mapper/vg-v'],
  [{ ...grow, fsType: 'xfs' }, "xfs_growfs '/p q'"],
  [{ ...grow, fsType: 'btrfs' }, "btrfs filesystem resize max '/p q'"],
];

for (const [step, ...lines] of spellings) {
  test(`${lines.at(-1)}`, () => {
    const commands = publicationCommands(step);
    const spelled = commands.map(({ argv }) =>
      argv.map((word) => (word.includes(' ') ? `'${word}'` : word)).join(' '),
    );
    assert.deepEqual(spelled, lines);
    assert.ok(commands.every(({ effect }) => effect === 'changes'));
  });
}

test('a permit for another deed or another volume is a bug', () => {
  const other = { permit: permit('format-lv', 'OTHER') };
  assert.throws(() => publicationCommands(format('ext4', other)), BugError);
  const deed = { permit: permit('zero-range', 'LVU') as unknown as Permit<'format-lv'> };
  assert.throws(() => publicationCommands(format('ext4', deed)), BugError);
});
