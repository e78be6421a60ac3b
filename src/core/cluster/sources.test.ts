import assert from 'node:assert/strict';
import test from 'node:test';
import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { PersistentVolume } from '../../api/objects/persistent-volume.ts';
import type { VolumeSnapshot, VolumeSnapshotContent } from '../../api/objects/snapshot.ts';
import { cloneGuard, type FoundSource, snapshotGuard, sourceFor, wantedSource } from './sources.ts';

const driver = 'topolvm.io';
const going = '2026-01-01T00:00:00Z';

function meta(name: string, more: object = {}) {
  return { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: '1', ...more };
}

type Change<T> = { readonly [K in keyof T]?: object };

function changed<T extends object>(object: T, change: Change<T> = {}): T {
  const merged = Object.entries(change).map(([key, value]) => [
    key,
    { ...(object as Record<string, object>)[key], ...(value as object) },
  ]);
  return { ...object, ...Object.fromEntries(merged) };
}

const origin: PersistentVolumeClaim = {
  metadata: meta('origin'),
  spec: { volumeName: 'pv', resources: { requests: { storage: '2Gi' } } },
  status: { phase: 'Bound' },
};
const volume: PersistentVolume = {
  metadata: meta('pv'),
  spec: { claimRef: { uid: 'uid-origin' }, csi: { driver, volumeHandle: 'handle' } },
  status: { phase: 'Bound' },
};
const snapshot: VolumeSnapshot = {
  metadata: meta('snap'),
  spec: { source: {} },
  status: { boundVolumeSnapshotContentName: 'content', readyToUse: true, restoreSize: '2Gi' },
};
const content: VolumeSnapshotContent = {
  metadata: meta('content'),
  spec: {
    ...{ deletionPolicy: 'Delete', driver, source: {}, sourceVolumeMode: 'Filesystem' },
    volumeSnapshotRef: { name: 'snap', namespace: 'ns', uid: 'uid-snap' },
  },
  status: { snapshotHandle: 'snap-handle' },
};

function claim(kind: string, name: string, spec: object = {}): PersistentVolumeClaim {
  const apiGroup = kind === 'VolumeSnapshot' ? 'snapshot.storage.k8s.io' : '';
  return {
    metadata: meta('data'),
    spec: {
      resources: { requests: { storage: '2Gi' } },
      dataSource: { apiGroup, kind, name },
      ...spec,
    },
  };
}

function ask(one: PersistentVolumeClaim, found: FoundSource, isUnderWay = false) {
  const source = sourceFor({ claim: one, wanted: wantedSource(one), found, driver, isUnderWay });
  return source?.kind === 'blocked' ? `${source.code}: ${source.message}` : source;
}

function askSnapshot(
  parts: {
    readonly snapshot?: Change<VolumeSnapshot>;
    readonly content?: Change<VolumeSnapshotContent>;
  },
  spec: object = {},
) {
  return ask(claim('VolumeSnapshot', 'snap', spec), {
    ...{ kind: 'snapshot', isInstalled: true },
    snapshot: changed(snapshot, parts.snapshot),
    content: changed(content, parts.content),
  });
}

function askClaim(
  parts: {
    readonly claim?: Change<PersistentVolumeClaim>;
    readonly volume?: Change<PersistentVolume>;
  },
  spec: object = {},
  isUnderWay = false,
) {
  const found: FoundSource = {
    kind: 'claim',
    claim: changed(origin, parts.claim),
    volume: changed(volume, parts.volume),
  };
  return ask(claim('PersistentVolumeClaim', 'origin', spec), found, isUnderWay);
}

test('a snapshot that is bound both ways, ready and large enough is a source', () => {
  const handle = { kind: 'snapshot', id: 'snap-handle' };
  assert.deepEqual(askSnapshot({}), handle);
  const larger = { resources: { requests: { storage: '3Gi' } } };
  assert.deepEqual(askSnapshot({}, larger), handle);
  const guarded = { deletionTimestamp: going, finalizers: [snapshotGuard] };
  assert.deepEqual(askSnapshot({ snapshot: { metadata: guarded } }), handle);
  const annotations = { 'snapshot.storage.kubernetes.io/allow-volume-mode-change': 'true' };
  assert.deepEqual(
    askSnapshot({ content: { metadata: { annotations } } }, { volumeMode: 'Block' }),
    handle,
  );
});

