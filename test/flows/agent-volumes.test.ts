import assert from 'node:assert/strict';
import test from 'node:test';
import { MiB } from '../../src/base/bytes.ts';
import { virtualBytes } from '../world/model.ts';
import { AgentScene, logicalVolumes } from './agent-scene.ts';

async function started(): Promise<AgentScene> {
  const scene = await AgentScene.begin();
  scene.start();
  return scene;
}

const isMade = (scene: AgentScene, name: string) => () =>
  (scene.object(name).status?.volumeID ?? '') !== '';

const hasCode = (scene: AgentScene, name: string) => () =>
  (scene.object(name).status?.code ?? 0) !== 0;

const isReleased = (scene: AgentScene, name: string) => () =>
  scene.api.one(logicalVolumes, name) === undefined;

test('a volume is made with one lvm run and told with one write, whole extents and all', async () => {
  const scene = await started();
  const { metadata } = scene.put('pvc-1', { size: '99Mi' });
  await scene.until('made', isMade(scene, 'pvc-1'));
  assert.deepEqual(scene.object('pvc-1').status, {
    ...{ volumeID: metadata.uid, currentSize: '100Mi', code: 0, message: '' },
  });
  assert.deepEqual(scene.writes(), ['PATCH pvc-1/status']);
  assert.equal(scene.runs().filter((run) => run === 'lvm lvcreate').length, 1);
  const tags = scene.lv('pvc-1')?.tags ?? [];
  assert.ok(tags.includes('quarry.pending') && tags.includes('quarry.name=pvc-1'));
});

test('what an older controller left out is put on before anything is made', async () => {
  const scene = await started();
  scene.put('pvc-1', { finalizers: [], labels: {} });
  await scene.until('made', isMade(scene, 'pvc-1'));
  const { finalizers, labels } = scene.object('pvc-1').metadata;
  assert.deepEqual(finalizers, ['topolvm.io/logicalvolume']);
  assert.equal(labels?.['topolvm.io/node'], 'n1');
  assert.deepEqual(scene.writes(), ['PATCH pvc-1', 'PATCH pvc-1/status']);
});

test('objects of other nodes, and those whose node is being deleted, are left alone', async () => {
  const scene = await started();
  scene.put('other', { nodeName: 'n2' });
  scene.put('leaving', { annotations: { 'topolvm.io/pendingdeletion': 'true' } });
  await scene.settle();
  assert.equal(scene.object('other').status, undefined);
  assert.equal(scene.object('leaving').status, undefined);
  assert.deepEqual(scene.runs(), []);
});

test('trap 7: no room is told as RESOURCE_EXHAUSTED, once, and only with nothing on the disks', async () => {
  const scene = await started();
  scene.put('pvc-1', { size: '900Gi' });
  await scene.until('told', hasCode(scene, 'pvc-1'));
  const { status } = scene.object('pvc-1');
  assert.equal(status?.code, 8);
  assert.match(
    status?.message ?? '',
    /^InsufficientCapacity: data can give .*Remedy: Add a device/,
  );
  assert.equal(status?.volumeID, undefined);
  assert.equal(scene.lv('pvc-1'), undefined);
  await scene.settle(120_000);
  assert.deepEqual(scene.writes(), ['PATCH pvc-1/status'], 'and it is not tried again');
  scene.delete('pvc-1');
  await scene.until('released', isReleased(scene, 'pvc-1'));
});

test('a class that this node does not have is told, and the object can go', async () => {
  const scene = await started();
  scene.put('pvc-1', { deviceClass: 'nowhere' });
  await scene.until('told', hasCode(scene, 'pvc-1'));
  assert.equal(scene.object('pvc-1').status?.code, 8);
  scene.delete('pvc-1');
  await scene.until('released', isReleased(scene, 'pvc-1'));
});

test('a size that is none is told as INVALID_ARGUMENT', async () => {
  const scene = await started();
  scene.put('pvc-1', { size: 'much' });
  await scene.until('told', hasCode(scene, 'pvc-1'));
  assert.equal(scene.object('pvc-1').status?.code, 3);
});

test('trap 1: killed between lvcreate and the status, the next life finds the volume by its UID', async () => {
  const scene = await started();
  scene.put('pvc-1');
  await scene.until('lvcreate', () => scene.lv('pvc-1') !== undefined);
  const before = scene.lv('pvc-1');
  scene.kill();
  assert.equal(scene.object('pvc-1').status, undefined);
  scene.start();
  await scene.until('told', isMade(scene, 'pvc-1'));
  assert.equal(scene.lv('pvc-1')?.uuid, before?.uuid);
  assert.equal(scene.object('pvc-1').status?.currentSize, '100Mi');
});

