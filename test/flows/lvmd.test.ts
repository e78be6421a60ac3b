import assert from 'node:assert/strict';
import test from 'node:test';
import { GiB, MiB } from '../../src/base/bytes.ts';
import { pendingTag } from '../../src/core/tags.ts';
import { Publisher } from '../../src/engine/publisher.ts';
import { makeDevices } from '../world/devices.ts';
import { LvmdScene, mib, refusal } from './lvmd-scene.ts';
import { absence, raw, wish } from './publishing.ts';

test('a volume costs one lvm run and never carries the pending mark', async () => {
  const scene = await LvmdScene.begin();
  const made = await scene.create('u1', { tags: ['theirs'] });
  assert.deepEqual(scene.runs(), ['lvcreate']);
  assert.deepEqual(made.tags.toSorted(), ['quarry', 'quarry.class=thick', 'theirs']);
  assert.equal(made.sizeBytes, 100n * MiB);
  assert.equal(made.path, '/dev/data/u1');
  assert.match(made.attr, /^-wi-a/);
  assert.equal(made.devMajor, 254);
  assert.ok(!scene.lv('u1')?.tags.includes(pendingTag));
});

for (const deviceClass of ['thin', 'thick']) {
  test(`${deviceClass}: the same request again finds its volume, also after a restart`, async () => {
    const scene = await LvmdScene.begin();
    const first = await scene.create('u1', { deviceClass });
    assert.deepEqual(await scene.create('u1', { deviceClass }), first);
    scene.restart();
    assert.deepEqual(await scene.create('u1', { deviceClass }), first);
    assert.deepEqual(scene.runs(), ['lvcreate']);
  });

  test(`${deviceClass}: no snapshot or clone carries the pending mark either`, async () => {
    const scene = await LvmdScene.begin();
    await scene.create('u1', { deviceClass });
    await scene.snapshot('s1', 'u1', { deviceClass, tags: ['t'] });
    await scene.snapshot('c1', 's1', { deviceClass, accessType: 'rw', sizeBytes: mib(200) });
    await scene.snapshot('c2', 'u1', { deviceClass, accessType: 'rw' });
    assert.deepEqual((await scene.names(deviceClass)).toSorted(), ['c1', 'c2', 's1', 'u1']);
    const sizes = (await scene.list(deviceClass)).map(({ name, sizeBytes }) => [name, sizeBytes]);
    assert.deepEqual(new Map(sizes as [string, bigint][]).get('c1'), mib(200));
    for (const name of ['u1', 's1', 'c1', 'c2']) {
      assert.ok(!scene.lv(name)?.tags.includes(pendingTag), name);
    }
    assert.ok(scene.lv('s1')?.tags.includes('t'));
    assert.ok(scene.stage.world.unknown.length === 0);
  });

  test(`${deviceClass}: a snapshot or clone that is asked for again is the one that is there`, async () => {
    const scene = await LvmdScene.begin();
    await scene.create('u1', { deviceClass });
    for (const accessType of ['ro', 'rw']) {
      const given = { deviceClass, accessType, sizeBytes: mib(100) };
      const first = await scene.snapshot(accessType, 'u1', given);
      const before = scene.runs().length;
      assert.deepEqual(await scene.snapshot(accessType, 'u1', given), first);
      assert.equal(scene.runs().length, before);
    }
  });

  test(`${deviceClass}: a volume grows in one run, keeps its size when asked again, never shrinks`, async () => {
    const scene = await LvmdScene.begin();
    await scene.create('u1', { deviceClass });
    assert.equal(await scene.resize('u1', 201, deviceClass), mib(204));
    assert.equal(await scene.resize('u1', 201, deviceClass), mib(204));
    assert.deepEqual(scene.runs(), ['lvcreate', 'lvextend']);
    assert.match(
      await refusal(scene.resize('u1', 100, deviceClass)),
      /^OUT_OF_RANGE ShrinkRefused/,
    );
    assert.match(await refusal(scene.resize('no', 100, deviceClass)), /^NOT_FOUND/);
  });
}

