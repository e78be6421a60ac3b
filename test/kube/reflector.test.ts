import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { realClock } from '../../src/host/clock.ts';
import { Reflector, type ReflectorParts } from '../../src/kube/reflector.ts';
import type { Change } from '../../src/kube/store.ts';
import { goneStatus } from './fake-api.ts';
import { type Sample, sample, sampleKind, samples } from './kinds.ts';
import { hastyClock, onStage, type Scene, until } from './scene.ts';

/** The faults that watches meet, over real connections. Each ends with a store like the server's. */
type Watching = Scene & {
  readonly reflector: Reflector<Sample>;
  readonly told: string[];
  readonly troubles: string[];
};

async function watching(
  story: (scene: Watching) => Promise<void>,
  options: Partial<ReflectorParts<Sample>> & { readonly before?: (scene: Scene) => void } = {},
): Promise<void> {
  await onStage(async (scene) => {
    const { before, ...parts } = options;
    scene.server.api.put(samples, sample('a'));
    scene.server.api.put(samples, sample('b'));
    before?.(scene);
    const told: string[] = [];
    const troubles: string[] = [];
    const changed = ({ type, object }: Change<Sample>) =>
      told.push(`${type} ${object.metadata.name}`);
    const trouble = (error: Error) => troubles.push((error as Error & { code: string }).code);
    const reflector = new Reflector<Sample>({
      ...{ client: scene.client, kind: sampleKind, scopes: [{}], clock: hastyClock },
      ...{ chance: () => 0.5, changed, trouble, ...parts },
    });
    const stop = new AbortController();
    const running = reflector.run(stop.signal);
    try {
      await reflector.synced;
      await until('a watch', () => scene.server.api.watching > 0);
      await story({ ...scene, reflector, told, troubles });
    } finally {
      stop.abort();
      await running;
    }
  });
}

/** Equal to the server, name by name and version by version. */
async function converges({ server, reflector }: Watching): Promise<void> {
  const theirs = () =>
    server.api.all(samples).map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
  const ours = () =>
    [...reflector.values()].map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
  const sorted = (texts: readonly string[]) => texts.toSorted().join(', ');
  await until('the store is like the server', () => sorted(ours()) === sorted(theirs()));
}

const lists = ({ server }: Scene) =>
  server.api.requests.filter(({ method, url }) => method === 'GET' && !url.includes('watch='))
    .length;
const watches = ({ server }: Scene) =>
  server.api.requests.filter(({ url }) => url.includes('watch=')).map(({ url }) => url);
const versionOf = (url: string | undefined) => /resourceVersion=(\d+)/.exec(url ?? '')?.[1];

test('changes are told once, in order', async () => {
  await watching(async (scene) => {
    const { server, told } = scene;
    server.api.put(samples, sample('a', { text: '2' }));
    server.api.put(samples, sample('c'));
    server.api.delete(samples, 'b', 'ns');
    await converges(scene);
    assert.deepEqual(told, ['added a', 'added b', 'modified a', 'added c', 'deleted b']);
    assert.equal(scene.reflector.get({ namespace: 'ns', name: 'a' })?.spec.text, '2');
  });
});

test('the server ends the watch: it goes on where it was, without a list', async () => {
  await watching(async (scene) => {
    const { server, told } = scene;
    server.api.put(samples, sample('c'));
    await converges(scene);
    const reached = server.api.version;
    server.api.endWatches();
    server.api.put(samples, sample('d'));
    await converges(scene);
    assert.deepEqual(told, ['added a', 'added b', 'added c', 'added d']);
    assert.equal(lists(scene), 1);
    assert.equal(versionOf(watches(scene).at(-1)), reached);
  });
});

for (const inStream of [true, false]) {
  const where = inStream ? 'in the stream' : 'as an answer';
  test(`410 ${where}: another list, and what was deleted meanwhile is told`, async () => {
    await watching(async (scene) => {
      const { server, told } = scene;
      server.api.goneInStream = inStream;
      server.api.endWatches();
      server.api.delete(samples, 'a', 'ns');
      server.api.put(samples, sample('c'));
      server.api.compact();
      await converges(scene);
      assert.deepEqual(told.toSorted(), ['added a', 'added b', 'added c', 'deleted a']);
      assert.equal(scene.troubles.filter((code) => code === 'Gone').length, 1);
      assert.equal(lists(scene), 2);
      server.api.put(samples, sample('d'));
      await converges(scene);
      assert.equal(server.api.watching, 1);
    });
  });
}

test('410, and then the list fails, too: deletions are told when it works', async () => {
  await watching(async (scene) => {
    const { server, told } = scene;
    server.mishaps.push({ kind: 'status', status: 500 }, { kind: 'status', status: 503 });
    server.api.endWatches();
    server.api.delete(samples, 'a', 'ns');
    server.api.compact();
    await converges(scene);
    assert.deepEqual(told, ['added a', 'added b', 'deleted a']);
    assert.deepEqual(server.mishaps, []);
  });
});

