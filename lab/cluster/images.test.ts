import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand } from '../host/command.ts';
import { imageArchive } from './images.ts';
import { tarOf } from './tar.ts';

test('other programs read the archives we write', async () => {
  const archive = tarOf([
    { kind: 'directory', path: 'bin' },
    { kind: 'file', path: 'bin/tool', data: Buffer.from('x'.repeat(700)) },
    { kind: 'file', path: 'bin/empty', data: Buffer.alloc(0), mode: 0o640 },
    { kind: 'symlink', path: 'bin/alias', target: 'tool' },
  ]);
  await withFile(archive, async (path) => {
    const listed = await runCommand(['tar', '--list', '--verbose', '--utc', '--file', path]);
    assert.deepEqual(listed.trim().split('\n'), [
      'drwxr-xr-x 0/0               0 1970-01-01 00:00 bin/',
      '-rwxr-xr-x 0/0             700 1970-01-01 00:00 bin/tool',
      '-rw-r----- 0/0               0 1970-01-01 00:00 bin/empty',
      'lrwxrwxrwx 0/0               0 1970-01-01 00:00 bin/alias -> tool',
    ]);
  });
});

test('a name that does not fit is refused, not cut', () => {
  const path = 'x'.repeat(101);
  assert.throws(() => tarOf([{ kind: 'file', path, data: Buffer.alloc(0) }]), /too long for tar/);
});

test('blobs of an image archive are named after their content, each in it once', async () => {
  const layer = tarOf([{ kind: 'directory', path: 'bin' }]);
  const archive = imageArchive([
    { name: 'lab/one:1', layers: [layer], command: ['/bin/one'] },
    { name: 'lab/two:1', layers: [layer], command: ['/bin/two'] },
  ]);
  await withFile(archive, async (path) => {
    const directory = `${path}.d`;
    await runCommand(['mkdir', directory]);
    await runCommand(['tar', '--extract', '--file', path, '--directory', directory]);
    const blobs = join(directory, 'blobs/sha256');
    const names = (await runCommand(['ls', blobs])).trim().split('\n');
    assert.equal(names.length, 5); // one layer, two configurations, two manifests
    for (const name of names) {
      const data = await readFile(join(blobs, name));
      assert.equal(createHash('sha256').update(data).digest('hex'), name);
    }
  });
});

async function withFile(data: Buffer, work: (path: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'lab-images-'));
  try {
    await writeFile(join(directory, 'archive.tar'), data);
    await work(join(directory, 'archive.tar'));
  } finally {
    await rm(directory, { recursive: true });
  }
}
