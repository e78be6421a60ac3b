import assert from 'node:assert/strict';
import { copyFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '../../lab/cluster/index.ts';
import type { Guide } from './guide.ts';

/** The guide to the command line, pasted beside a cluster whose LVMCluster is in `mine.yaml`. */

const root = join(import.meta.dirname, '../..');

/** From the clone that the tests run in; nothing is put outside of the guide's own place. */
export async function getIt(page: Guide): Promise<void> {
  await page.pasteBlock('Get it', 1, (script) => {
    return `cd '${root}'\n${script.replaceAll('/usr/local/bin', `'${page.directory}/bin'`)}`;
  });
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  for (const name of ['quarry', 'kubectl-quarry', 'kubectl quarry']) {
    assert.match(await page.run(`${name} --version`), new RegExp(version.replaceAll('.', '\\.')));
  }
}

/** One file, that runs where there is no clone. */
export async function getOneFile(page: Guide): Promise<void> {
  await page.pasteBlock('Get it', 2, (script) => `cd '${root}'\n${script}`);
  const elsewhere = await mkdtemp(join(tmpdir(), 'quarry-elsewhere-'));
  try {
    await copyFile(join(root, 'build/quarry'), join(elsewhere, 'quarry'));
    assert.match(await page.run(`cd '${elsewhere}'; ./quarry status`), /^ *n1 +vg1 /m);
  } finally {
    await rm(elsewhere, { recursive: true });
    await rm(join(root, 'build/quarry'));
  }
}

/** On a cluster where nothing is wrong, and nothing is left to be done. */
export async function useIt(page: Guide): Promise<void> {
  let said = '';
  // What is written about nodes may be a minute old; a directory to send is never written twice.
  await waitUntil(
    'all is well',
    async () => {
      await rm(join(page.directory, 'bundle'), { recursive: true, force: true });
      const text = await page.paste('Use it').catch((error: unknown) => String(error));
      if (/Error: /.test(text)) return { missing: text };
      said = text;
      return { found: true };
    },
    { timeoutMs: 180_000, intervalMs: 5_000 },
  );
  assert.match(said, /^ *n1 +vg1 /m);
  assert.match(said, /A plan for LVMCluster mine\. Nothing was changed\./);
  assert.equal(said.match(/Nothing to do\./g)?.length, 2);
}

/** All that the table of the page names, and nothing secret. */
export async function gatherIt(page: Guide): Promise<void> {
  await page.paste('gather');
  const listed = (await page.run('tar --list --file bundle.tar.gz')).split('\n');
  const names = ['about.txt', 'status.txt', 'status.json', 'doctor.txt', 'doctor.json'];
  for (const name of [...names, 'objects/lvmclusters.yaml', 'objects/events.yaml']) {
    assert.ok(listed.includes(`bundle/${name}`), `${name} in ${listed.join(' ')}`);
  }
  assert.ok(listed.some((name) => /^bundle\/logs\/vg-manager-\w+_vg-manager\.log$/.test(name)));
  assert.equal(
    (await readdir(join(page.directory, 'bundle/objects'))).some((name) => /^secret/i.test(name)),
    false,
  );
}

export async function completeIt(page: Guide): Promise<void> {
  await page.paste('Completion', (script) => `${script}\ncomplete -p quarry`);
}
