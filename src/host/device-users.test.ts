import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { findDeviceUsers } from './device-users.ts';
import { Patience } from './patience.ts';

/** A tree as the kernel shows it, but that links of open files are ordinary ones. */
function tree(t: { after(work: () => void): void }, files: Readonly<Record<string, string>>) {
  const root = mkdtempSync(join(tmpdir(), 'users-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    const path = join(root, name);
    mkdirSync(dirname(path), { recursive: true });
    if (text === 'node') execFileSync('mknod', [path, 'b', '259', '300']);
    else if (text.startsWith('-> ')) symlinkSync(text.slice(3).replace('ROOT', root), path);
    else writeFileSync(path, text);
  }
  const [processes, blocks] = [join(root, 'proc'), join(root, 'sys')];
  return findDeviceUsers({ processes, blocks, patience: new Patience(), timeoutMs: 1_000 });
}

const mounts = [
  '22 1 0:6 / /dev rw,relatime - devtmpfs devtmpfs rw',
  '30 1 0:44 / /far rw - nfs4 server:/ rw',
].join('\n');

const writes = 'pos:\t0\nflags:\t02100002\nmnt_id:\t22\nino:\t4\n';

test('a process that writes to a disk, and a loop device on one, use it', async (t) => {
  const found = await tree(t, {
    'proc/1/root/srv/dev': 'node',
    'proc/7/comm': 'qemu-system-x86\n',
    'proc/7/fd/12': '-> ROOT/disk',
    'proc/7/fdinfo/12': writes,
    'proc/7/mountinfo': mounts,
    disk: 'node',
    'sys/loop3/loop/backing_file': '/srv/dev\n',
  });
  const number = '259:300';
  const process = { number, by: 'the process qemu-system-x86' };
  assert.deepEqual(found, [{ number, by: '/dev/loop3' }, process]);
});

test('a process that has a disk open from where it was before uses it', async (t) => {
  const found = await tree(t, {
    'proc/7/comm': 'sandboxed\n',
    'proc/7/fd/12': '-> /dev/..ROOT/disk',
    'proc/7/fdinfo/12': writes.replace('22', '99'),
    'proc/7/mountinfo': mounts,
    'proc/8/fd/3': '-> ROOT/disk',
    'proc/8/fdinfo/3': writes.replace('22', '99'),
    'proc/8/mountinfo': mounts,
    disk: 'node',
  });
  assert.deepEqual(found, [{ number: '259:300', by: 'the process sandboxed' }]);
});

test('who reads, who writes to a file, and who is gone uses no device', async (t) => {
  const found = await tree(t, {
    'proc/1/comm': 'init\n',
    'proc/7/fd/3': '-> /dev/null',
    'proc/8/fd/3': '-> socket:[1]',
    'proc/9/fd/4': '-> ROOT/disk',
    'proc/9/fdinfo/4': 'pos:\t0\nflags:\t0100002\nmnt_id:\t30\nino:\t4\n',
    'proc/9/mountinfo': mounts,
    'proc/6/fd/4': '-> ROOT/disk',
    'proc/6/fdinfo/4': 'pos:\t0\nflags:\t0100000\nmnt_id:\t22\nino:\t4\n',
    'proc/6/mountinfo': mounts,
    'proc/10/fd/5': '-> /dev/gone',
    'proc/10/fdinfo/5': 'pos:\t0\nflags:\t0100001\nmnt_id:\t22\nino:\t4\n',
    'proc/10/mountinfo': mounts,
    'proc/11/comm': 'gone\n',
    'proc/meminfo': '',
    disk: 'node',
    'sys/loop0/loop/backing_file': '/srv/image\n',
    'sys/loop1/size': '0\n',
    'sys/sda/size': '8\n',
  });
  assert.deepEqual(found, []);
});

test('a host without loop devices, or without /sys, has none', async (t) => {
  assert.deepEqual(await tree(t, { 'proc/1/comm': 'init\n' }), []);
});
