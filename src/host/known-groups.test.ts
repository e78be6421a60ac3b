import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { readKnownGroups, writeKnownGroups } from './known-groups.ts';

async function stateDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'quarry-state-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}

test('a host that keeps no record knows no group', async (t) => {
  assert.deepEqual(await readKnownGroups(join(await stateDirectory(t), 'none')), new Map());
});

test('what is written is read again, and nothing else is left beside it', async (t) => {
  const directory = join(await stateDirectory(t), 'made');
  await writeKnownGroups(directory, new Map([['vg1', 'uuid-1']]));
  await writeKnownGroups(directory, new Map([['vg2', 'uuid-2']]));
  assert.deepEqual(await readKnownGroups(directory), new Map([['vg2', 'uuid-2']]));
  assert.deepEqual(await readdir(directory), ['groups.json']);
});

const damaged = [
  ['cut off', '{"groups": {', /groups\.json.*JSON/],
  ['without groups', '{}', /no "groups"/],
  ['with a number for a UUID', '{"groups": {"vg1": 5}}', /groups\.vg1/],
  ['null', 'null', /no "groups"/],
] as const;

for (const [title, text, message] of damaged) {
  test(`a record ${title} is refused: taking it for empty could make a group twice`, async (t) => {
    const directory = await stateDirectory(t);
    await writeFile(join(directory, 'groups.json'), text);
    await assert.rejects(readKnownGroups(directory), { code: 'InvalidConfiguration', message });
  });
}