test('a clone that was cut off is not listed before it is complete, and then it is', async () => {
  for (const deviceClass of ['thin', 'thick']) {
    for (let nth = 1; nth <= 5; nth += 1) {
      const scene = await LvmdScene.begin();
      await scene.create('u1', { deviceClass });
      const wanted = { name: 'c1', deviceClass, sourceVolume: 'u1', accessType: 'rw' };
      const request = { ...wanted, sizeBytes: mib(300) };
      let left = nth;
      const isNth = ({ effect }: { readonly effect: string }) => {
        if (effect === 'changes') left -= 1;
        return effect === 'changes' && left === 0;
      };
      scene.stage.world.faults.next(isNth, { kind: 'crash', when: 'during' });
      void scene.callLv('createLVSnapshot', request).catch(() => undefined);
      await scene.stage.world.clock.advance(120_000);
      const isDone = left > 0;
      scene.restart();
      await scene.run(scene.stage.engine.observe());
      const lv = scene.lv('c1');
      const seen = await scene.names(deviceClass);
      if (seen.includes('c1') && !isDone) {
        assert.equal((lv?.extents ?? 0) * (lv?.vg.extentBytes ?? 0), Number(mib(300)), `${nth}`);
        assert.ok(!lv?.tags.some((tag) => tag.startsWith('quarry.cop')), `${nth}`);
      }
      assert.ok(!seen.some((name) => name.endsWith('.copy')), `${nth}: ${seen.join(' ')}`);
      const { snapshot } = await scene.run(scene.callLv('createLVSnapshot', request));
      assert.equal(snapshot?.sizeBytes, mib(300));
      assert.deepEqual((await scene.names(deviceClass)).toSorted(), ['c1', 'u1']);
    }
  }
});

test("TopoLVM's own volumes, which carry no tag, are listed, grown and removed", async () => {
  const scene = await LvmdScene.begin();
  const { admin } = scene.stage.world;
  admin.run('lvm', 'lvcreate', '--yes', '--size', '8m', '--name', 'theirs', 'data');
  assert.equal(await scene.resize('theirs', 16), mib(16));
  assert.deepEqual(await scene.names(), ['theirs']);
  assert.match(await refusal(scene.create('theirs')), /^ALREADY_EXISTS .*made by somebody else/);
  await scene.remove('theirs');
  assert.equal(scene.lv('theirs'), undefined);
});

test('a thin pool is nothing to be removed', async () => {
  const scene = await LvmdScene.begin();
  assert.match(await refusal(scene.remove('pool', 'thin')), /^FAILED_PRECONDITION NotOurs/);
});

test('"removed" is said only of what a look did not find', async () => {
  const scene = await LvmdScene.begin();
  await scene.remove('never-was');
  const { admin, machine } = scene.stage.world;
  // Made by somebody else since the last look: it must not be taken for gone.
  admin.run('lvm', 'lvcreate', '--yes', '--size', '8m', '--name', 'new', 'data');
  await scene.remove('new');
  assert.equal(scene.lv('new'), undefined);
  assert.match(await refusal(scene.remove('u1', 'no')), /^FAILED_PRECONDITION UnknownDeviceClass/);
  for (const device of machine.devices) admin.pull(device.path);
  assert.match(await refusal(scene.remove('u1')), /^UNAVAILABLE VolumeGroupMissing/);
});

test('nothing is told or done in another group that took the name of the one that is away', async () => {
  const scene = await LvmdScene.begin();
  await scene.create('u1');
  const { world } = scene.stage;
  const vgUuid = world.vg('data')?.uuid;
  assert.ok(vgUuid !== undefined);
  scene.classes = scene.classes.map((each) => ({ ...each, vgUuid }));
  const own = world.machine.devices.map(({ path }) => path);
  for (const path of own) world.admin.pull(path);
  world.machine.devices.push(...makeDevices([{ path: '/dev/sdx', sizeBytes: GiB }], world.chance));
  world.admin.run('lvm', 'vgcreate', '--yes', 'theirs', '/dev/sdx');
  world.admin.run('lvm', 'lvcreate', '--yes', '--size', '8m', '--name', 'theirs', 'theirs');
  // As on the node that this disk comes from.
  world.admin.vgrename('theirs', 'data');
  const isOther =
    /^FAILED_PRECONDITION VolumeGroupLost: data was .* and is another volume group now/;
  for (const name of ['u1', 'theirs']) {
    assert.match(await refusal(scene.remove(name)), isOther);
    assert.match(await refusal(scene.resize(name, 200)), isOther);
  }
  assert.match(await refusal(scene.list('thick')), isOther);
  assert.match(await refusal(scene.create('u2')), /^FAILED_PRECONDITION/);
  assert.ok(scene.lv('theirs') !== undefined);
});

test('a volume that its class left behind in another group is not called removed', async () => {
  const scene = await LvmdScene.begin();
  const name = 'e3ba9c6c-5c3c-4b8e-9c43-0c6a2f7f8d11';
  await scene.create(name);
  const [thin, thick] = scene.classes;
  assert.ok(thin !== undefined && thick !== undefined);
  const { world } = scene.stage;
  world.machine.devices.push(...makeDevices([{ path: '/dev/sdx', sizeBytes: GiB }], world.chance));
  world.admin.run('lvm', 'vgcreate', '--yes', 'other', '/dev/sdx');
  scene.classes = [thin, { ...thick, vg: 'other' }];
  assert.match(await refusal(scene.remove(name)), /^INVALID_ARGUMENT .*is in data/);
  assert.ok(scene.lv(name) !== undefined);
});

