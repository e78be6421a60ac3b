import assert from 'node:assert/strict';
import test from 'node:test';
import { limits } from '../../src/base/limits.ts';
import {
  conditionAnnotation,
  toldConditionAnnotation,
  toldNodeAnnotation,
} from '../../src/core/cluster/names.ts';
import { VolumeHealth } from '../../src/operator/health.ts';
import { Modifier } from '../../src/operator/modifier.ts';
import { Resizer } from '../../src/operator/resizer.ts';
import { collections } from '../kube/fake-api-rules.ts';
import type { Json } from '../kube/fake-patch.ts';
import { Chance } from '../world/chance.ts';
import { DutyScene, parse } from './expansion-scene.ts';

const classes = '/apis/storage.k8s.io/v1/volumeattributesclasses';

test('claims grow through lost answers, conflicts, late watches and operators that die', async () => {
  for (let seed = 1; seed <= 15; seed += 1) {
    const scene = new DutyScene(seed, Resizer, Modifier);
    const chance = new Chance(seed + 1000);
    const names = ['a', 'b', 'c'];
    for (const name of names) scene.claim(name);
    await scene.start();
    scene.network.rates({ lostAnswer: 0.05, failed: 0.05, refused: 0.05, reset: 0.05, slow: 0.05 });
    for (let turn = 0; turn < 25; turn += 1) {
      const name = chance.pick(names) ?? 'a';
      if (chance.happens(0.4)) request(scene, name, chance.between(1, 40));
      if (chance.happens(0.3)) scene.kubelet();
      if (chance.happens(0.15)) {
        scene.kill();
        await scene.start();
      }
      await scene.pass(chance.between(1, 5_000));
    }
    scene.network.rates({});
    for (let turn = 0; turn < 10; turn += 1) {
      await scene.pass(120_000);
      scene.kubelet();
    }
    await scene.pass(120_000);
    for (const name of names) assert.equal(unsettled(scene, name), '', `SEED=${seed}`);
  }
});

test('trap 22: who leads no more writes nothing about what he began', async () => {
  const scene = new DutyScene(1, Resizer);
  scene.claim('a');
  await scene.start();
  request(scene, 'a', 5);
  const isBegun = () => reasons(scene).includes('Resizing');
  for (let turn = 0; turn < 100 && !isBegun(); turn += 1) await scene.pass(10);
  assert.ok(isBegun());
  scene.stop();
  const writes = scene.api.writes.length;
  await scene.pass(600_000);
  assert.equal(scene.api.writes.length, writes);
  assert.deepEqual(reasons(scene), ['Resizing']);
  assert.equal(scene.lvs.get('lv-a'), parse('5Gi'));
  await scene.start();
  await scene.pass(10_000);
  scene.kubelet();
  await scene.pass(10_000);
  assert.equal(unsettled(scene, 'a'), '');
});

test('a claim that names no class of attributes costs nothing', async () => {
  const scene = new DutyScene(1, Modifier, VolumeHealth, Resizer);
  scene.node('n1');
  for (const name of ['a', 'b']) scene.claim(name);
  await scene.start();
  await scene.pass(3_600_000);
  assert.equal(scene.api.writes.filter(({ who }) => who === 'operator').length, 0);
  assert.deepEqual(reasons(scene), []);
});

test('a class without parameters is accepted: the volume first, then the claim', async () => {
  const scene = new DutyScene(1, Modifier);
  scene.api.put(classes, { metadata: { name: 'gold' }, driverName: 'topolvm.io' });
  scene.claim('a', { spec: { volumeAttributesClassName: 'gold' } });
  await scene.start();
  await scene.pass(5_000);
  const { spec } = scene.object(collections.volumes, 'pv-a') as unknown as {
    readonly spec: { readonly volumeAttributesClassName?: string };
  };
  assert.equal(spec.volumeAttributesClassName, 'gold');
  assert.equal(statusOf(scene, 'a').currentVolumeAttributesClassName, 'gold');
  assert.deepEqual(reasons(scene), ['VolumeModifySuccessful']);
  const writes = scene.api.writes.filter(({ who }) => who === 'operator');
  assert.deepEqual(
    writes.map(({ collection }) => collection),
    [collections.volumes, collections.claims],
  );
});

