import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { readWipes, writeWipes } from './wiped-disks.ts';

async function stateDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'quarry-state-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}

test('what was wiped is read again', async (t) => {
  const directory = await stateDirectory(t);
  assert.deepEqual(await readWipes(directory), new Map());
  const wipes = new Map([['wwn 0x5', { found: ['ext4'], isDone: false }]]);
  await writeWipes(directory, wipes);
  assert.deepEqual(await readWipes(directory), wipes);
});

const damaged = [
  ['cut off', '{"disks": {', /wiped\.json.*JSON/],
  ['without disks', '{}', /no "disks"/],
  ['null', 'null', /no "disks"/],
  ['with half an entry', '{"disks": {"a": {"found": []}}}', /disks\["a"\]/],
  ['with other words', '{"disks": {"a": {"found": [1], "isDone": true}}}', /disks\["a"\]/],
] as const;

for (const [title, text, message] of damaged) {
  test(`a record ${title} is refused: taking it for empty could wipe a disk twice`, async (t) => {
    const directory = await stateDirectory(t);
    await writeFile(join(directory, 'wiped.json'), text);
    await assert.rejects(readWipes(directory), { code: 'InvalidConfiguration', message });
  });
}
