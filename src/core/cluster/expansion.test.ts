import assert from 'node:assert/strict';
import test from 'node:test';
import type { ClaimStatus, PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { PersistentVolume } from '../../api/objects/persistent-volume.ts';
import { type Bytes, GiB, times } from '../../base/bytes.ts';
import { changeConditions } from './conditions.ts';
import { decideExpansion, type ExpansionView } from './expansion.ts';
import { type Ending, endingOfFailure } from './expansion-failure.ts';
import { type ResizeStatus, type Sizes, targetSize } from './expansion-target.ts';

const gib = (count: number): Bytes => times(GiB, count);

type Row = {
  readonly pv: number;
  readonly request: number;
  readonly status?: ResizeStatus;
  readonly allocated?: number;
  readonly failed?: true;
  readonly pending?: true;
  /** undefined: nothing to do. */
  readonly target: number | undefined;
};

const rows: readonly Row[] = [
  // The volume is smaller than the request.
  { pv: 10, request: 20, target: 20 },
  { pv: 10, request: 20, pending: true, target: 20 },
  { pv: 10, request: 20, allocated: 15, target: 20 },
  { pv: 10, request: 30, status: 'NodeResizePending', allocated: 20, target: 20 },
  { pv: 20, request: 30, status: 'NodeResizePending', allocated: 20, target: undefined },
  { pv: 20, request: 30, status: 'NodeResizeInProgress', allocated: 20, target: undefined },
  { pv: 10, request: 30, status: 'NodeResizeInfeasible', allocated: 20, target: 20 },
  { pv: 10, request: 15, status: 'ControllerResizeInProgress', allocated: 20, target: 20 },
  {
    ...{ pv: 10, request: 15, status: 'ControllerResizeInProgress', allocated: 20 },
    ...{ failed: true, target: 15 },
  },
  { pv: 10, request: 15, status: 'ControllerResizeInfeasible', allocated: 20, target: 15 },
  // It is large enough.
  { pv: 20, request: 15, status: 'NodeResizePending', allocated: 20, target: undefined },
  { pv: 20, request: 15, status: 'NodeResizeInProgress', allocated: 20, target: undefined },
  { pv: 20, request: 15, status: 'ControllerResizeInProgress', allocated: 20, target: 20 },
  {
    ...{ pv: 20, request: 15, status: 'ControllerResizeInProgress', allocated: 30 },
    ...{ failed: true, target: 30 },
  },
  // Retried for ever, the size that failed would keep kubelet from growing what is there.
  { pv: 20, request: 15, status: 'ControllerResizeInfeasible', allocated: 30, target: 15 },
  { pv: 20, request: 15, allocated: 20, target: 20 },
  { pv: 20, request: 15, status: 'NodeResizeInfeasible', allocated: 20, target: 20 },
  { pv: 20, request: 15, target: 15 },
  { pv: 20, request: 15, pending: true, target: undefined },
];

test('the size that comes next', () => {
  for (const row of rows) {
    const sizes: Sizes = {
      volumeBytes: gib(row.pv),
      requestBytes: gib(row.request),
      allocatedBytes: row.allocated === undefined ? undefined : gib(row.allocated),
      status: row.status,
      hasFailedForGood: row.failed === true,
      isFileSystemPending: row.pending === true,
    };
    const expected = row.target === undefined ? undefined : gib(row.target);
    assert.equal(targetSize(sizes), expected, JSON.stringify(row));
  }
});

test('how a call ended', () => {
  const endings: readonly (readonly [string | undefined, Ending])[] = [
    ...['CANCELLED', 'DEADLINE_EXCEEDED', 'UNAVAILABLE', 'RESOURCE_EXHAUSTED', 'ABORTED'].map(
      (status) => [status, 'uncertain'] as const,
    ),
    ...['INVALID_ARGUMENT', 'OUT_OF_RANGE', 'NOT_FOUND'].map(
      (status) => [status, 'infeasible'] as const,
    ),
    ...['INTERNAL', 'FAILED_PRECONDITION', 'UNKNOWN', 'PERMISSION_DENIED'].map(
      (status) => [status, 'final'] as const,
    ),
    [undefined, 'uncertain'],
  ];
  for (const [status, ending] of endings) {
    assert.equal(endingOfFailure({ status, message: '' }), ending, status);
  }
});

test('trap 5: our own refusals for want of room are certain, whatever their status', () => {
  const failure = { status: 'RESOURCE_EXHAUSTED', code: 'ThinPoolFull', message: '' } as const;
  assert.equal(endingOfFailure(failure), 'infeasible');
});

test('conditions keep their time while they say the same, and others keep their place', () => {
  const others = { type: 'Backup', status: 'True', lastProbeTime: 'p', lastTransitionTime: 'a' };
  const before = [others, { type: 'Resizing', status: 'True', lastTransitionTime: 'b' }];
  const changed = changeConditions(before, {
    set: [
      { type: 'Resizing', status: 'True' },
      { type: 'New', status: 'True' },
    ],
    nowText: 'now',
  });
  assert.deepEqual(changed, [
    others,
    { type: 'Resizing', status: 'True', lastTransitionTime: 'b' },
    { type: 'New', status: 'True', lastTransitionTime: 'now' },
  ]);
  const turned = changeConditions(before, {
    ...{ set: [{ type: 'Resizing', status: 'False' }], drop: ['Backup'], nowText: 'now' },
  });
  assert.deepEqual(turned, [{ type: 'Resizing', status: 'False', lastTransitionTime: 'now' }]);
});

test('a request that came down to what the claim has ends what cannot work', () => {
  const decision = decideExpansion(
    viewOf('10Gi', {
      allocatedResources: { storage: '30Gi' },
      ...status('ControllerResizeInfeasible'),
    }),
  );
  assert.equal(decision.kind === 'write-claim' && decision.why, 'given-up');
});

test('a request that came down to what the claim has does not end what may come about', () => {
  const decision = decideExpansion(
    viewOf('10Gi', {
      allocatedResources: { storage: '30Gi' },
      ...status('ControllerResizeInProgress'),
    }),
  );
  assert.deepEqual(decision, { kind: 'expand', volumeId: 'lv', targetBytes: gib(30) });
});

test('a size that is no size is refused in words', () => {
  const decision = decideExpansion(viewOf('9999999999Ti', {}));
  assert.equal(
    decision.kind === 'refuse' && decision.event.message,
    'The claim data cannot grow: "9999999999Ti" is not a size: it is larger than 2^63-1 bytes; ' +
      'write for example 10Gi.',
  );
});

test('trap 27: sizes are exact, however they are written', () => {
  const targets = ['1.5e10', '15G', '10.5Gi', '9007199254740993', '15000000000000m'].map((text) => {
    const decision = decideExpansion(viewOf(text, {}));
    return decision.kind === 'write-claim' ? sizeIn(decision.patch) : decision.kind;
  });
  assert.deepEqual(targets, [
    ...['15000000000', '15000000000', '10752Mi', '9007199254740993', '15000000000'],
  ]);
});

test('a volume of another driver, or bound to another claim, is left alone', () => {
  assert.deepEqual(decideExpansion({ ...viewOf('20Gi', {}), driver: 'other' }), { kind: 'rest' });
  const view = viewOf('20Gi', {});
  const spec = { ...view.volume?.spec, claimRef: { namespace: 'ns', name: 'data', uid: 'old' } };
  const volume = { ...view.volume, spec } as PersistentVolume;
  assert.deepEqual(decideExpansion({ ...view, volume }), { kind: 'rest' });
});

function sizeIn(patch: object): string | undefined {
  const { status: written } = patch as { readonly status?: ClaimStatus };
  return written?.allocatedResources?.storage;
}

function status(storage: ResizeStatus): ClaimStatus {
  return { allocatedResourceStatuses: { storage } };
}

function viewOf(request: string, more: ClaimStatus): ExpansionView {
  const claim: PersistentVolumeClaim = {
    metadata: { name: 'data', namespace: 'ns', uid: 'u', resourceVersion: '1' },
    spec: { resources: { requests: { storage: request } }, volumeName: 'pv' },
    status: { phase: 'Bound', capacity: { storage: '10Gi' }, ...more },
  };
  const volume: PersistentVolume = {
    metadata: { name: 'pv', uid: 'p', resourceVersion: '1' },
    spec: {
      capacity: { storage: '10Gi' },
      claimRef: { namespace: 'ns', name: 'data', uid: 'u' },
      csi: { driver: 'topolvm.io', volumeHandle: 'lv' },
    },
  };
  return {
    ...{ claim, volume, driver: 'topolvm.io', last: undefined, grown: undefined },
    ...{ keepsStatus: true, nowMs: 0, nowText: 'now' },
  };
}
