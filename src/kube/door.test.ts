import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { backoffMs } from './backoff.ts';
import { leaseClock } from './clock.ts';
import { errorOfConnection, errorOfStatus, type KubeCode, retryAfterMsOf } from './errors.ts';
import {
  compareVersions,
  decodeObject,
  type Kind,
  type KubeObject,
  metadataShape,
  pathOf,
} from './kind.ts';
import { Limiter } from './limiter.ts';
import { kubeLimits } from './limits.ts';
import { linesOf } from './lines.ts';
import { pointer } from './patch.ts';
import type { Clock } from './ports.ts';

type Thing = KubeObject & {
  readonly spec?: { readonly parts?: readonly { readonly id: string }[] };
};

const thing: Kind<Thing> = {
  ...{ group: 'a.b', version: 'v2', kind: 'Thing', plural: 'things', isNamespaced: true },
  shape: { metadata: metadataShape, spec: { parts: [{ id: true }] } },
};

test('paths: kinds, namespaces, names, subresources', () => {
  assert.equal(pathOf(thing, {}), '/apis/a.b/v2/things');
  const place = { namespace: 'ns', name: 'x', subresource: 'status' };
  assert.equal(pathOf(thing, place), '/apis/a.b/v2/namespaces/ns/things/x/status');
  const core = { ...thing, group: '', version: 'v1', isNamespaced: false, plural: 'nodes' };
  assert.equal(pathOf(core, { namespace: 'ns', name: 'a/b' }), '/api/v1/nodes/a%2Fb');
});

test('only what somebody reads is kept, in lists too', () => {
  const metadata = { name: 'x', uid: 'u', resourceVersion: '1', managedFields: [{ big: true }] };
  const spec = { parts: [{ id: 'p', more: 1 }], other: {} };
  const kept = decodeObject(thing, { apiVersion: 'a.b/v2', metadata, spec, status: {} });
  assert.deepEqual(kept, {
    metadata: { name: 'x', uid: 'u', resourceVersion: '1' },
    spec: { parts: [{ id: 'p' }] },
  });
});

test('a shape that forgets a field of its type does not compile', () => {
  // @ts-expect-error: parts are missing
  const forgetful: Kind<Thing> = { ...thing, shape: { metadata: metadataShape, spec: {} } };
  assert.equal(forgetful.kind, 'Thing');
});

test('of annotations those that a kind names are kept', () => {
  const lean: Kind<KubeObject> = {
    ...{ group: 'a.b', version: 'v2', kind: 'Thing', plural: 'things', isNamespaced: true },
    shape: { metadata: { ...metadataShape, annotations: { 'a/b': true } } },
  };
  const metadata = { name: 'x', uid: 'u', resourceVersion: '1' };
  const annotations = { 'a/b': 'read', 'kubectl/last-applied': 'long' };
  const kept = decodeObject(lean, { metadata: { ...metadata, annotations } });
  assert.deepEqual(kept.metadata.annotations, { 'a/b': 'read' });
});

test('what two objects have in common is kept once', () => {
  const decode = (name: string, finalizers: readonly string[]) => {
    const metadata = { name, uid: name, resourceVersion: '1', finalizers, labels: { a: 'b' } };
    return decodeObject(thing, { metadata, spec: { parts: [{ id: 'p' }] } }).metadata;
  };
  const one = decode('x', ['a', 'b']);
  const other = decode('y', ['a', 'b']);
  assert.equal(other.finalizers, one.finalizers);
  assert.equal(other.labels, one.labels);
  const third = decode('z', ['a']);
  assert.deepEqual([one.finalizers, third.finalizers], [['a', 'b'], ['a']]);
});

test('an object is the same whatever was decoded before it, and stays so', () => {
  const kind = (): Kind<Thing & { readonly any: unknown }> =>
    ({ ...thing, shape: { ...(thing.shape as object), any: true } }) as never;
  const tree = fc.jsonValue({ maxDepth: 3 }).map((any) => JSON.stringify(any));
  fc.assert(
    fc.property(fc.array(tree, { maxLength: 6 }), (texts) => {
      const common = kind();
      const metadata = { name: 'x', uid: 'u', resourceVersion: '1' };
      const value = (text: string) => ({ metadata, any: JSON.parse(text) as unknown });
      const together = texts.map((text) => decodeObject(common, value(text)));
      const alone = texts.map((text) => decodeObject(kind(), value(text)));
      assert.deepEqual(together, alone);
    }),
  );
});

for (const value of [null, 7, {}, { metadata: {} }, { metadata: { name: 'x', uid: 'u' } }]) {
  test(`${JSON.stringify(value)} is no object`, () => {
    assert.throws(() => decodeObject(thing, value), { code: 'Unreadable' });
  });
}