test('a class with parameters is refused with their names and a remedy, and may be taken back', async () => {
  const scene = new DutyScene(1, Modifier);
  const parameters = { iops: '100', burst: '1' };
  scene.api.put(classes, { metadata: { name: 'gold' }, driverName: 'topolvm.io', parameters });
  scene.claim('a', { spec: { volumeAttributesClassName: 'gold' } });
  await scene.start();
  await scene.pass(3 * limits.infeasibleRetryMs);
  const message =
    'AttributesUnsupported: the VolumeAttributesClass gold has the parameters burst and iops, ' +
    'and topolvm.io can change none. ' +
    'Remedy: Name a VolumeAttributesClass of this driver without parameters, or none.';
  assert.deepEqual(scene.events, [
    { about: 'a', type: 'Warning', reason: 'VolumeModifyFailed', message },
  ]);
  const { modifyVolumeStatus, conditions } = statusOf(scene, 'a');
  assert.deepEqual(modifyVolumeStatus, {
    targetVolumeAttributesClassName: 'gold',
    status: 'Infeasible',
  });
  assert.deepEqual(
    conditions?.map(({ type, message: text }) => [type, text]),
    [['ModifyVolumeError', message]],
  );
  scene.change(collections.claims, 'a', { spec: { volumeAttributesClassName: null } });
  await scene.pass(5_000);
  assert.equal(statusOf(scene, 'a').modifyVolumeStatus, undefined);
  assert.deepEqual(statusOf(scene, 'a').conditions, []);
  assert.deepEqual(reasons(scene), ['VolumeModifyFailed', 'VolumeModifyCancelled']);
});

test('a class that comes later is found, one of another driver is refused', async () => {
  const scene = new DutyScene(1, Modifier);
  scene.claim('a', { spec: { volumeAttributesClassName: 'gold' } });
  await scene.start();
  await scene.pass(5_000);
  assert.equal(statusOf(scene, 'a').modifyVolumeStatus?.status, 'Pending');
  scene.api.put(classes, { metadata: { name: 'gold' }, driverName: 'other.io' });
  await scene.pass(limits.attributesClassLookMs);
  assert.equal(statusOf(scene, 'a').modifyVolumeStatus?.status, 'Infeasible');
  scene.api.put(classes, { metadata: { name: 'plain' }, driverName: 'topolvm.io' });
  scene.change(collections.claims, 'a', { spec: { volumeAttributesClassName: 'plain' } });
  await scene.pass(5_000);
  assert.equal(statusOf(scene, 'a').currentVolumeAttributesClassName, 'plain');
  assert.deepEqual(
    scene.events.map(({ message }) => message.split('. ')[0]),
    [
      'There is no VolumeAttributesClass gold',
      'AttributesUnsupported: the VolumeAttributesClass gold is of the driver other.io, ' +
        'and the volume of topolvm.io',
      'The volume has the VolumeAttributesClass plain.',
    ],
  );
});

test('what somebody else began keeps its class until it is settled', async () => {
  const scene = new DutyScene(1, Modifier);
  scene.api.put(classes, { metadata: { name: 'old' }, driverName: 'topolvm.io' });
  scene.api.put(classes, { metadata: { name: 'new' }, driverName: 'topolvm.io' });
  scene.claim('a', { spec: { volumeAttributesClassName: 'new' } });
  const begun = { targetVolumeAttributesClassName: 'old', status: 'InProgress' };
  scene.change(collections.claims, 'a', { status: { modifyVolumeStatus: begun } });
  await scene.start();
  await scene.pass(5_000);
  assert.deepEqual(
    scene.events.map(({ message }) => message),
    [
      'The volume has the VolumeAttributesClass old.',
      'The volume has the VolumeAttributesClass new.',
    ],
  );
});

test('a server without the kind is left in peace', async () => {
  const scene = new DutyScene(1, Modifier);
  scene.api.missing.add(classes);
  scene.claim('a', { spec: { volumeAttributesClassName: 'gold' } });
  await scene.start();
  await scene.pass(3_600_000);
  assert.deepEqual(reasons(scene), []);
  const asked = scene.api.requests.filter(({ url }) => url.startsWith(classes)).length;
  assert.equal(asked, 1);
});