test('410 in a watch that was well: one new watch, and no event twice', async () => {
  await watching(async (scene) => {
    const { server, told } = scene;
    server.api.failWatches(goneStatus);
    await until('a new watch', () => server.api.watching === 1);
    server.api.put(samples, sample('c'));
    await converges(scene);
    assert.deepEqual(told, ['added a', 'added b', 'added c']);
    assert.equal(server.api.watching, 1);
  });
});

test('a name that was deleted and made again while nobody looked is a new object', async () => {
  await watching(async (scene) => {
    const { server, told } = scene;
    server.api.endWatches();
    server.api.delete(samples, 'a', 'ns');
    server.api.put(samples, sample('a'));
    server.api.compact();
    await converges(scene);
    assert.deepEqual(told, ['added a', 'added b', 'deleted a', 'added a']);
  });
});

test('a connection that is reset is made again', async () => {
  await watching(async (scene) => {
    scene.server.resetAll();
    scene.server.api.put(samples, sample('c'));
    await converges(scene);
    assert.deepEqual(scene.told, ['added a', 'added b', 'added c']);
    assert.equal(lists(scene), 1);
  });
});

test('500 four times, then 429 with Retry-After: waits grow, and the time asked for is kept', async () => {
  const waits: number[] = [];
  const trouble = (_error: Error, waitMs: number) => waits.push(waitMs);
  await watching(
    async (scene) => {
      for (let index = 0; index < 4; index += 1) {
        scene.server.watchMishaps.push({ kind: 'status', status: 500 });
      }
      scene.server.watchMishaps.push({ kind: 'status', status: 429, retryAfter: '20' });
      scene.server.api.endWatches();
      scene.server.api.put(samples, sample('c'));
      await converges(scene);
      const [ended, ...rest] = waits.length === 6 ? waits : [0, ...waits];
      assert.ok(ended !== undefined);
      assert.equal(rest.length, 5);
      for (const [index, wait] of rest.entries())
        assert.ok(wait > (rest[index - 1] ?? 0), waits.join(' '));
      assert.ok((rest.at(-1) ?? 0) >= 20_000);
    },
    { trouble },
  );
});

test('a list that fails is tried again, and nothing is synced before', async () => {
  await watching(
    async (scene) => {
      assert.deepEqual(scene.troubles, ['ServerFailed', 'Unreachable']);
      await converges(scene);
    },
    {
      before: ({ server }) =>
        server.mishaps.push(
          { kind: 'status', status: 503 },
          { kind: 'reset', isCarriedOut: false },
          { kind: 'reset', isCarriedOut: false },
        ),
    },
  );
});

test('a connection that went silent is given up', async () => {
  await watching(
    async (scene) => {
      scene.server.isFrozen = true;
      scene.server.api.put(samples, sample('c'));
      await sleep(30);
      assert.equal(scene.reflector.size, 2);
      await until('silence was noticed', () => scene.troubles.includes('Timeout'));
      scene.server.isFrozen = false;
      await converges(scene);
      assert.equal(lists(scene), 1);
    },
    { idleMs: 100 },
  );
});

test('a watch on which something comes again and again is left alone', async () => {
  await watching(
    async (scene) => {
      for (let index = 0; index < 10; index += 1) {
        scene.server.api.bookmark();
        await sleep(50);
      }
      assert.deepEqual(scene.troubles, []);
      assert.equal(watches(scene).length, 1);
    },
    { idleMs: 300 },
  );
});

test('a server that ends every watch at once is not asked again and again', async () => {
  const waits: number[] = [];
  await watching(
    async (scene) => {
      for (let index = 0; index < 5; index += 1) {
        scene.server.watchMishaps.push({ kind: 'text', status: 200, text: '' });
      }
      scene.server.api.endWatches();
      scene.server.api.put(samples, sample('c'));
      await converges(scene);
      assert.ok(waits.length >= 4, waits.join(' '));
      assert.ok((waits.at(-1) ?? 0) > 4_000, waits.join(' '));
    },
    {
      clock: { nowMs: realClock.nowMs, sleep: hastyClock.sleep },
      trouble: (_error, waitMs) => waits.push(waitMs),
    },
  );
});

test('trouble that is over does not make the next one longer', async () => {
  const waits: number[] = [];
  await watching(
    async (scene) => {
      const fail = () => scene.server.watchMishaps.push({ kind: 'status', status: 500 });
      for (let index = 0; index < 4; index += 1) fail();
      scene.server.api.endWatches();
      scene.server.api.put(samples, sample('c'));
      await converges(scene);
      const before = waits.length;
      fail();
      scene.server.api.endWatches();
      scene.server.api.put(samples, sample('d'));
      await converges(scene);
      assert.ok((waits[before] ?? Number.NaN) <= 800, waits.join(' '));
    },
    { trouble: (_error, waitMs) => waits.push(waitMs) },
  );
});

test('a server that takes a watch and never answers is given up', async () => {
  await watching(
    async (scene) => {
      scene.server.watchMishaps.push({ kind: 'silence' });
      scene.server.api.endWatches();
      scene.server.api.put(samples, sample('c'));
      await converges(scene);
      assert.ok(scene.troubles.includes('Timeout'));
    },
    { idleMs: 100 },
  );
});