test('a volume that is shown, raw or mounted, is not removed', async () => {
  const scene = await LvmdScene.begin();
  await scene.create('u1');
  const { stage } = scene;
  const { engine, host } = stage;
  const trace = () => undefined;
  const publisher = new Publisher({ engine, host, clock: stage.world.clock, trace });
  const volume = { vg: 'data', name: 'u1', uuid: scene.lv('u1')?.uuid ?? '' };
  // Without a mark it holds data: only a raw device can be shown of it.
  const shown = await scene.run(publisher.publish(wish(volume, { access: raw })));
  assert.equal(shown.kind, 'settled');
  assert.match(await refusal(scene.remove('u1')), /^FAILED_PRECONDITION VolumeInUse.*shown at/);
  await scene.run(publisher.unpublish(absence(volume)));
  await scene.remove('u1');
  assert.equal(scene.lv('u1'), undefined);
});

test('a source of a copy that runs is not removed', async () => {
  const scene = await LvmdScene.begin();
  await scene.create('u1');
  await scene.snapshot('s1', 'u1');
  scene.stage.world.faults.next('dd', { kind: 'crash', when: 'before' });
  const request = { name: 'c1', deviceClass: 'thick', sourceVolume: 's1', accessType: 'rw' };
  void scene.callLv('createLVSnapshot', request).catch(() => undefined);
  await scene.stage.world.clock.advance(60_000);
  scene.restart();
  await scene.run(scene.stage.engine.observe());
  assert.match(await refusal(scene.remove('s1')), /^FAILED_PRECONDITION VolumeInUse.*c1/);
  await scene.remove('c1');
  await scene.remove('s1');
  assert.deepEqual(await scene.names(), ['u1']);
});

type Row = readonly [title: string, ask: (scene: LvmdScene) => Promise<unknown>, words: RegExp];

const refusals: readonly Row[] = [
  ['an unknown class', (scene) => scene.create('u2', { deviceClass: 'no' }), /^NOT_FOUND Unknown/],
  [
    'an unknown option class',
    (scene) => scene.create('u2', { lvcreateOptionClass: 'no' }),
    /^INTERNAL UnknownOptionClass/,
  ],
  [
    'more than there is',
    (scene) => scene.create('u2', { sizeBytes: 100n * GiB }),
    /^RESOURCE_EXHAUSTED InsufficientCapacity: .*100 GiB/,
  ],
  [
    'growth beyond what there is',
    (scene) => scene.resize('u1', 100 * 1024),
    /^RESOURCE_EXHAUSTED InsufficientCapacityToExpand/,
  ],
  ['nothing', (scene) => scene.create('u2', { sizeBytes: 0n }), /^INVALID_ARGUMENT InvalidSize/],
  ['no name', (scene) => scene.create(''), /^INVALID_ARGUMENT InvalidRequest/],
  [
    'another size for a name that is taken',
    (scene) => scene.create('u1', { sizeBytes: mib(200) }),
    /^ALREADY_EXISTS VolumeDiffers.*of 104857600 bytes/,
  ],
  [
    'another class for a name that is taken',
    (scene) => scene.create('u1', { deviceClass: 'thin' }),
    /^ALREADY_EXISTS VolumeDiffers.*in class thick/,
  ],
  [
    'a pending mark from outside',
    (scene) => scene.create('u2', { tags: ['quarry.pending'] }),
    /^INVALID_ARGUMENT InvalidRequest.*are ours/,
  ],
  [
    'a tag that LVM cannot have',
    (scene) => scene.create('u2', { tags: ['a b'] }),
    /^INVALID_ARGUMENT InvalidRequest.*"a b"/,
  ],
  [
    'a snapshot smaller than its source',
    (scene) => scene.snapshot('s', 'u1', { sizeBytes: mib(50) }),
    /^OUT_OF_RANGE SourceLarger/,
  ],
  [
    'a clone smaller than its source',
    (scene) => scene.snapshot('s', 'u1', { sizeBytes: mib(50), accessType: 'rw' }),
    /^OUT_OF_RANGE SourceLarger/,
  ],
  [
    'a read-only snapshot larger than its source',
    (scene) => scene.snapshot('s', 'u1', { sizeBytes: mib(200) }),
    /^OUT_OF_RANGE SizeOutOfRange/,
  ],
  ['a snapshot of nothing', (scene) => scene.snapshot('s', 'no'), /^NOT_FOUND SourceNotFound/],
  [
    'a snapshot of a pool',
    (scene) => scene.snapshot('s', 'pool', { deviceClass: 'thin' }),
    /^UNIMPLEMENTED SnapshotsUnsupported/,
  ],
  [
    'a snapshot to be neither read nor written',
    (scene) => scene.snapshot('s', 'u1', { accessType: '' }),
    /^INVALID_ARGUMENT InvalidRequest.*ro or rw/,
  ],
  ['a list of an unknown class', (scene) => scene.list('no'), /^NOT_FOUND Unknown/],
  ['the room of an unknown class', (scene) => scene.free('no'), /^NOT_FOUND Unknown/],
];

