import assert from 'node:assert/strict';
import test from 'node:test';
import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import { limits } from '../../base/limits.ts';
import {
  conditionOf,
  conditionWrite,
  decideHealth,
  type HealthDecision,
  type HealthView,
  nodeTrouble,
} from './health.ts';
import { conditionAnnotation, toldConditionAnnotation, toldNodeAnnotation } from './names.ts';

const identity = { uid: 'u', resourceVersion: '7' };

function volume(annotations: Record<string, string> = {}): LogicalVolume {
  return {
    metadata: { ...identity, name: 'pvc-1', annotations },
    spec: { name: 'pvc-1', nodeName: 'n1', size: '1Gi' },
  };
}

const claim: PersistentVolumeClaim = {
  metadata: { ...identity, name: 'data', namespace: 'ns' },
  spec: {},
};

function decide(annotations: Record<string, string>, view: Partial<HealthView> = {}) {
  return decideHealth({
    ...{ logicalVolume: volume(annotations), findClaim: () => claim, trouble: undefined },
    ...{ troubleSinceMs: 0, nowMs: 0, ...view },
  });
}

function told(decision: HealthDecision): readonly string[] {
  return decision.kind === 'tell' ? decision.events.map(({ reason }) => reason) : [decision.kind];
}

test('an agent writes what is wrong once, and takes it off when it is well', () => {
  const full = (percent: number) => ({ isAbnormal: true, message: `pool: data ${percent} % full` });
  const healthy = { isAbnormal: false, message: 'the volume is healthy' };
  assert.deepEqual(conditionWrite(volume(), healthy), { kind: 'keep' });
  const first = conditionWrite(volume(), full(95.2));
  assert.deepEqual(first, { kind: 'write', value: 'pool: data 95.2 % full' });
  const sick = volume({ [conditionAnnotation]: 'pool: data 95.2 % full' });
  assert.deepEqual(conditionWrite(sick, full(99)), { kind: 'keep' });
  assert.deepEqual(conditionWrite(sick, { isAbnormal: true, message: 'a device is missing' }), {
    kind: 'write',
    value: 'a device is missing',
  });
  assert.deepEqual(conditionWrite(sick, healthy), { kind: 'write', value: null });
  assert.deepEqual(conditionOf(sick), { isAbnormal: true, message: 'pool: data 95.2 % full' });
  assert.equal(conditionOf(volume()).isAbnormal, false);
});

test('a claim hears of each change once', () => {
  const sick = { [conditionAnnotation]: 'vg/lv: a device it lies on is missing' };
  const decision = decide(sick);
  assert.deepEqual(decision, {
    kind: 'tell',
    claim,
    newsKey: `{"${toldConditionAnnotation}":"vg/lv: a device it lies on is missing"}`,
    events: [
      {
        type: 'Warning',
        reason: 'VolumeConditionAbnormal',
        message: 'vg/lv: a device it lies on is missing.',
      },
    ],
    patch: {
      metadata: {
        resourceVersion: '7',
        annotations: { [toldConditionAnnotation]: 'vg/lv: a device it lies on is missing' },
      },
    },
  });
  const known = { ...sick, [toldConditionAnnotation]: 'vg/lv: a device it lies on is missing' };
  assert.deepEqual(told(decide(known)), ['rest']);
  assert.deepEqual(told(decide({ [toldConditionAnnotation]: 'x' })), ['VolumeConditionNormal']);
  assert.deepEqual(told(decide({})), ['rest']);
});

test('what nobody has is told to nobody, and to whoever gets it', () => {
  const sick = { [conditionAnnotation]: 'bad' };
  assert.deepEqual(told(decide(sick, { findClaim: () => undefined })), ['rest']);
  assert.deepEqual(told(decide(sick)), ['VolumeConditionAbnormal']);
});

test('a node has failed after five minutes and not before, and recovers once', () => {
  const away = { trouble: 'unreachable', troubleSinceMs: 1_000 } as const;
  const early = decide({}, { ...away, nowMs: 1_000 + limits.nodeFailedMs - 1 });
  assert.deepEqual(early, { kind: 'wait', afterMs: 1 });
  const late = decide({}, { ...away, nowMs: 1_000 + limits.nodeFailedMs });
  assert.deepEqual(told(late), ['NodeFailed']);
  assert.ok(late.kind === 'tell');
  assert.equal(
    late.events[0]?.message,
    'The node n1, which has the volume, has been unreachable for at least 5 minutes. ' +
      'Remedy: bring the node back: the data is on its disks and nowhere else.',
  );
  const known = { [toldNodeAnnotation]: 'true' };
  assert.deepEqual(told(decide(known, { ...away, nowMs: 10_000_000 })), ['rest']);
  assert.deepEqual(told(decide(known)), ['NodeRecovered']);
});

test('a volume that is sick on a node that is away is told of both', () => {
  const view = { trouble: 'gone', troubleSinceMs: 0, nowMs: limits.nodeFailedMs } as const;
  const decision = decide({ [conditionAnnotation]: 'bad' }, view);
  assert.deepEqual(told(decision), ['NodeFailed', 'VolumeConditionAbnormal']);
});

test('a node is away when the control plane says so, or when there is none', () => {
  const tainted = (key: string, effect = 'NoExecute') =>
    nodeTrouble({ metadata: { ...identity, name: 'n1' }, spec: { taints: [{ key, effect }] } });
  assert.equal(nodeTrouble(undefined), 'gone');
  assert.equal(tainted('node.kubernetes.io/unreachable'), 'unreachable');
  assert.equal(tainted('node.kubernetes.io/not-ready'), 'not ready');
  assert.equal(tainted('node.kubernetes.io/not-ready', 'NoSchedule'), undefined);
  assert.equal(tainted('node.kubernetes.io/unschedulable', 'NoSchedule'), undefined);
});
