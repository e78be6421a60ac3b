import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { constants } from 'node:fs';
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { TinyHost } from '../../test/samples/tiny-host.ts';
import { Patience } from './patience.ts';
import { life, lifeKey } from './run.ts';
import { findStrays, withToldStrays } from './strays.ts';

type Process = { readonly environ: string; readonly words?: string };

/** A directory like /proc, with what is wanted in it. */
async function processes(t: TestContext, all: Readonly<Record<string, Process>>) {
  const directory = await mkdtemp(join(tmpdir(), 'quarry-proc-'));
  t.after(() => rm(directory, { recursive: true }));
  await mkdir(join(directory, 'sys'));
  for (const [pid, { environ, words = '' }] of Object.entries(all)) {
    await mkdir(join(directory, pid));
    await writeFile(join(directory, pid, 'environ'), environ);
    await writeFile(join(directory, pid, 'cmdline'), words);
  }
  return directory;
}

/** A file that gives no answer, and holds the thread that asks, until it is let go. */
async function hang(path: string) {
  await rm(path, { force: true });
  execFileSync('mkfifo', [path]);
  return async () => (await open(path, constants.O_RDWR | constants.O_NONBLOCK)).close();
}

const old = `PATH=/bin\0${lifeKey}=another\0`;

test('what an earlier life began is found; its daemons, zombies and our own are not', async (t) => {
  const directory = await processes(t, {
    11: { environ: old, words: 'lvm\0lvcreate\0--yes\0' },
    12: { environ: old, words: '/sbin/dmeventd\0' },
    13: { environ: old, words: '' },
    14: { environ: `${lifeKey}=${life}\0`, words: 'lvm\0lvs\0' },
    15: { environ: 'PATH=/bin\0', words: 'lvm\0lvs\0' },
  });
  const found = await findStrays({ directory, patience: new Patience(), timeoutMs: 5_000 });
  assert.deepEqual(found, ['lvm lvcreate --yes']);
});

test('a process that gives no answer counts as a stray, and hides no other for long', async (t) => {
  const directory = await processes(t, {
    11: { environ: '' },
    12: { environ: old, words: 'lvm\0lvextend\0' },
  });
  const letGo = await hang(join(directory, '11', 'environ'));
  const look = { directory, patience: new Patience(), timeoutMs: 200 };
  try {
    const startedAtMs = performance.now();
    const [first] = await findStrays(look);
    const silent = `process 11: ${directory}/11/environ gave no answer in 200 ms`;
    assert.equal(first, silent);
    assert.deepEqual(await findStrays(look), [silent, 'lvm lvextend']);
    assert.ok(performance.now() - startedAtMs < 2_000);
  } finally {
    await letGo();
  }
});

test('strays are told once, and again when they are others', async () => {
  const answers = [['a'], ['a'], [], ['a'], ['a', 'b']];
  const door = new TinyHost();
  const told: (readonly string[])[] = [];
  door.strays = () => Promise.resolve(answers.shift() ?? []);
  const host = withToldStrays(door, (strays) => told.push(strays));
  const found: (readonly string[])[] = [];
  for (let nth = 0; nth < 6; nth += 1) found.push(await host.strays());
  assert.deepEqual(found, [['a'], ['a'], [], ['a'], ['a', 'b'], []]);
  assert.deepEqual(told, [['a'], ['a'], ['a', 'b']]);
});