test('an answer that got lost changes nothing: the status is written again', async () => {
  const scene = await started();
  await scene.settle(200);
  scene.put('pvc-1');
  await scene.until('lvcreate', () => scene.lv('pvc-1') !== undefined);
  scene.transport.faults.push('lost-answer', 'unreachable');
  await scene.until('told', isMade(scene, 'pvc-1'));
  await scene.settle();
  assert.equal(scene.runs().filter((run) => run === 'lvm lvcreate').length, 1);
});

test('a volume grows when more is asked for, and a full group is told as OUT_OF_RANGE', async () => {
  const scene = await started();
  scene.put('pvc-1');
  await scene.until('made', isMade(scene, 'pvc-1'));
  scene.change('pvc-1', { spec: { size: '201Mi' } });
  await scene.until('grown', () => scene.object('pvc-1').status?.currentSize === '204Mi');
  const at = (time: string) => ({ annotations: { 'topolvm.io/resize-requested-at': time } });
  scene.change('pvc-1', { spec: { size: '900Gi' }, metadata: at('1') });
  await scene.until('told', hasCode(scene, 'pvc-1'));
  const { status } = scene.object('pvc-1');
  assert.equal(status?.code, 11);
  assert.equal(status?.currentSize, '204Mi', 'trap 18: what it has stays as it is');
  const writes = scene.writes().length;
  await scene.settle(60_000);
  assert.equal(scene.writes().length, writes, 'a refusal is told once');
  scene.change('pvc-1', { spec: { size: '250Mi' }, metadata: at('2') });
  await scene.until('grown', () => scene.object('pvc-1').status?.currentSize === '252Mi');
  assert.equal(scene.object('pvc-1').status?.code, 0);
});

test('trap 10: the LV goes first, then the finalizer', async () => {
  const scene = await started();
  scene.put('pvc-1', { finalizers: ['somebody/else', 'topolvm.io/logicalvolume'] });
  await scene.until('made', isMade(scene, 'pvc-1'));
  scene.delete('pvc-1');
  const isLeft = () => scene.object('pvc-1').metadata.finalizers?.length === 1;
  await scene.until('gone', () => scene.lv('pvc-1') === undefined);
  await scene.until('released', isLeft);
  assert.deepEqual(scene.object('pvc-1').metadata.finalizers, ['somebody/else']);
});

test('trap 11: with the group or the class away nothing is called gone', async () => {
  const scene = await started();
  scene.put('pvc-1');
  await scene.until('made', isMade(scene, 'pvc-1'));
  const { classes } = scene;
  scene.classes = [];
  scene.delete('pvc-1');
  await scene.settle(5_000);
  assert.equal(isReleased(scene, 'pvc-1')(), false, 'no class');
  assert.notEqual(scene.lv('pvc-1'), undefined);
  scene.classes = classes.map((each) => ({ ...each, vg: 'away' }));
  await scene.settle(90_000);
  assert.equal(isReleased(scene, 'pvc-1')(), false, 'no group');
  assert.match(scene.log.at(-1)?.message ?? '', /VolumeGroupMissing|VolumeGroupNotServed/);
  scene.classes = classes;
  scene.agent.lookAgain();
  await scene.until('released', isReleased(scene, 'pvc-1'));
  assert.equal(scene.lv('pvc-1'), undefined);
});

test('a group that is away keeps no volume from going that was seen in another', async () => {
  for (const isKilled of [false, true]) {
    const scene = await started();
    scene.put('pvc-1', { deviceClass: 'thick' });
    await scene.until('made', isMade(scene, 'pvc-1'));
    const [first] = scene.classes;
    assert.ok(first !== undefined);
    scene.classes = [...scene.classes, { ...first, name: 'other', isDefault: false, vg: 'away' }];
    scene.delete('pvc-1');
    await scene.until('gone', () => scene.lv('pvc-1') === undefined);
    // The API server is away when that is to be told, and perhaps so are we.
    scene.transport.faults.push(...Array.from({ length: 12 }, () => 'unreachable' as const));
    if (isKilled) {
      scene.kill();
      await scene.recover();
      scene.start();
    }
    await scene.until('released', isReleased(scene, 'pvc-1'));
    // Of what was never seen nobody knows where it was.
    const unknown = { code: 'VolumeGroupMissing' };
    await assert.rejects(scene.stage.run(scene.volumes.removeRecorded('no', 'volume')), unknown);
    // The group that it was in is away, and another one of the name is there.
    scene.noted.set('no', { vgUuid: 'uuid-of-another', isRemoved: false });
    await assert.rejects(scene.stage.run(scene.volumes.removeRecorded('no', 'volume')), unknown);
  }
});

