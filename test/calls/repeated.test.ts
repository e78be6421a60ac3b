import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { learn, repeat } from './fates.ts';
import type { Answer } from './protocol.ts';
import {
  createSnapshot,
  createVolume,
  deleteSnapshot,
  deleteVolume,
  expandVolume,
  nodeExpand,
  publish,
  type Request,
  unpublish,
} from './requests.ts';
import { path, type Scenario, scenarios } from './scenarios.ts';
import { RpcStage, steady } from './stage.ts';

const nothing: Pick<Scenario, 'name' | 'before' | 'ask'> = {
  ...{ name: 'nothing', before: [] },
  ask: unpublish('v', path),
};

describe('calls repeated, cancelled and out of order, on real LVM', { timeout: 1_200_000 }, () => {
  let stage: RpcStage;
  let cancelled = 0;

  before(async () => {
    stage = await RpcStage.open();
  });

  after(async () => {
    await stage?.lab.stop();
  });

  for (const scenario of scenarios) {
    test(`${scenario.name} comes out right, twice at once and cancelled half-way`, async (t) => {
      const reference = await learn(stage, scenario);
      await stage.before(scenario);
      const [one, other] = await Promise.all([stage.ask(scenario.ask), stage.ask(scenario.ask)]);
      assert.deepEqual([one.code, other.code], ['OK', 'OK'], `${one.message} ${other.message}`);
      assert.deepEqual(steady(one.response), steady(other.response), 'both get one answer');
      await repeat(stage, scenario, reference, `${scenario.name}, twice`, { told: one });

      await stage.before(scenario);
      const cut = await stage.ask(scenario.ask, reference.ms / 2);
      if (cut.code !== 'OK') assert.equal(cut.code, 'CANCELLED', cut.message);
      if (cut.code !== 'OK') cancelled += 1;
      await repeat(stage, scenario, reference, `${scenario.name}, cancelled`, { told: cut });
      t.diagnostic(`${cancelled} calls cancelled so far`);
    });
  }

  test('a volume is taken away while it is still being published', async () => {
    for (const delayMs of [0, 100, 300]) {
      await stage.must(createVolume('v', { className: 'thick', mib: 64, access: 'ext4' }));
      const answers = await inTurn([publish('v', path, 'ext4'), unpublish('v', path)], delayMs);
      assert.deepEqual(codesOf(answers), ['OK', 'OK'], messagesOf(answers));
      assert.deepEqual((await stage.books()).shown, []);
      await stage.must(publish('v', path, 'ext4'));
      await end({ volumes: ['v'], shown: { name: 'v', access: 'ext4' }, isNew: true });
    }
  });

  test('a volume is published again while it is being taken away', async () => {
    for (const access of ['ext4', 'block'] as const) {
      const name = access === 'ext4' ? 'keep-ext4' : 'keep-thick';
      await stage.must(publish(name, path, access));
      const answers = await inTurn([unpublish(name, path), publish(name, path, access)], 30);
      assert.deepEqual(codesOf(answers), ['OK', 'OK'], messagesOf(answers));
      await end({ shown: { name, access }, content: { of: name, in: name } });
    }
  });

  test('a volume grows while it is being published', async () => {
    for (const delayMs of [0, 200]) {
      await stage.must(createVolume('v', { className: 'thin', mib: 64, access: 'ext4' }));
      const requests = [publish('v', path, 'ext4'), expandVolume('v', 256)];
      const answers = await inTurn(requests, delayMs);
      assert.deepEqual(codesOf(answers), ['OK', 'OK'], messagesOf(answers));
      await stage.must(nodeExpand('v', path));
      const mib = Number(
        await stage.guest.sh(`df --output=size --block-size=1M ${path} | tail -1`),
      );
      assert.ok(mib > 200, `the file system has ${mib} MiB`);
      await end({ volumes: ['v'], shown: { name: 'v', access: 'ext4' }, isNew: true });
    }
  });

  test('a volume is not deleted while it is shown', async () => {
    for (const access of ['ext4', 'block'] as const) {
      await stage.must(createVolume('v', { className: 'thick', mib: 64, access }));
      await stage.must(publish('v', path, access));
      assert.equal((await stage.ask(deleteVolume('v'))).code, 'FAILED_PRECONDITION');
      await end({ volumes: ['v'], shown: { name: 'v', access }, isNew: true });
    }
  });

  test('of a publish and a deletion at once one wins', async () => {
    for (const delayMs of [0, 50, 150]) {
      await stage.must(createVolume('v', { className: 'thick', mib: 64, access: 'ext4' }));
      const answers = await inTurn([publish('v', path, 'ext4'), deleteVolume('v')], delayMs);
      const [published, deleted] = codesOf(answers);
      if (published === 'OK') {
        assert.equal(deleted, 'FAILED_PRECONDITION', messagesOf(answers));
        await end({ volumes: ['v'], shown: { name: 'v', access: 'ext4' }, isNew: true });
      } else {
        assert.deepEqual([published, deleted], ['NOT_FOUND', 'OK'], messagesOf(answers));
        await end({});
      }
    }
  });

  test('a volume is deleted while it is asked for again by its name', async () => {
    for (const delayMs of [0, 30]) {
      const request = createVolume('v', { className: 'thick' });
      await stage.must(request);
      const answers = await inTurn([deleteVolume('v'), request], delayMs);
      assert.deepEqual(codesOf(answers), ['OK', 'OK'], messagesOf(answers));
      await stage.must(request);
      await end({ volumes: ['v'], pending: ['v'] });
    }
  });

  test('a snapshot is deleted while a volume is made from it', async (t) => {
    for (const className of ['thick', 'thin'] as const) {
      for (const delayMs of [0, 200, 500]) {
        await stage.must(createSnapshot('s', `keep-${className}`));
        const restore = createVolume('v', { className, snapshot: 's' });
        const answers = await inTurn([restore, deleteSnapshot('s')], delayMs);
        t.diagnostic(`${className}, ${delayMs} ms: ${codesOf(answers).join(', ')}`);
        await settleSource({ answers, restore, content: `keep-${className}`, source: 's' });
      }
    }
  });

  test('a volume is deleted while another is made from it', async (t) => {
    for (const className of ['thick', 'thin'] as const) {
      for (const delayMs of [0, 200, 500]) {
        await stage.must(createVolume('s', { className, volume: `keep-${className}` }));
        const clone = createVolume('v', { className, volume: 's' });
        const answers = await inTurn([clone, deleteVolume('s')], delayMs);
        t.diagnostic(`${className}, ${delayMs} ms: ${codesOf(answers).join(', ')}`);
        await settleSource({ answers, restore: clone, content: `keep-${className}`, source: 's' });
      }
    }
  });

  /** Either the copy is complete, or there is none; then its source goes, if it is still there. */
  async function settleSource(what: {
    readonly answers: readonly Answer[];
    readonly restore: Request;
    readonly content: string;
    readonly source: string;
  }): Promise<void> {
    const { answers, restore, source } = what;
    const [copied = '', deleted = ''] = codesOf(answers);
    assert.ok(['OK', 'FAILED_PRECONDITION'].includes(deleted), messagesOf(answers));
    const isSnapshot = (await stage.books()).snapshots.includes(source);
    await stage.must(isSnapshot ? deleteSnapshot(source) : deleteVolume(source));
    if (copied === 'OK') {
      await stage.must(restore);
      await end({ volumes: ['v'], content: { of: what.content, in: 'v' } });
    } else {
      assert.deepEqual([copied, deleted], ['NOT_FOUND', 'OK'], messagesOf(answers));
      await end({});
    }
  }

  /** One call, and the next one so much later, whether the first has ended or not. */
  async function inTurn(requests: readonly Request[], delayMs: number): Promise<readonly Answer[]> {
    const answers: Promise<Answer>[] = [];
    for (const request of requests) {
      if (answers.length > 0) await sleep(delayMs);
      answers.push(stage.ask(request));
    }
    const ended = await Promise.all(answers);
    for (const [index, request] of requests.entries()) {
      if (ended[index]?.code === 'OK') stage.learn(request, ended[index]?.response);
    }
    return ended;
  }

  async function end(expected: Partial<Scenario>): Promise<void> {
    const scenario = { ...nothing, ...expected };
    await stage.check(scenario, 'in the end');
    await stage.cleanUp(scenario, 'in the end');
  }
});

function codesOf(answers: readonly Answer[]): readonly string[] {
  return answers.map(({ code }) => code);
}

function messagesOf(answers: readonly Answer[]): string {
  return answers.map(({ code, message }) => `${code} ${message}`).join('; ');
}
