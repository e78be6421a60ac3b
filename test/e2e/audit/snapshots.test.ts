import assert from 'node:assert/strict';
import test from 'node:test';
import { layoutByHand } from '../layout.ts';
import { findingsIn } from './findings.ts';
import type { Claim, Content, Seen, Snapshot } from './look.ts';
import { claim, rest } from './well.ts';

const snapshot: Snapshot = {
  metadata: { name: 'before', namespace: 'default', uid: 'snapshot-1' },
  spec: { source: { persistentVolumeClaimName: 'data' } },
  status: { readyToUse: true },
};
const content: Content = {
  metadata: { name: 'content-1', uid: 'content-1' },
  spec: {
    driver: 'topolvm.io',
    volumeSnapshotRef: { name: 'before', namespace: 'default' },
  },
};
const provisioner = 'provisioner.storage.kubernetes.io/snapshot-source-protection';
const restores: Claim = {
  metadata: { name: 'restored', namespace: 'default', uid: 'claim-2' },
  spec: {
    ...{ storageClassName: 'thick', resources: { requests: { storage: '2Gi' } } },
    dataSource: { kind: 'VolumeSnapshot', name: 'before' },
  },
  status: { phase: 'Pending' },
};

type Row = { readonly what: string; readonly change: Partial<Seen>; readonly found?: RegExp };

function withSnapshot(change: Partial<Snapshot>, more: Partial<Seen> = {}): Partial<Seen> {
  return { snapshots: [{ ...snapshot, ...change }], ...more };
}

const kept = { ...snapshot.metadata, finalizers: [provisioner] };

const rows: readonly Row[] = [
  { what: 'no snapshot that is ready', change: withSnapshot({}) },
  {
    what: 'a snapshot that nobody takes',
    change: withSnapshot({ status: { readyToUse: false } }),
    found: /^snapshot default\/before is not ready$/,
  },
  {
    what: 'no snapshot that says why it is not taken',
    change: withSnapshot({ status: { readyToUse: false, error: { message: 'full' } } }),
  },
  {
    what: 'no snapshot of what is not there',
    change: withSnapshot({ spec: { source: { persistentVolumeClaimName: 'none' } }, status: {} }),
  },
  {
    what: 'a snapshot that is kept for nobody',
    change: withSnapshot({ metadata: kept }),
    found: /snapshot default\/before keeps provisioner\.storage/,
  },
  {
    what: 'no snapshot that is kept for a claim',
    change: withSnapshot({ metadata: kept }, { claims: [claim, restores] }),
  },
  { what: 'no content of a snapshot', change: withSnapshot({}, { contents: [content] }) },
  {
    what: 'a content without snapshot',
    change: { contents: [content] },
    found: /^content content-1 has no snapshot$/,
  },
  {
    what: 'a content that is being made for ever',
    change: withSnapshot(
      {},
      {
        contents: [
          {
            ...content,
            metadata: {
              ...content.metadata,
              annotations: { 'snapshot.storage.kubernetes.io/volumesnapshot-being-created': 'yes' },
            },
          },
        ],
      },
    ),
    found: /content-1 is still being created/,
  },
  {
    what: 'a content that is lost',
    change: withSnapshot({}, { contents: [{ ...content, status: { snapshotHandle: 'lv-9' } }] }),
    found: /content-1 has no LogicalVolume/,
  },
];

for (const { what, change, found } of rows) {
  test(`the auditor finds ${what}`, () => {
    const findings = findingsIn({ ...rest, ...change }, layoutByHand);
    assert.equal(findings.length, found === undefined ? 0 : 1, findings.join('\n'));
    if (found !== undefined) assert.match(findings[0] ?? '', found);
  });
}