test('a volume that was removed is let go though its class went with it', async () => {
  const scene = await started();
  scene.put('pvc-1', { deviceClass: 'thick' });
  await scene.until('made', isMade(scene, 'pvc-1'));
  scene.delete('pvc-1');
  await scene.until('gone', () => scene.lv('pvc-1') === undefined);
  // The API server is away when that is to be told.
  scene.transport.faults.push(...Array.from({ length: 12 }, () => 'unreachable' as const));
  scene.classes = scene.classes.filter(({ name }) => name !== 'thick');
  await scene.until('released', isReleased(scene, 'pvc-1'));
});

test('a volume of TopoLVM without currentSize and tags is served, grown and removed', async () => {
  const scene = await AgentScene.begin();
  const { uid } = scene.put('pvc-old').metadata;
  scene.lvcreate('--size', '104857600b', '--name', uid, 'data');
  scene.put('pvc-old', { status: { volumeID: uid } });
  await scene.stage.run(scene.stage.engine.observe());
  scene.start();
  const size = () => scene.object('pvc-old').status?.currentSize;
  await scene.until('filled', () => size() === '100Mi');
  assert.deepEqual(scene.lv('pvc-old')?.tags, [], 'it is left as it is');
  scene.change('pvc-old', { spec: { size: '200Mi' } });
  await scene.until('grown', () => size() === '200Mi');
  assert.equal((await scene.volumes.locate(uid)).lv.sizeBytes, 200n * MiB);
  scene.delete('pvc-old');
  await scene.until('released', isReleased(scene, 'pvc-old'));
  assert.equal(scene.lv('pvc-old'), undefined);
});

test('trap 12: what nobody names is not removed, whatever its name', async () => {
  const scene = await AgentScene.begin();
  scene.lvcreate('--size', '104857600b', '--name', 'foreign', 'data');
  await scene.stage.run(scene.stage.engine.observe());
  scene.start();
  scene.put('pvc-1');
  await scene.until('made', isMade(scene, 'pvc-1'));
  await assert.rejects(scene.stage.run(scene.volumes.removeRecorded('foreign', 'volume')), {
    code: 'NotOurs',
  });
});

test('TopoLVM was killed between lvcreate and the status: the volume it made is taken over', async () => {
  const scene = await AgentScene.begin();
  const { uid } = scene.put('pvc-old').metadata;
  scene.lvcreate('--size', '104857600b', '--name', uid, 'data');
  await scene.stage.run(scene.stage.engine.observe());
  scene.start();
  await scene.until('told', isMade(scene, 'pvc-old'));
  assert.equal(scene.object('pvc-old').status?.currentSize, '100Mi');
  assert.equal(scene.runs().includes('lvm lvcreate'), false);
});

test('a source that no object names is told as NOT_FOUND, and nothing is made', async () => {
  const scene = await started();
  scene.put('snap', { deviceClass: 'thin', source: 'pvc-1', accessType: 'ro' });
  await scene.until('told', hasCode(scene, 'snap'));
  assert.equal(scene.object('snap').status?.code, 5);
  assert.equal(scene.runs().includes('lvm lvcreate'), false);
});

test('made in any order, a snapshot waits for its volume and a clone for its snapshot', async () => {
  const scene = await AgentScene.begin();
  const thin = { deviceClass: 'thin' };
  scene.put('restored', { ...thin, source: 'snap', accessType: 'rw', size: '200Mi' });
  const snap = scene.put('snap', { ...thin, source: 'pvc-1', accessType: 'ro' });
  const source = scene.put('pvc-1', thin);
  scene.start();
  await scene.until('made', isMade(scene, 'restored'));
  assert.equal(scene.object('snap').status?.currentSize, '100Mi');
  assert.equal(scene.object('restored').status?.currentSize, '200Mi');
  const tags = scene.lv('restored')?.tags ?? [];
  assert.ok(tags.includes(`quarry.source=${snap.metadata.uid}`));
  assert.ok(tags.includes('quarry.from=snapshot'));
  assert.ok(scene.lv('snap')?.tags.includes(`quarry.source=${source.metadata.uid}`));
  assert.equal(virtualBytes(scene.lv('snap') ?? assert.fail()), 104857600);
});

