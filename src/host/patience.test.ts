import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../base/limits.ts';
import { realHost } from './host.ts';
import { Patience } from './patience.ts';

type After = { after(work: () => void): void };

/** Like a dead device: whoever opens it waits. The test ends that by opening the other end. */
function deadFile(t: After): { readonly path: string; release(): void } {
  const directory = mkdtempSync(join(tmpdir(), 'quarry-patience-'));
  const path = join(directory, 'fifo');
  execFileSync('mkfifo', [path]);
  let end: number | undefined;
  t.after(() => {
    if (end !== undefined) closeSync(end);
    rmSync(directory, { recursive: true });
  });
  const release = () => {
    end = openSync(path, constants.O_RDWR);
  };
  return { path, release };
}

test('what hangs on one dead device takes one thread, and everything else goes on', async (t) => {
  const host = realHost({ prefix: [], path: '' });
  const dead = deadFile(t);
  const range = { offset: 0, length: 10 };
  const hanging = [
    ...Array.from({ length: 40 }, () => host.readBytes(dead.path, range)),
    host.flush([dead.path]),
    host.exclusiveOpen(dead.path),
  ];
  const ends = Promise.allSettled(hanging);
  const read = host.readText('/proc/self/mountinfo').then(() => 'read');
  assert.equal(
    await Promise.race([read, sleep(5_000, undefined, { ref: false }).then(() => 'it hangs')]),
    'read',
  );
  dead.release();
  await ends;
});

test('who comes later waits no longer than the first one, and is refused at once then', async (t) => {
  const patience = new Patience();
  const dead = deadFile(t);
  const open = () => realHost({ prefix: [], path: '' }).readText(dead.path);
  const late = { code: 'CommandTimedOut', message: /fifo gave no answer in 300 ms/ };
  const startedMs = performance.now();
  const first = patience.run(dead.path, 300, open);
  await sleep(100);
  const second = patience.run(dead.path, 60_000, open);
  await Promise.all([assert.rejects(first, late), assert.rejects(second, late)]);
  await assert.rejects(patience.run(dead.path, 60_000, open), late);
  assert.ok(performance.now() - startedMs < 5_000);
  assert.equal(await patience.run('another', 300, () => Promise.resolve('well')), 'well');
  dead.release();
});

test('a path that answers again is asked again, by one after another', async () => {
  const patience = new Patience();
  let running = 0;
  let runningMax = 0;
  let end: () => void = () => undefined;
  const hung = patience.run('p', 20, () => new Promise<void>((resolve) => (end = resolve)));
  await assert.rejects(hung, { code: 'CommandTimedOut' });
  end();
  await sleep(1);
  const work = async (): Promise<void> => {
    running += 1;
    runningMax = Math.max(runningMax, running);
    await sleep(1);
    running -= 1;
  };
  await Promise.all(Array.from({ length: 10 }, () => patience.run('p', 5_000, work)));
  assert.equal(runningMax, 1);
  await assert.rejects(
    patience.run('p', 5_000, () => Promise.reject(new Error('as it is'))),
    /as it is/,
  );
});

test('a flush that does not end is the failure of its device', async (t) => {
  const dead = deadFile(t);
  const host = realHost({ prefix: [], path: '', flushTimeoutMs: 50 });
  await assert.rejects(host.flush([dead.path]), { code: 'DeviceFailed', message: /fifo.*50 ms/ });
  dead.release();
});

test('the program starts with the threads it needs, from its sources too', () => {
  const launcher = readFileSync(join(import.meta.dirname, '../../bin/quarry'), 'utf8');
  assert.match(launcher, new RegExp(`UV_THREADPOOL_SIZE:-${limits.fileThreads}\\b`));
});
