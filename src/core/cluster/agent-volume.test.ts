import assert from 'node:assert/strict';
import test from 'node:test';
import {
  hostOf,
  sampleLv,
  sampleVg,
  thickClass,
  thinClass,
} from '../../../test/samples/observed.ts';
import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import { bytes, GiB, MiB } from '../../base/bytes.ts';
import { blocked, type FailureCode } from '../../base/failures.ts';
import {
  type AgentView,
  decideLogicalVolume,
  verdictOnCreation,
  verdictOnGrowth,
} from './agent-volume.ts';

const names = { domain: 'topolvm.io', driver: 'topolvm.io' };
const labels = { 'app.kubernetes.io/created-by': 'topolvm-controller', 'topolvm.io/node': 'n1' };

type Change = {
  readonly metadata?: object;
  readonly spec?: Partial<LogicalVolume['spec']>;
  readonly status?: LogicalVolume['status'];
};

function object({ metadata, spec, status }: Change = {}): LogicalVolume {
  return {
    metadata: {
      ...{ name: 'pvc-1', uid: 'U', resourceVersion: '1', labels },
      finalizers: ['topolvm.io/logicalvolume'],
      ...metadata,
    },
    spec: { name: 'pvc-1', nodeName: 'n1', size: '1Gi', deviceClass: 'thick', ...spec },
    ...(status === undefined ? {} : { status }),
  };
}

function decide(change: Change, view: Partial<AgentView> = {}) {
  return decideLogicalVolume({
    ...{ names, node: 'n1', object: object(change), source: undefined, members: [] },
    ...{ classes: [thickClass(), thinClass()], host: hostOf(sampleVg()) },
    ...{ refusedRequest: undefined, seenIn: undefined, skew: undefined },
    ...view,
  });
}

const going = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const made = { volumeID: 'U', currentSize: '1Gi' };
const withLv = hostOf(sampleVg({ lvs: [sampleLv({ name: 'U' })] }));
const at = (time: string) => ({ annotations: { 'topolvm.io/resize-requested-at': time } });
const pending = { annotations: { 'topolvm.io/pendingdeletion': 'true' } };

const kinds: readonly (readonly [string, Change, string, Partial<AgentView>?])[] = [
  ['a new one is made', {}, 'create'],
  ['one of another node is none of ours', { spec: { nodeName: 'n2' } }, 'rest'],
  ['one whose node goes is left alone', { metadata: pending }, 'rest'],
  ['and so it is while it is deleted', { metadata: { ...pending, ...going } }, 'rest'],
  ['without finalizer it is marked first', { metadata: { finalizers: [] } }, 'mark'],
  ['without labels too', { metadata: { labels: {} } }, 'mark'],
  ['one that failed is not tried again', { status: { code: 8, message: 'full' } }, 'rest'],
  ['code 0 is no failure', { status: { code: 0 } }, 'create'],
  ['an empty id is none', { status: { volumeID: '' } }, 'create'],
  ['one that is made rests', { status: made }, 'rest', { host: withLv }],
  ['one that is lost is told', { status: made }, 'condition'],
  ['one that is asked for more grows', { spec: { size: '2Gi' }, status: made }, 'expand'],
  ['less changes nothing', { spec: { size: '1Mi' }, status: made }, 'rest', { host: withLv }],
  ['no currentSize is seen to', { status: { volumeID: 'U' } }, 'expand'],
  ['nor one that cannot be read', { status: { volumeID: 'U', currentSize: '?' } }, 'expand'],
  ['a status of another volume is refused', { status: { ...made, volumeID: 'V' } }, 'refuse'],
  ['also when it is deleted', { metadata: going, status: { ...made, volumeID: 'V' } }, 'refuse'],
  ['a deleted one goes', { metadata: going, status: made }, 'remove'],
  ['also one that was never made', { metadata: going }, 'remove'],
  ['what others let go is gone', { metadata: { ...going, finalizers: ['x'] } }, 'rest'],
  ['no size is told', { spec: { size: 'x' } }, 'fail'],
  ['a source that is not here is told', { spec: { source: 's', accessType: 'ro' } }, 'fail'],
  ['an access that is none is told', { spec: { source: 's', accessType: 'w' } }, 'fail'],
];

for (const [what, change, kind, view] of kinds) {
  test(what, () => assert.equal(decide(change, view).kind, kind));
}