const statuses: readonly (readonly [http: number, status: object | undefined, code: KubeCode])[] = [
  [404, { details: { name: 'x' } }, 'NotFound'],
  [404, { details: {} }, 'KindMissing'],
  [404, undefined, 'KindMissing'],
  [405, undefined, 'KindMissing'],
  [409, { reason: 'AlreadyExists' }, 'AlreadyExists'],
  [409, { reason: 'Conflict' }, 'Conflict'],
  [410, { reason: 'Expired' }, 'Gone'],
  [504, { details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } }, 'Gone'],
  [504, undefined, 'Timeout'],
  [400, undefined, 'Invalid'],
  [422, undefined, 'Invalid'],
  [413, undefined, 'TooLarge'],
  [401, undefined, 'Unauthorized'],
  [403, undefined, 'Forbidden'],
  [429, undefined, 'TooManyRequests'],
  [500, undefined, 'ServerFailed'],
  [503, undefined, 'ServerFailed'],
  [302, undefined, 'ServerFailed'],
];

for (const [httpStatus, status, code] of statuses) {
  test(`${httpStatus} ${JSON.stringify(status) ?? ''} is ${code}`, () => {
    assert.equal(errorOfStatus('GET /x', { httpStatus }, status).code, code);
  });
}

test('what the network says is Unreachable, what TLS says is Untrusted', () => {
  const says = (code: string) =>
    errorOfConnection('x', Object.assign(new Error(code), { code }), true);
  assert.equal(says('ECONNREFUSED').code, 'Unreachable');
  assert.equal(says('CERT_HAS_EXPIRED').code, 'Untrusted');
  assert.equal(says('ERR_SSL_WRONG_VERSION_NUMBER').code, 'Untrusted');
  assert.equal(says('ECONNRESET').isUncertain, true);
});

test('patience that a server asks for has an end', () => {
  assert.equal(retryAfterMsOf('7'), 7_000);
  assert.equal(retryAfterMsOf('99999'), kubeLimits.retryAfterMsMax);
  assert.equal(retryAfterMsOf('Wed, 21 Oct 2026 07:28:00 GMT'), undefined);
  assert.equal(retryAfterMsOf(undefined), undefined);
});

test('waits grow, keep below their limit, and are not the same for all', () => {
  const fraction = fc.double({ min: 0, max: 0.999999, noNaN: true });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), fraction, (troubles, chance) => {
      const wait = backoffMs(troubles, undefined, () => chance);
      assert.ok(wait >= kubeLimits.backoffMsMin / 2 && wait <= kubeLimits.backoffMsMax);
      assert.ok(backoffMs(troubles + 1, undefined, () => chance) >= wait);
      assert.ok(backoffMs(troubles, 5_000, () => chance) >= 5_000);
    }),
  );
  assert.notEqual(
    backoffMs(3, undefined, () => 0.1),
    backoffMs(3, undefined, () => 0.9),
  );
});

test('lines come whole from any chunks, and the last one without an end is left out', async () => {
  const texts = fc.array(
    fc.string({ unit: 'binary', minLength: 1 }).map((text) => text.replaceAll('\n', '')),
  );
  await fc.assert(
    fc.asyncProperty(texts, fc.integer({ min: 1, max: 9 }), async (written, size) => {
      const bytes = Buffer.from([...written, 'cut off'].join('\n'));
      async function* chunks() {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
      }
      const found: string[] = [];
      for await (const line of linesOf(chunks(), () => undefined)) found.push(line.toString());
      assert.deepEqual(
        found,
        written.filter((text) => text !== '').map((text) => Buffer.from(text).toString()),
      );
    }),
  );
});

test('a line without end is not collected for ever', async () => {
  async function* chunks() {
    for (;;) yield Buffer.alloc(1024 * 1024, 0x20);
  }
  const read = async () => {
    for await (const line of linesOf(chunks(), () => undefined)) assert.fail(String(line.length));
  };
  await assert.rejects(read(), { code: 'TooLarge' });
});

test('versions are compared as numbers of any length, or not at all', () => {
  assert.equal(compareVersions('9', '10'), -1);
  assert.equal(compareVersions('90071992547409931', '90071992547409930'), 1);
  assert.equal(compareVersions('7', '7'), 0);
  assert.equal(compareVersions('x', '7'), undefined);
});

test('keys in a pointer are escaped', () => {
  assert.equal(pointer('metadata', 'labels', 'a/b~c', 0), '/metadata/labels/a~1b~0c/0');
});

test('a burst goes at once, the rest at the rate, in order', async () => {
  let nowMs = 0;
  const waits: number[] = [];
  const clock: Clock = {
    nowMs: () => nowMs,
    sleep: async (ms) => {
      waits.push(Math.round(ms));
    },
  };
  const limiter = new Limiter({ perSecond: 10, atOnce: 3 }, clock);
  for (let index = 0; index < 5; index += 1) await limiter.take();
  assert.deepEqual(waits, [100, 200]);
  nowMs = 100_000;
  for (let index = 0; index < 4; index += 1) await limiter.take();
  assert.deepEqual(waits, [100, 200, 100]);
  const left = AbortSignal.abort();
  await assert.rejects(limiter.take(left), { code: 'Cancelled' });
});

test('the clock of leases goes on while the machine sleeps, and never back', () => {
  let processMs = 5_000;
  let bootMs = 900_000;
  const base = { nowMs: () => processMs, sleep: async () => undefined };
  const clock = leaseClock(base, () => bootMs);
  processMs += 100;
  assert.equal(clock.nowMs(), 100);
  bootMs += 30_000;
  assert.equal(clock.nowMs(), 30_000);
  assert.ok(leaseClock(base).nowMs() >= 0);
});