for (const [title, ask, words] of refusals) {
  test(`refuses ${title}, and does nothing`, async () => {
    const scene = await LvmdScene.begin();
    await scene.create('u1');
    assert.match(await refusal(ask(scene)), words);
    assert.deepEqual(scene.runs(), ['lvcreate']);
  });
}

test('no class named means the default one', async () => {
  const scene = await LvmdScene.begin();
  await scene.create('u1', { deviceClass: '' });
  assert.deepEqual(await scene.names('thin'), ['u1']);
  assert.deepEqual(await scene.names('thick'), []);
});

test('a caller that goes away loses the wait, and the same request finds the volume', async () => {
  const scene = await LvmdScene.begin();
  const abort = new AbortController();
  const request = { name: 'u1', deviceClass: 'thick', sizeBytes: mib(100) };
  const left = scene.callLv('createLV', request, abort.signal);
  abort.abort();
  assert.match(await refusal(left), /^CANCELLED/);
  const again = await scene.create('u1');
  assert.equal(again.name, 'u1');
  assert.deepEqual(scene.runs(), ['lvcreate']);
});

test('free room is the group without the spare, and of a pool what it may promise', async () => {
  const scene = await LvmdScene.begin();
  const vg = scene.stage.engine.model.newest?.host.vgs[0];
  assert.ok(vg !== undefined);
  assert.equal(await scene.free('thick'), vg.freeBytes - 64n * MiB);
  const pool = vg.lvs.find(({ kind }) => kind === 'thin-pool');
  assert.ok(pool !== undefined);
  await scene.create('t1', { deviceClass: 'thin' });
  assert.equal(await scene.free('thin'), 2n * pool.sizeBytes - mib(100));
});

test('a watcher hears at once, after each change of the figures, and every ten minutes', async () => {
  const scene = await LvmdScene.begin();
  const abort = new AbortController();
  const stream = scene.watch(abort.signal);
  const next = async () => (await scene.run(stream.next())).value;
  const first = await next();
  const [thin, thick] = first?.items ?? [];
  assert.ok(thin?.thinPool !== undefined && thick !== undefined);
  assert.equal(first?.freeBytes, thin.thinPool.overprovisionBytes, 'of the default class');
  assert.equal(thick.thinPool, undefined);
  const looks = () => scene.stage.world.spawns.get('lvm fullreport');
  await scene.create('u1');
  const before = looks();
  const second = await next();
  assert.equal(second?.items[1]?.freeBytes, thick.freeBytes - mib(100));
  const startedAtMs = scene.stage.world.clock.nowMs();
  assert.deepEqual(await next(), second);
  assert.equal(scene.stage.world.clock.nowMs() - startedAtMs, 600_000);
  assert.equal(looks(), before, 'a watcher runs no lvm');
  const last = stream.next();
  abort.abort();
  assert.deepEqual(await last, { done: true, value: undefined });
});

test('who was told that a volume is gone finds its room with the first figures', async () => {
  const scene = await LvmdScene.begin();
  const before = await scene.free('thick');
  await scene.create('u1');
  await scene.remove('u1');
  const stream = scene.watch(new AbortController().signal);
  const { value } = await scene.run(stream.next());
  assert.equal(value?.items[1]?.freeBytes, before);
  await stream.return(undefined);
});

test('a slow watcher gets the newest figures only, and a look that fails ends nothing', async () => {
  const scene = await LvmdScene.begin();
  const stream = scene.watch(new AbortController().signal);
  await scene.run(stream.next());
  for (const name of ['a', 'b', 'c']) await scene.create(name);
  scene.stage.world.faults.next('fullreport', { kind: 'fail' });
  await scene.run(scene.stage.engine.observe()).catch(() => undefined);
  const { value } = await scene.run(stream.next());
  assert.equal(value?.items[1]?.freeBytes, await scene.free('thick'));
  await stream.return(undefined);
});

test('a class whose group is gone offers nothing, instead of its last figures', async () => {
  const scene = await LvmdScene.begin();
  const { admin, machine } = scene.stage.world;
  for (const device of machine.devices) admin.pull(device.path);
  await scene.run(scene.stage.engine.observe());
  const stream = scene.watch(new AbortController().signal);
  const { value } = await scene.run(stream.next());
  assert.equal(value?.freeBytes, 0n);
  const [thin, thick] = value?.items ?? [];
  assert.deepEqual([thin?.freeBytes, thin?.thinPool?.overprovisionBytes], [0n, 0n]);
  assert.deepEqual([thick?.freeBytes, thick?.thinPool], [0n, undefined]);
  await stream.return(undefined);
});