test('a claim hears once that its volume is in danger, and once that it is well', async () => {
  const scene = new DutyScene(1, VolumeHealth);
  scene.node('n1');
  scene.claim('a');
  scene.claim('b');
  await scene.start();
  const say = (text: string | null) => {
    const annotations = { [conditionAnnotation]: text };
    scene.change(collections.logicalVolumes, 'pv-a', { metadata: { annotations } });
  };
  say('vg/lv: its thin pool pool: data 96 % full');
  await scene.pass(5_000);
  say('vg/lv: its thin pool pool: data 99 % full');
  await scene.pass(5_000);
  scene.kill();
  await scene.start();
  await scene.pass(5_000);
  assert.deepEqual(reasons(scene), ['VolumeConditionAbnormal']);
  assert.equal(scene.events[0]?.about, 'a');
  say(null);
  await scene.pass(5_000);
  assert.deepEqual(reasons(scene), ['VolumeConditionAbnormal', 'VolumeConditionNormal']);
  assert.deepEqual(marks(scene), []);
});

test('a volume in danger that nobody has is told to whoever gets it', async () => {
  const scene = new DutyScene(1, VolumeHealth);
  scene.node('n1');
  scene.claim('a');
  const { spec } = scene.object(collections.volumes, 'pv-a') as unknown as { spec: object };
  scene.change(collections.volumes, 'pv-a', { spec: { claimRef: null } });
  const annotations = { [conditionAnnotation]: 'vg/lv: it is inactive' };
  scene.change(collections.logicalVolumes, 'pv-a', { metadata: { annotations } });
  await scene.start();
  assert.deepEqual(reasons(scene), []);
  scene.change(collections.volumes, 'pv-a', { spec: { ...spec } });
  await scene.pass(5_000);
  assert.deepEqual(reasons(scene), ['VolumeConditionAbnormal']);
});

test('claims of a node that is away hear of it after five minutes, and when it is back', async () => {
  const scene = new DutyScene(1, VolumeHealth);
  scene.node('n1');
  scene.node('n2');
  scene.claim('a');
  scene.claim('b', { node: 'n2' });
  await scene.start();
  scene.node('n1', ['node.kubernetes.io/unreachable']);
  await scene.pass(limits.nodeFailedMs / 2);
  scene.node('n1');
  await scene.pass(limits.nodeFailedMs);
  assert.deepEqual(reasons(scene), []);
  scene.node('n1', ['node.kubernetes.io/not-ready']);
  await scene.pass(limits.nodeFailedMs / 2);
  scene.node('n1', ['node.kubernetes.io/unreachable']);
  await scene.pass(limits.nodeFailedMs / 2 + 5_000);
  assert.deepEqual(
    scene.events.map(({ about, reason }) => `${about} ${reason}`),
    ['a NodeFailed'],
  );
  assert.deepEqual(marks(scene), [toldNodeAnnotation]);
  scene.api.delete(collections.nodes, 'n1');
  await scene.pass(2 * limits.nodeFailedMs);
  scene.node('n1');
  await scene.pass(5_000);
  assert.deepEqual(reasons(scene), ['NodeFailed', 'NodeRecovered']);
  assert.deepEqual(marks(scene), []);
});

test('an event is not repeated because its note met a conflict', async () => {
  const scene = new DutyScene(3, VolumeHealth);
  scene.node('n1');
  scene.claim('a');
  await scene.start();
  let writes = 0;
  scene.network.rates({ slow: 0.5 });
  const annotations = { [conditionAnnotation]: 'vg/lv: it is inactive' };
  scene.change(collections.logicalVolumes, 'pv-a', { metadata: { annotations } });
  for (let turn = 0; turn < 200; turn += 1) {
    await scene.pass(100);
    // The agent writes while the note is on its way.
    if (turn < 150) {
      writes += 1;
      const status = { currentSize: `${writes}Gi` };
      scene.change(collections.logicalVolumes, 'pv-a', { status });
    }
  }
  scene.network.rates({});
  await scene.pass(60_000);
  assert.deepEqual(reasons(scene), ['VolumeConditionAbnormal']);
  assert.deepEqual(marks(scene), [conditionAnnotation, toldConditionAnnotation]);
});