test('with an operator that it does not go with an agent does nothing new', () => {
  const skew = blocked('VersionSkew', 'they do not go together');
  const taken = { spec: { source: 's', accessType: 'ro' } };
  const works: readonly (readonly [Change, Partial<AgentView>?])[] = [
    [{}],
    [taken, { source: source({ volumeID: 'S' }) }],
    [{ spec: { size: '2Gi' }, status: made }],
    [{ metadata: going, status: made }, { host: withLv }],
    [{ metadata: going }],
    // In another protocol this size may be one.
    [{ spec: { size: 'x' } }],
  ];
  for (const [change, view] of works) {
    assert.notEqual(decide(change, view).kind, 'refuse');
    assert.deepEqual(decide(change, { ...view, skew }), { ...skew, kind: 'refuse' });
  }
});

test('and it goes on to guard and to tell of what is there', () => {
  const skew = blocked('VersionSkew', 'they do not go together');
  assert.equal(decide({ metadata: { finalizers: [] } }, { skew }).kind, 'mark');
  assert.equal(decide({ status: made }, { skew }).kind, 'condition');
  assert.equal(decide({ status: made }, { skew, host: withLv }).kind, 'rest');
});

test('marks keep what others put on', () => {
  const metadata = { finalizers: ['x'], labels: { ...labels, 'topolvm.io/node': undefined } };
  assert.deepEqual(decide({ metadata }), {
    kind: 'mark',
    finalizers: ['x', 'topolvm.io/logicalvolume'],
    labels: { 'topolvm.io/node': 'n1' },
  });
});

test('a request to grow that was refused rests until it is asked again', () => {
  const change = { spec: { size: '2Gi' }, status: made, metadata: at('1') };
  const decision = decide(change);
  assert.ok(decision.kind === 'expand');
  assert.equal(decision.sizeBytes, 2n * GiB);
  const refusedRequest = decision.request;
  assert.equal(decide(change, { refusedRequest }).kind, 'rest');
  assert.equal(decide({ ...change, metadata: at('2') }, { refusedRequest }).kind, 'expand');
});

const unknown = { spec: { deviceClass: 'gone' }, metadata: going };

test('with an unknown class nothing is called gone, unless it is there or never was', () => {
  assert.equal(decide({ ...unknown, status: made }).kind, 'refuse');
  assert.equal(decide(unknown).kind, 'refuse');
  assert.equal(decide({ ...unknown, status: made }, { host: withLv }).kind, 'remove');
  assert.equal(decide({ ...unknown, status: { code: 8 } }).kind, 'remove');
});

test('where it was noted in which group it was, that one has to be here or removed by us', () => {
  const { uuid } = sampleVg();
  const at = (vgUuid: string, isRemoved: boolean) =>
    decide({ ...unknown, status: made }, { seenIn: { vgUuid, isRemoved } }).kind;
  assert.equal(at(uuid, false), 'remove');
  assert.equal(at('away', false), 'refuse');
  assert.equal(at('away', true), 'remove');
});

const source = (status?: LogicalVolume['status'], spec: Change['spec'] = {}) =>
  object({
    metadata: { name: 's', uid: 'S' },
    spec,
    ...(status === undefined ? {} : { status }),
  });

test('what is copied waits for its source, and fails with it', () => {
  const change = { spec: { source: 's', accessType: 'rw' } };
  assert.equal(decide(change, { source: source() }).kind, 'wait');
  assert.equal(decide(change, { source: source({ code: 8 }) }).kind, 'fail');
  const snapshot = source({ volumeID: 'S' }, { source: 'o', accessType: 'ro' });
  const clone = decide(change, { source: snapshot });
  assert.ok(clone.kind === 'create');
  assert.deepEqual(clone.volume.source, { kind: 'snapshot', id: 'S' });
  const taken = decide(
    { spec: { source: 's', accessType: 'ro' } },
    { source: source({ volumeID: 'S' }) },
  );
  assert.deepEqual(taken, {
    ...{ kind: 'snapshot', snapshot: { id: 'U', name: 'pvc-1', sourceId: 'S' } },
  });
});

const grouped = (uid: string, text: string, status?: LogicalVolume['status']) =>
  object({
    metadata: { uid, name: uid, annotations: { 'quarry.io/snapshot-group': text } },
    spec: { source: 's', accessType: 'ro' },
    ...(status === undefined ? {} : { status }),
  });