test('trap 21: members of a group are taken together, when the last of them is here', async () => {
  const scene = await started();
  for (const name of ['a', 'b']) scene.put(name, { deviceClass: 'thin' });
  await scene.until('made', () => isMade(scene, 'a')() && isMade(scene, 'b')());
  const group = { id: 'g-1', size: 2, name: 'groupsnapshot-1' };
  const first = scene.member('snap-a', 'a', group);
  await scene.settle(1_000);
  assert.equal(scene.object('snap-a').status, undefined);
  const second = scene.member('snap-b', 'b', group);
  await scene.until('taken', () => isMade(scene, 'snap-a')() && isMade(scene, 'snap-b')());
  for (const { metadata } of [first, second]) {
    const tags = scene.lv(metadata.name)?.tags ?? [];
    assert.ok(tags.includes('quarry.group=g-1') && tags.includes('quarry.group-sealed'));
  }
  for (const name of ['snap-a', 'snap-b']) scene.delete(name);
  await scene.until('released', () =>
    ['snap-a', 'snap-b'].every((name) => isReleased(scene, name)()),
  );
  assert.equal(scene.lv('snap-a'), undefined);
});

test('for a group that is taken the server is asked once for each of its members', async () => {
  const scene = await started();
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  for (const name of names) scene.put(name, { deviceClass: 'thin', size: '8Mi' });
  await scene.until('made', () => names.every((name) => isMade(scene, name)()));
  const snaps = names.map((name) => `snap-${name}`);
  const group = { id: 'g-1', size: names.length, name: 'groupsnapshot-1' };
  for (const name of names) scene.member(`snap-${name}`, name, group);
  await scene.until('taken', () => snaps.every((name) => isMade(scene, name)()));
  const reads = scene.reads().filter((name) => name.startsWith('snap-'));
  assert.deepEqual(reads.toSorted(), snaps);
});

test('a group that cannot be taken fails as a whole and leaves nothing', async () => {
  const scene = await started();
  for (const name of ['a', 'b']) scene.put(name, { deviceClass: 'thin', size: '1500Mi' });
  scene.put('filler', { deviceClass: 'thin', size: '5Gi' });
  await scene.until('made', () => ['a', 'b', 'filler'].every((name) => isMade(scene, name)()));
  const group = { id: 'g-1', size: 2, name: 'groupsnapshot-1' };
  for (const name of ['a', 'b']) scene.member(`snap-${name}`, name, group);
  await scene.until('told', () => ['snap-a', 'snap-b'].every((name) => hasCode(scene, name)()));
  assert.equal(scene.lv('snap-a') ?? scene.lv('snap-b'), undefined);
  const messages = ['snap-a', 'snap-b'].map((name) => scene.object(name).status?.message ?? '');
  assert.ok(messages.some((message) => message.startsWith('InsufficientCapacityForSnapshot')));
  for (const name of ['snap-a', 'snap-b']) scene.delete(name);
  await scene.until('released', () =>
    ['snap-a', 'snap-b'].every((name) => isReleased(scene, name)()),
  );
});

test('while the API server is away what was begun ends, and is told when it is back', async () => {
  const scene = await started();
  scene.put('pvc-1');
  await scene.until('lvcreate', () => scene.runs().includes('lvm lvcreate'));
  for (let nth = 0; nth < 40; nth += 1) scene.transport.faults.push('unreachable');
  await scene.until('told', isMade(scene, 'pvc-1'));
  assert.equal(scene.runs().filter((run) => run === 'lvm lvcreate').length, 1);
});

test('told to stop, it ends what is under way and begins nothing more', async () => {
  const scene = await started();
  for (const name of ['a', 'b', 'c']) scene.put(name);
  await scene.until('begun', () => scene.runs().includes('lvm lvcreate'));
  await scene.stop();
  for (const name of ['a', 'b', 'c']) {
    assert.equal(isMade(scene, name)(), scene.lv(name) !== undefined, name);
  }
});