type ClaimStatusText = {
  readonly capacity?: { readonly storage: string };
  readonly allocatedResourceStatuses?: { readonly storage?: string };
  readonly currentVolumeAttributesClassName?: string;
  readonly modifyVolumeStatus?: { readonly status: string };
  readonly conditions?: readonly { readonly type: string; readonly message?: string }[];
};

function statusOf(scene: DutyScene, name: string): ClaimStatusText {
  return scene.object(collections.claims, name, 'ns')['status'] as ClaimStatusText;
}

function reasons(scene: DutyScene): readonly string[] {
  return scene.events.map(({ reason }) => reason);
}

function marks(scene: DutyScene): readonly string[] {
  const { annotations = {} } = scene.object(collections.logicalVolumes, 'pv-a').metadata as {
    readonly annotations?: Readonly<Record<string, string>>;
  };
  return Object.keys(annotations).toSorted();
}

/** The user's edit, as far as a server takes it. */
function request(scene: DutyScene, name: string, gib: number): void {
  const claim = scene.object(collections.claims, name, 'ns');
  const { resources } = claim['spec'] as {
    readonly resources: { readonly requests: { readonly storage: string } };
  };
  const isLess = gib * 2 ** 30 < Number(parse(resources.requests.storage));
  const has = Number(parse(statusOf(scene, name).capacity?.storage ?? '0'));
  if (isLess && gib * 2 ** 30 <= has) return;
  const storage = `${gib}Gi`;
  scene.change(collections.claims, name, { spec: { resources: { requests: { storage } } } });
}

/** What is not as it must be when everything has come to rest. */
function unsettled(scene: DutyScene, name: string): string {
  const claim = scene.object(collections.claims, name, 'ns');
  const { resources } = claim['spec'] as {
    readonly resources: { readonly requests: { readonly storage: string } };
  };
  const { capacity } = scene.object(collections.volumes, `pv-${name}`)['spec'] as {
    readonly capacity: { readonly storage: string };
  };
  const status = statusOf(scene, name);
  const has = parse(status.capacity?.storage ?? '0');
  const faults = [
    has < parse(resources.requests.storage) ? 'the claim has less than it asks for' : '',
    has === parse(capacity.storage) ? '' : 'claim and volume differ',
    has === scene.lvs.get(`lv-${name}`) ? '' : 'claim and LV differ',
    status.allocatedResourceStatuses?.storage ?? '',
    (status.conditions ?? []).map(({ type }) => type).join(),
  ];
  return faults.filter((fault) => fault !== '').join('; ');
}

test('what one claim was given is not told of another that bears its name', async () => {
  const scene = new DutyScene(1, Resizer);
  scene.claim('a');
  scene.claim('b');
  await scene.start();
  request(scene, 'a', 5);
  for (let turn = 0; turn < 100 && !reasons(scene).includes('Resizing'); turn += 1) {
    await scene.pass(10);
  }
  // Deleted and made again while its volume grew; bound to another volume, and asked for the same.
  const { spec, status } = scene.object(collections.claims, 'b', 'ns') as Json;
  scene.api.delete(collections.claims, 'b', 'ns');
  scene.api.delete(collections.claims, 'a', 'ns');
  scene.api.put(collections.claims, {
    metadata: { name: 'a', namespace: 'ns', uid: 'again' },
    ...{ spec: { ...(spec as object), resources: { requests: { storage: '5Gi' } } }, status },
  });
  const { uid } = scene.object(collections.claims, 'a', 'ns').metadata;
  const claimRef = { namespace: 'ns', name: 'a', uid };
  scene.change(collections.volumes, 'pv-b', { spec: { claimRef } });
  for (let turn = 0; turn < 1_000; turn += 1) {
    await scene.pass(10);
    const { capacity } = scene.object(collections.volumes, 'pv-b')['spec'] as {
      readonly capacity: { readonly storage: string };
    };
    const has = scene.lvs.get('lv-b') ?? 0n;
    assert.ok(parse(capacity.storage) <= has, `told ${capacity.storage}, has ${has}`);
  }
  assert.equal(scene.lvs.get('lv-b'), parse('5Gi'));
});
