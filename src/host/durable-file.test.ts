import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { writeDurably } from './durable-file.ts';

async function directory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'quarry-durable-'));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

test('of two who write at one moment one counts, whole', async (t) => {
  const path = join(await directory(t), 'file');
  const [long, short] = ['long '.repeat(1000), 'short'];
  for (let round = 0; round < 20; round += 1) {
    await Promise.all([writeDurably(path, long), writeDurably(path, short)]);
    const text = await readFile(path, 'utf8');
    assert.ok(text === long || text === short, `${text.length} characters`);
  }
  assert.deepEqual(await readdir(join(path, '..')), ['file']);
});

test('what cannot be moved into place leaves nothing beside it', async (t) => {
  const path = await directory(t);
  await mkdir(join(path, 'file', 'not-empty'), { recursive: true });
  await assert.rejects(writeDurably(join(path, 'file'), 'text'));
  assert.deepEqual(await readdir(path), ['file']);
});