test('a snapshot that is not is refused, with the reason', () => {
  const it = 'VolumeSnapshot ns/snap';
  const other = { volumeSnapshotRef: { name: 'snap', namespace: 'ns', uid: 'older' } };
  const rows: readonly (readonly [ReturnType<typeof ask>, string])[] = [
    [
      askSnapshot({ snapshot: { metadata: { deletionTimestamp: going } } }),
      `SourceUnusable: ${it} is being deleted`,
    ],
    [
      askSnapshot({ snapshot: { status: { readyToUse: false } } }),
      `SourceNotReady: ${it} is not ready to use`,
    ],
    [
      askSnapshot({ content: { spec: other } }),
      `SourceUnusable: ${it} names VolumeSnapshotContent content, which belongs to another one`,
    ],
    [
      askSnapshot({ content: { spec: { driver: 'other.io' } } }),
      `SourceUnusable: ${it} is of the driver other.io, not of topolvm.io`,
    ],
    [
      askSnapshot({}, { volumeMode: 'Block' }),
      `SourceUnusable: ${it} has the volume mode Filesystem and the claim Block`,
    ],
    [
      askSnapshot({ content: { status: { snapshotHandle: undefined } } }),
      `SourceNotReady: ${it} has no handle yet`,
    ],
    [
      askSnapshot({}, { resources: { requests: { storage: '1536Mi' } } }),
      `SourceLarger: the claim asks for 1.50 GiB, and ${it} needs 2 GiB`,
    ],
  ];
  for (const [answer, expected] of rows) assert.equal(answer, expected);
});

test('trap 21: without a size of the snapshot that of its content counts', () => {
  const status = { restoreSize: 3 * 2 ** 30 };
  const answer = askSnapshot({
    snapshot: { status: { restoreSize: undefined } },
    content: { status },
  });
  const it = 'VolumeSnapshot ns/snap';
  assert.equal(answer, `SourceLarger: the claim asks for 2 GiB, and ${it} needs 3 GiB`);
});

test('a claim that is bound both ways is a source', () => {
  const handle = { kind: 'volume', id: 'handle' };
  assert.deepEqual(askClaim({}), handle);
  const guarded = { deletionTimestamp: going, finalizers: [cloneGuard] };
  assert.deepEqual(askClaim({ claim: { metadata: guarded } }, {}, true), handle);
});

test('a claim that is not is refused, with the reason', () => {
  const it = 'PersistentVolumeClaim ns/origin';
  const guarded = { deletionTimestamp: going, finalizers: [cloneGuard] };
  const unbound = `SourceNotReady: ${it} is not bound to PersistentVolume pv and back`;
  const rows: readonly (readonly [ReturnType<typeof ask>, string])[] = [
    [askClaim({ claim: { metadata: guarded } }), `SourceUnusable: ${it} is being deleted`],
    [
      askClaim({ claim: { status: { phase: 'Lost' } } }),
      `SourceNotReady: ${it} is Lost, not Bound`,
    ],
    [askClaim({ volume: { spec: { claimRef: { uid: 'older' } } } }), unbound],
    [askClaim({ volume: { status: { phase: 'Released' } } }), unbound],
    [
      askClaim({ volume: { spec: { csi: { driver: 'other.io', volumeHandle: 'x' } } } }),
      `SourceUnusable: ${it} is of other.io, not of topolvm.io`,
    ],
    [
      askClaim({}, { volumeMode: 'Block' }),
      `SourceUnusable: ${it} has the volume mode Filesystem and the claim Block`,
    ],
    [
      askClaim({}, { resources: { requests: { storage: '1Gi' } } }),
      `SourceLarger: the claim asks for 1 GiB, and ${it} needs 2 GiB`,
    ],
    [
      ask(claim('PersistentVolumeClaim', 'origin'), { kind: 'claim', claim: undefined, volume }),
      `SourceNotReady: ${it} does not exist`,
    ],
  ];
  for (const [answer, expected] of rows) assert.equal(answer, expected);
});

test('trap 27: sizes are compared to the byte, beyond what a double holds', () => {
  const parts = {
    claim: { spec: { ...origin.spec, resources: { requests: { storage: '9007199254740993' } } } },
  };
  const less = askClaim(parts, { resources: { requests: { storage: '9007199254740992' } } });
  assert.equal(typeof less === 'string' && less.startsWith('SourceLarger'), true);
  const same = askClaim(parts, { resources: { requests: { storage: '9007199254740993' } } });
  assert.deepEqual(same, { kind: 'volume', id: 'handle' });
});

test('a source in another namespace is refused, one of another kind is left to others', () => {
  const reference = { kind: 'PersistentVolumeClaim', name: 'origin', namespace: 'theirs' };
  const wanted = wantedSource(
    claim('PersistentVolumeClaim', 'origin', { dataSourceRef: reference }),
  );
  assert.equal(wanted.kind === 'blocked' && wanted.code, 'ClaimUnsupported');
  assert.deepEqual(wantedSource(claim('Image', 'x')), { kind: 'foreign', what: 'Image' });
  const odd = { dataSource: { apiGroup: 'other.io', kind: 'VolumeSnapshot', name: 'x' } };
  assert.equal(wantedSource(claim('', '', odd)).kind, 'foreign');
});