test('what is wrong with a volume stands in an annotation, and goes when it is well again', async () => {
  const scene = await started();
  scene.put('pvc-1');
  await scene.until('made', isMade(scene, 'pvc-1'));
  const { engine } = scene.stage;
  const condition = () => scene.object('pvc-1').metadata.annotations?.['quarry.io/condition'];
  const lv = scene.lv('pvc-1') ?? assert.fail();
  lv.isSuspended = true;
  scene.agent.looked((await scene.stage.run(engine.observe())).host);
  await scene.until('told', () => condition() !== undefined);
  assert.match(condition() ?? '', /suspended/);
  lv.isSuspended = false;
  scene.agent.looked((await scene.stage.run(engine.observe())).host);
  await scene.until('well', () => condition() === undefined);
});

test('an object that is gone, and in a store that lags is not, leaves no volume behind', async () => {
  const scene = await started();
  for (const name of ['pvc-2', 'pvc-3']) scene.put(name);
  // The list comes through, and no word about what was made of it.
  await scene.until('listed', () => scene.informer.hasSynced);
  for (let nth = 0; nth < 12; nth += 1) scene.transport.faults.push('unreachable');
  await scene.until('lvcreate', () => scene.lv('pvc-3') !== undefined);
  scene.transport.isHeld = true;
  scene.api.delete(logicalVolumes, 'pvc-3');
  scene.transport.faults.length = 0;
  await scene.until('taken back', () => scene.lv('pvc-3') === undefined);
  await scene.until('the other is told', isMade(scene, 'pvc-2'));
});

test('nothing is made for an object that an earlier life let go, and a list still has', async () => {
  const scene = await started();
  const lvcreates = () => scene.runs().filter((run) => run === 'lvm lvcreate').length;
  scene.put('pvc-1');
  await scene.until('made', isMade(scene, 'pvc-1'));
  scene.delete('pvc-1');
  await scene.until('released', isReleased(scene, 'pvc-1'));
  scene.kill();
  await scene.recover();
  // The server remembers what was before its status, its deletion and its end.
  scene.api.cacheLag = 3;
  scene.transport.isHeld = true;
  scene.stage.world.faults.next('lvcreate', { kind: 'killed', when: 'after' });
  scene.start();
  await scene.until('listed', () => scene.informer.get({ name: 'pvc-1' }) !== undefined);
  assert.equal(scene.informer.get({ name: 'pvc-1' })?.status, undefined);
  await scene.settle(2_000);
  scene.transport.isHeld = false;
  await scene.until('heard', () => scene.informer.get({ name: 'pvc-1' }) === undefined);
  await scene.settle(10_000);
  assert.equal(scene.lv('pvc-1'), undefined);
  assert.equal(lvcreates(), 1);
});

test('what was told as made is not made a second time, whatever a list says', async () => {
  const scene = await started();
  scene.put('pvc-1');
  await scene.until('made', isMade(scene, 'pvc-1'));
  scene.kill();
  scene.stage.world.admin.run('lvm', 'lvremove', '--yes', `data/${scene.lv('pvc-1')?.name}`);
  await scene.recover();
  // The server remembers what was before its status.
  scene.api.cacheLag = 1;
  scene.transport.isHeld = true;
  scene.start();
  await scene.until('listed', () => scene.informer.get({ name: 'pvc-1' }) !== undefined);
  assert.equal(scene.informer.get({ name: 'pvc-1' })?.status, undefined);
  await scene.settle(2_000);
  scene.transport.isHeld = false;
  await scene.until('heard', () => scene.informer.get({ name: 'pvc-1' })?.status !== undefined);
  await scene.settle(10_000);
  assert.equal(scene.lv('pvc-1'), undefined, 'an empty volume in the place of a lost one');
});

test('trap 20: a thick volume waits for its snapshots, which would be lost with it', async () => {
  const scene = await started();
  scene.put('pvc-1');
  await scene.until('made', isMade(scene, 'pvc-1'));
  scene.put('snap', { source: 'pvc-1', accessType: 'ro' });
  await scene.until('made', isMade(scene, 'snap'));
  scene.delete('pvc-1');
  await scene.settle(10_000);
  assert.notEqual(scene.lv('pvc-1'), undefined);
  assert.match(scene.log.at(-1)?.message ?? '', /^VolumeHasSnapshots/);
  scene.delete('snap');
  await scene.until('released', () => ['snap', 'pvc-1'].every((name) => isReleased(scene, name)()));
  assert.equal(scene.lv('pvc-1') ?? scene.lv('snap'), undefined);
});
