import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { changeFile, inspect, readBytes, statFs } from './files.ts';

function scratch(t: { after(work: () => void): void }): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'quarry-files-')));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

test('what is at a path is told, with the links of its parents resolved', async (t) => {
  const root = scratch(t);
  mkdirSync(join(root, 'real/pods'), { recursive: true });
  symlinkSync(join(root, 'real'), join(root, 'link'));
  writeFileSync(join(root, 'real/pods/file'), 'abc');
  const file = await inspect(join(root, 'link/pods/file'));
  assert.deepEqual(
    [file.path, file.kind, file.isLink, file.sizeBytes],
    [join(root, 'real/pods/file'), 'file', false, 3n],
  );
  const absent = await inspect(join(root, 'link/none/below'));
  assert.deepEqual([absent.path, absent.kind], [join(root, 'real/none/below'), 'absent']);
  const link = await inspect(join(root, 'link'));
  assert.deepEqual([link.kind, link.isLink], ['directory', true]);
  chmodSync(join(root, 'real'), 0o2777);
  assert.equal((await inspect(join(root, 'real'))).mode, 0o2777);
  assert.equal((await inspect(join(root, 'real/pods/file/below'))).kind, 'absent');
  assert.equal((await inspect('/dev/null')).kind, 'other');
});

test('directories and files are made with their parents, and again without harm', async (t) => {
  const root = scratch(t);
  for (const [kind, name] of [
    ['make-directory', 'a/b'],
    ['make-file', 'c/d'],
  ] as const) {
    const path = join(root, name);
    await changeFile({ kind, path });
    await changeFile({ kind, path });
    assert.equal((await inspect(path)).kind, kind === 'make-file' ? 'file' : 'directory');
  }
  writeFileSync(join(root, 'c/d'), 'kept');
  await changeFile({ kind: 'make-file', path: join(root, 'c/d') });
  assert.equal(statSync(join(root, 'c/d')).size, 4);
});

test('the mode of a directory is changed, whatever the umask', async (t) => {
  const root = scratch(t);
  await changeFile({ kind: 'change-mode', path: root, mode: 0o2777 });
  assert.equal(statSync(root).mode & 0o7777, 0o2777);
});

test('only what is empty is taken away, and what is gone is no error', async (t) => {
  const root = scratch(t);
  const full = join(root, 'full');
  mkdirSync(join(full, 'below'), { recursive: true });
  await assert.rejects(changeFile({ kind: 'remove-directory', path: full }), {
    code: 'TargetTaken',
  });
  assert.ok(existsSync(join(full, 'below')));
  await assert.rejects(changeFile({ kind: 'remove-file', path: full }));
  await changeFile({ kind: 'remove-directory', path: join(full, 'below') });
  await changeFile({ kind: 'remove-directory', path: join(full, 'below') });
  await changeFile({ kind: 'remove-file', path: join(full, 'none') });
});

test('bytes are read from their place, and fewer where a file ends', async (t) => {
  const path = join(scratch(t), 'file');
  writeFileSync(path, Buffer.from([1, 2, 3, 4]));
  assert.deepEqual([...(await readBytes(path, { offset: 1, length: 2 }))], [2, 3]);
  assert.deepEqual([...(await readBytes(path, { offset: 3, length: 9 }))], [4]);
  await assert.rejects(readBytes(`${path}-none`, { offset: 0, length: 1 }), {
    code: 'DeviceFailed',
  });
});

test('room in a file system is told in bytes', async (t) => {
  const space = await statFs(scratch(t));
  assert.ok(space.totalBytes >= space.freeBytes && space.freeBytes >= space.availableBytes);
  assert.ok(space.totalBytes > 1_000_000n);
  await assert.rejects(statFs('/none/such'), { code: 'FileFailed' });
});
