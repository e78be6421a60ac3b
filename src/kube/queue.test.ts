import assert from 'node:assert/strict';
import test from 'node:test';
import { Chance } from '../../test/world/chance.ts';
import { FakeClock } from '../../test/world/clock.ts';
import { type Again, WorkQueue } from './queue.ts';

class Scene {
  readonly clock = new FakeClock(new Chance(1));
  readonly began: string[] = [];
  readonly waits: number[] = [];
  readonly stop = new AbortController();
  readonly #ends = new Map<string, (value: Again) => void>();
  readonly #fails = new Map<string, (error: Error) => void>();
  readonly queue: WorkQueue;
  readonly ended: Promise<void>;

  constructor(workers = 2) {
    this.queue = new WorkQueue({
      ...{ clock: this.clock, chance: () => 1, workers, firstWaitMs: 1_000, longestWaitMs: 5_000 },
      work: (key) => {
        this.began.push(key);
        return new Promise<Again>((resolve, reject) => {
          this.#ends.set(key, resolve);
          this.#fails.set(key, reject);
        });
      },
      trouble: (_key, error, waitMs) => {
        if ((error as Error).message === 'a bug') throw error;
        this.waits.push(waitMs);
      },
    });
    this.ended = this.queue.run(this.stop.signal);
  }

  async end(key: string, again?: Again): Promise<void> {
    this.#ends.get(key)?.(again);
    await this.clock.advance(0);
  }

  async fail(key: string, message = 'trouble'): Promise<void> {
    this.#fails.get(key)?.(new Error(message));
    await this.clock.advance(0);
  }
}

test('keys are worked on side by side, one key never twice at once', async () => {
  const { queue, began, clock } = new Scene();
  for (const key of ['a', 'b', 'c', 'a']) queue.add(key);
  await clock.advance(0);
  assert.deepEqual(began, ['a', 'b']);
  assert.equal(queue.length, 1);
});

test('what is added while it is worked on comes round once more', async () => {
  const scene = new Scene();
  scene.queue.add('a');
  scene.queue.add('a');
  scene.queue.add('a');
  await scene.end('a');
  assert.deepEqual(scene.began, ['a', 'a']);
  await scene.end('a');
  assert.deepEqual(scene.began, ['a', 'a']);
});

test('what fails is tried again, later and later, and what worked starts anew', async () => {
  const scene = new Scene();
  scene.queue.add('a');
  for (const waitMs of [1_000, 2_000, 4_000, 5_000]) {
    await scene.fail('a');
    assert.equal(scene.waits.at(-1), waitMs);
    const { length } = scene.began;
    await scene.clock.advance(waitMs - 1);
    assert.equal(scene.began.length, length);
    await scene.clock.advance(1);
    assert.equal(scene.began.length, length + 1);
  }
  await scene.end('a');
  scene.queue.add('a');
  await scene.fail('a');
  assert.equal(scene.waits.at(-1), 1_000);
});

test('what changed while it failed is looked at soon, but not at once', async () => {
  const scene = new Scene();
  scene.queue.add('a');
  for (let failure = 0; failure < 3; failure += 1) {
    await scene.fail('a');
    await scene.clock.advance(10_000);
  }
  scene.queue.add('a');
  await scene.fail('a');
  const { length } = scene.began;
  await scene.clock.advance(999);
  assert.equal(scene.began.length, length);
  await scene.clock.advance(1);
  assert.equal(scene.began.length, length + 1);
});

test('who wants to be looked at later is, and a change comes first', async () => {
  const scene = new Scene();
  scene.queue.add('a');
  await scene.end('a', { afterMs: 60_000 });
  await scene.clock.advance(30_000);
  scene.queue.add('a');
  await scene.end('a');
  assert.equal(scene.began.length, 2);
  await scene.clock.advance(60_000);
  assert.equal(scene.began.length, 2, 'the wait was over with the change');
});

test('a queue that is stopped begins nothing, and waits for what is under way', async () => {
  const scene = new Scene(1);
  scene.queue.add('a');
  scene.queue.add('b');
  scene.stop.abort();
  let isOver = false;
  const over = scene.ended.then(() => {
    isOver = true;
  });
  await scene.clock.advance(100_000);
  assert.equal(isOver, false);
  await scene.end('a');
  await over;
  assert.deepEqual(scene.began, ['a']);
});

test('a bug ends the queue', async () => {
  const scene = new Scene();
  scene.queue.add('a');
  const ended = assert.rejects(scene.ended, /a bug/);
  await scene.fail('a', 'a bug');
  await ended;
});