test('letters and events come whole, whatever the pieces they are sent in', async () => {
  await watching(
    async (scene) => {
      const text = 'größer als 10 € – 日本語 🪨';
      for (let index = 0; index < 20; index += 1) {
        scene.server.api.put(samples, sample('c', { text: `${text}${index}` }));
      }
      await converges(scene);
      assert.equal(scene.reflector.get({ namespace: 'ns', name: 'c' })?.spec.text, `${text}19`);
      assert.equal(scene.told.filter((line) => line.endsWith(' c')).length, 20);
      assert.deepEqual(scene.troubles, []);
    },
    {
      before: ({ server }) => {
        server.pieceBytes = 7;
      },
    },
  );
});

test('bookmarks carry a quiet kind over a compaction', async () => {
  await watching(async (scene) => {
    const { server } = scene;
    for (let index = 0; index < 50; index += 1) server.api.tick();
    const before = scene.reflector.heardAtMs ?? 0;
    server.api.bookmark();
    server.api.compact();
    await until('the bookmark came', () => (scene.reflector.heardAtMs ?? 0) > before);
    server.api.endWatches();
    server.api.put(samples, sample('c'));
    await converges(scene);
    assert.equal(lists(scene), 1);
    assert.ok(watches(scene).every((url) => url.includes('allowWatchBookmarks=true')));
  });
});

for (const lists of ['newest', 'cached'] as const) {
  test(`a restored backup, ${lists} lists: the past becomes the present`, async () => {
    await watching(
      async (scene) => {
        const { server } = scene;
        const old = server.api.all(samples).slice(0, 1);
        const before = Number(server.api.version);
        for (let index = 0; index < 30; index += 1) server.api.put(samples, sample(`n${index}`));
        await converges(scene);
        server.api.restore(before, samples, old);
        await converges(scene);
        assert.equal(scene.reflector.size, 1);
        server.api.put(samples, sample('after'));
        await converges(scene);
      },
      { lists },
    );
  });
}

test('a restored backup whose server says nothing of versions to come is listed', async () => {
  await watching(
    async (scene) => {
      const { server } = scene;
      const old = server.api.all(samples).slice(0, 1);
      const before = Number(server.api.version);
      for (let index = 0; index < 30; index += 1) server.api.put(samples, sample(`n${index}`));
      await converges(scene);
      server.api.isSilentAhead = true;
      server.api.restore(before, samples, old);
      await converges(scene);
      assert.equal(scene.reflector.size, 1);
      server.api.put(samples, sample('after'));
      await converges(scene);
    },
    { idleMs: 200 },
  );
});

test('a server that cannot select by the field is asked by label', async () => {
  const scopes = [{ fieldSelector: 'spec.nodeName=n1' }, { labelSelector: 'node=n1' }] as const;
  const labelled = {
    ...sample('mine'),
    metadata: { name: 'mine', namespace: 'ns', labels: { node: 'n1' } },
  };
  await watching(
    async ({ reflector, server }) => {
      assert.deepEqual(
        [...reflector.values()].map(({ metadata }) => metadata.name),
        ['mine'],
      );
      server.api.put(samples, sample('other', { nodeName: 'n2' }));
      server.api.put(samples, { ...labelled, metadata: { ...labelled.metadata, name: 'mine-2' } });
      await until('mine-2', () => reflector.size === 2);
    },
    { scopes, lists: 'cached', before: ({ server }) => void server.api.put(samples, labelled) },
  );
});

test('an agent sees its own objects and no others, also when they move', async () => {
  const scopes = [{ fieldSelector: 'spec.nodeName=n1' }] as const;
  await watching(
    async ({ reflector, server, told }) => {
      server.api.put(samples, sample('c', { nodeName: 'n2' }));
      server.api.put(samples, sample('a', { nodeName: 'n2' }));
      server.api.put(samples, sample('d'));
      await until('d', () => told.includes('added d'));
      assert.deepEqual(told, ['added a', 'added b', 'deleted a', 'added d']);
      assert.equal(reflector.size, 2);
    },
    {
      scopes,
      lists: 'cached',
      before: ({ server }) => void server.api.selectable.add('spec.nodeName'),
    },
  );
});

test('our own write is seen at once, and told once', async () => {
  await watching(async (scene) => {
    const { client, reflector, server, told } = scene;
    server.isFrozen = true;
    const patch = { type: 'merge', body: { spec: { text: 'mine' } } } as const;
    const written = await client.patch(sampleKind, { namespace: 'ns', name: 'a' }, patch);
    reflector.putOwn(written);
    assert.equal(reflector.get({ namespace: 'ns', name: 'a' })?.spec.text, 'mine');
    server.isFrozen = false;
    server.api.endWatches();
    await until('a new watch', () => server.api.watching === 1);
    await converges(scene);
    assert.deepEqual(told, ['added a', 'added b', 'modified a']);
    server.api.delete(samples, 'a', 'ns');
    await converges(scene);
    reflector.putOwn(written);
    assert.equal(reflector.size, 1, 'an old answer does not bring back what was deleted');
  });
});