test('a group is taken when all of it is here, and fails as a whole', () => {
  const text = '{"id":"G","size":2,"name":"g"}';
  const member = (uid: string, status?: LogicalVolume['status']) => ({
    object: grouped(uid, text, status),
    source: object({ metadata: { uid: `of-${uid}` }, status: { volumeID: 'x' } }),
  });
  const ask = (members: AgentView['members']) =>
    decide({}, { object: grouped('A', text), source: source({ volumeID: 'S' }), members });
  assert.equal(ask([member('A')]).kind, 'wait');
  const taken = ask([member('A'), member('B')]);
  assert.ok(taken.kind === 'group');
  assert.deepEqual(
    [...taken.group.members],
    [
      ['of-A', 'A'],
      ['of-B', 'B'],
    ],
  );
  assert.equal(ask([member('A'), member('B', { code: 11 })]).kind, 'fail');
  const broken = { object: grouped('A', '{'), source: source({ volumeID: 'S' }), members: [] };
  assert.equal(decide({}, broken).kind, 'fail');
});

const failure = (code: FailureCode) => ({ code, message: 'm' });
const verdicts: readonly (readonly [FailureCode, string])[] = [
  ['InsufficientCapacity', 'final'],
  ['UnknownDeviceClass', 'final'],
  ['SourceNotFound', 'final'],
  ['VolumeGroupMissing', 'again'],
  ['VolumeGroupPartial', 'again'],
  ['LvmLocked', 'again'],
  ['CommandFailed', 'again'],
  ['CommandTimedOut', 'again'],
  ['StaleView', 'again'],
  ['Cancelled', 'again'],
];

for (const [code, kind] of verdicts) {
  test(`trap 7: ${code} is ${kind === 'final' ? 'told' : 'tried again'}`, () => {
    const host = hostOf(sampleVg());
    assert.equal(verdictOnCreation(failure(code), 'U', host, []).kind, kind);
    assert.equal(verdictOnGrowth(failure(code)).kind, kind);
  });
}

test('trap 7: nothing is told while something of the volume is on the disks, or may be', () => {
  const full = failure('InsufficientCapacity');
  assert.equal(verdictOnCreation(full, 'U', withLv, []).kind, 'again');
  const copying = hostOf(sampleVg({ lvs: [sampleLv({ name: 'U.copy' })] }));
  assert.equal(verdictOnCreation(full, 'U', copying, []).kind, 'again');
  assert.equal(verdictOnCreation(full, 'U', hostOf(sampleVg()), ['away']).kind, 'again');
});

test('trap 27: sizes are whole bytes, however they are written', () => {
  const sizeOf = (size: string) => {
    const decision = decide({ spec: { size } });
    return decision.kind === 'create' ? decision.volume.sizeBytes : undefined;
  };
  assert.equal(sizeOf('1.5Gi'), bytes(1536n * MiB));
  assert.equal(sizeOf('1e9'), 1_000_000_000n);
  assert.equal(sizeOf('9007199254740993'), 9_007_199_254_740_993n);
});

test('what was taken before its source went is told all the same', () => {
  const tags = ['quarry', 'quarry.source=S', 'quarry.from=snapshot'];
  const host = hostOf(sampleVg({ lvs: [sampleLv({ name: 'U', tags })] }));
  const taken = decide({ spec: { source: 's', accessType: 'ro' } }, { host });
  assert.ok(taken.kind === 'snapshot');
  assert.equal(taken.snapshot.sourceId, 'S');
  const clone = decide({ spec: { source: 's', accessType: 'rw' } }, { host });
  assert.ok(clone.kind === 'create');
  assert.deepEqual(clone.volume.source, { kind: 'snapshot', id: 'S' });
});

test('one that lies in a group that no class names is not made a second time', () => {
  const old = sampleVg({ name: 'old', lvs: [sampleLv({ name: 'U' })] });
  const decision = decide({}, { host: hostOf(sampleVg(), old) });
  assert.ok(decision.kind === 'refuse');
  assert.equal(decision.code, 'VolumeGroupNotServed');
  assert.match(decision.message, /old\/U/);
});

test('a source that was made anew under its name is not the source', () => {
  const from = (uid: string) =>
    decide(
      {
        metadata: { annotations: { 'quarry.io/source': 'volume/S1' } },
        spec: { source: 's', accessType: 'ro' },
      },
      {
        source: object({
          metadata: { name: 's', uid },
          status: { volumeID: uid, currentSize: '1Gi' },
        }),
      },
    );
  assert.equal(from('S1').kind, 'snapshot');
  const other = from('S2');
  assert.ok(other.kind === 'fail');
  assert.equal(other.code, 'SourceNotFound');
});
