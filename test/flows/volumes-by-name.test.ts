import assert from 'node:assert/strict';
import test from 'node:test';
import { bytes, GiB, MiB } from '../../src/base/bytes.ts';
import { type CreateVolume, Volumes } from '../../src/csi/volumes.ts';
import { PublishingStage, raw } from './publishing.ts';

/** The driver's store on the stage's node. A restart of the process gives a new one. */
class Scene {
  readonly stage = new PublishingStage();
  volumes: Volumes;
  #ids = 0;

  private constructor() {
    this.volumes = this.#life();
  }

  static async begin(): Promise<Scene> {
    const scene = new Scene();
    await scene.stage.setUp();
    return scene;
  }

  restart(): void {
    this.stage.restart();
    this.volumes = this.#life();
  }

  create(name: string, given: Partial<CreateVolume> & { readonly mib?: number } = {}) {
    const { mib = 100, ...rest } = given;
    return this.run(this.volumes.create({ ...request(name, mib), ...rest }));
  }

  run<T>(work: Promise<T>): Promise<T> {
    return this.stage.run(work);
  }

  runs(): readonly string[] {
    return this.stage.ran.map(({ argv }) => argv.slice(0, 2).join(' '));
  }

  #newId(): string {
    this.#ids += 1;
    return `id-${this.#ids}`;
  }

  #life(): Volumes {
    return new Volumes({
      engine: this.stage.engine,
      publisher: this.stage.publisher,
      classes: () => this.stage.node.deviceClasses,
      newId: () => this.#newId(),
      nowMs: () => this.stage.world.clock.nowMs(),
    });
  }
}

function request(name: string, mib: number): CreateVolume {
  const range = { requiredBytes: bytes(BigInt(mib) * MiB), limitBytes: 0n };
  const uses = [{ fsType: 'ext4' }];
  return { name, className: 'thick', optionClass: '', range, uses, source: undefined };
}

const range = (mib: number, limitMib = 0) => ({
  requiredBytes: BigInt(mib) * MiB,
  limitBytes: BigInt(limitMib) * MiB,
});

test('a volume has an id of its own, its name in a tag, and costs one lvm run', async () => {
  const scene = await Scene.begin();
  const record = await scene.create('pvc-1');
  assert.equal(record.id, 'id-1');
  assert.equal(record.name, 'pvc-1');
  assert.equal(record.className, 'thick');
  assert.equal(record.sizeBytes, 100n * MiB);
  assert.deepEqual(scene.runs(), ['lvm lvcreate']);
});

test('the same request finds its result, also after a restart', async () => {
  const scene = await Scene.begin();
  const first = await scene.create('pvc-1');
  scene.restart();
  const again = await scene.create('pvc-1');
  assert.equal(again.id, first.id);
  assert.equal(again.lv.uuid, first.lv.uuid);
  assert.deepEqual(scene.runs(), ['lvm lvcreate']);
});

test('ten requests of one name at once make one volume', async () => {
  const scene = await Scene.begin();
  const all = Array.from({ length: 10 }, () => scene.volumes.create(request('pvc-1', 100)));
  const records = await scene.run(Promise.all(all));
  assert.equal(new Set(records.map(({ id }) => id)).size, 1);
  assert.deepEqual(scene.runs(), ['lvm lvcreate']);
});

test('a caller that goes away loses the wait, and the same request finds the volume', async () => {
  const scene = await Scene.begin();
  const abort = new AbortController();
  const left = scene.volumes.create(request('pvc-1', 100), abort.signal);
  const again = scene.volumes.create(request('pvc-1', 100));
  abort.abort();
  await assert.rejects(left, { code: 'Cancelled' });
  assert.equal((await scene.run(again)).id, 'id-1');
  assert.deepEqual(scene.runs(), ['lvm lvcreate']);
});

test('a process that dies while it makes a volume finds it, or makes it, in its next life', async () => {
  for (const when of ['before', 'during', 'after'] as const) {
    const scene = await Scene.begin();
    scene.stage.world.faults.next('lvcreate', { kind: 'crash', when });
    void scene.volumes.create(request('pvc-1', 100)).catch(() => undefined);
    await scene.stage.world.clock.advance(60_000);
    scene.restart();
    await scene.create('pvc-1');
    const records = await scene.run(scene.volumes.records());
    assert.deepEqual(
      records.map(({ name }) => name),
      ['pvc-1'],
      when,
    );
  }
});

const differing: readonly (readonly [string, Partial<CreateVolume>, RegExp])[] = [
  ['another class', { className: 'thin' }, /in class thick/],
  ['more than it has', { range: range(200) }, /of 104857600 bytes/],
  ['less than it has', { range: range(20, 50) }, /of 104857600 bytes/],
];

for (const [title, given, message] of differing) {
  test(`a name is taken when it is asked for with ${title}`, async () => {
    const scene = await Scene.begin();
    await scene.create('pvc-1');
    await assert.rejects(scene.create('pvc-1', given), { code: 'VolumeDiffers', message });
    assert.deepEqual(scene.runs(), ['lvm lvcreate']);
  });
}

test('a repeated request that leaves more room is the same', async () => {
  const scene = await Scene.begin();
  const first = await scene.create('pvc-1');
  const again = await scene.create('pvc-1', { range: range(90, 120) });
  assert.equal(again.id, first.id);
});

test('a limit that whole extents cannot keep is told before anything is done', async () => {
  const scene = await Scene.begin();
  const tight = { requiredBytes: 101n * MiB, limitBytes: 102n * MiB };
  await assert.rejects(scene.create('pvc-1', { range: tight }), { code: 'SizeOutOfRange' });
  assert.deepEqual(scene.runs(), []);
});

test('growing costs one run, and is done when it is there', async () => {
  const scene = await Scene.begin();
  const { id } = await scene.create('pvc-1');
  const grown = await scene.run(scene.volumes.expand(id, range(200)));
  assert.equal(grown.sizeBytes, 200n * MiB);
  assert.equal((await scene.run(scene.volumes.expand(id, range(150)))).sizeBytes, 200n * MiB);
  assert.deepEqual(scene.runs(), ['lvm lvcreate', 'lvm lvextend']);
});

test('what is not there is not found, unless its group is away', async () => {
  const scene = await Scene.begin();
  await assert.rejects(scene.run(scene.volumes.expand('no', range(1))), { code: 'VolumeNotFound' });
  await scene.run(scene.volumes.remove('volume', 'no'));
  const { machine } = scene.stage.world;
  for (const device of machine.devices) scene.stage.world.admin.pull(device.path);
  await scene.run(scene.stage.engine.observe());
  const away = { code: 'VolumeGroupMissing', message: /data/ };
  await assert.rejects(scene.run(scene.volumes.expand('no', range(1))), away);
  await assert.rejects(scene.run(scene.volumes.remove('volume', 'no')), away);
});

test('removing costs one run and can be repeated', async () => {
  const scene = await Scene.begin();
  const { id } = await scene.create('pvc-1');
  await scene.run(scene.volumes.remove('volume', id));
  await scene.run(scene.volumes.remove('volume', id));
  assert.deepEqual(await scene.run(scene.volumes.records()), []);
  assert.deepEqual(scene.runs(), ['lvm lvcreate', 'lvm lvremove']);
});

test('a raw volume that is shown is not removed, though nobody has it open', async () => {
  const scene = await Scene.begin();
  const { id, lv } = await scene.create('pvc-1');
  const volume = { vg: 'data', name: id, uuid: lv.uuid };
  await scene.stage.publish(volume, { access: raw });
  const removal = scene.run(scene.volumes.remove('volume', id));
  await assert.rejects(removal, { code: 'VolumeInUse', message: /\/var\/lib\/kubelet/ });
  await scene.stage.unpublish(volume);
  await scene.run(scene.volumes.remove('volume', id));
  assert.deepEqual(await scene.run(scene.volumes.records()), []);
});

test('a handle is never used twice', async () => {
  const scene = await Scene.begin();
  const first = await scene.create('pvc-1');
  await scene.run(scene.volumes.remove('volume', first.id));
  const second = await scene.create('pvc-1');
  assert.notEqual(second.id, first.id);
  await scene.run(scene.volumes.remove('volume', first.id));
  assert.equal((await scene.run(scene.volumes.get('volume', second.id))).name, 'pvc-1');
});

test("somebody else's volume is not removed, whatever id is given", async () => {
  const scene = await Scene.begin();
  const { admin } = scene.stage.world;
  admin.run('lvm', 'lvcreate', '--yes', '--size', '8m', '--name', 'theirs', 'data');
  await scene.run(scene.stage.engine.observe());
  await assert.rejects(scene.run(scene.volumes.remove('volume', 'theirs')), { code: 'NotOurs' });
  assert.ok(scene.stage.world.lv('data', 'theirs') !== undefined);
});

for (const className of ['thin', 'thick']) {
  test(`${className}: a snapshot is found by its name, tells one time, and can be restored`, async () => {
    const scene = await Scene.begin();
    const { id } = await scene.create('pvc-1', { className });
    const snapshot = await scene.run(scene.volumes.snapshot({ name: 'snap', sourceId: id }));
    assert.deepEqual([snapshot.kind, snapshot.sourceId], ['snapshot', id]);
    await scene.stage.world.clock.advance(5_000);
    const again = await scene.run(scene.volumes.snapshot({ name: 'snap', sourceId: id }));
    assert.deepEqual([again.id, again.createdMs], [snapshot.id, snapshot.createdMs]);
    const source = { kind: 'snapshot', id: snapshot.id } as const;
    const restored = await scene.create('pvc-2', { className, source, mib: 200 });
    assert.equal(restored.sizeBytes, 200n * MiB);
    assert.deepEqual([restored.sourceId, restored.sourceKind], [snapshot.id, 'snapshot']);
    await scene.run(scene.volumes.remove('snapshot', snapshot.id));
    const repeated = await scene.create('pvc-2', { className, source, mib: 200 });
    assert.equal(repeated.id, restored.id, 'a complete restore needs its source no more');
  });

  test(`${className}: a clone that is cut off at any command is the same clone in the end`, async () => {
    for (let nth = 1; nth <= 6; nth += 1) {
      const scene = await Scene.begin();
      const { id } = await scene.create('pvc-1', { className });
      const source = { kind: 'volume', id } as const;
      const wanted = { ...request('pvc-2', 300), className, source };
      let left = nth;
      const isNth = ({ effect }: { readonly effect: string }) => {
        if (effect === 'changes') left -= 1;
        return effect === 'changes' && left === 0;
      };
      scene.stage.world.faults.next(isNth, { kind: 'crash', when: 'during' });
      void scene.volumes.create(wanted).catch(() => undefined);
      await scene.stage.world.clock.advance(120_000);
      scene.restart();
      const clone = await scene.run(scene.volumes.create(wanted));
      assert.equal(clone.sizeBytes, 300n * MiB);
      const names = (await scene.run(scene.volumes.records())).map(({ name }) => name);
      assert.deepEqual(new Set(names), new Set(['pvc-1', 'pvc-2']));
      assert.equal(names.length, 2);
      const lvs = scene.stage.world.vg('data')?.lvs.map((lv) => lv.name) ?? [];
      assert.ok(!lvs.some((name) => name.endsWith('.copy')), `${nth}: ${lvs.join(' ')}`);
    }
  });
}

test('a thick origin with snapshots is neither removed nor grown, and both say why', async () => {
  const scene = await Scene.begin();
  const { id } = await scene.create('pvc-1');
  const snapshot = await scene.run(scene.volumes.snapshot({ name: 'snap', sourceId: id }));
  const named = new RegExp(snapshot.id);
  await assert.rejects(scene.run(scene.volumes.remove('volume', id)), {
    code: 'VolumeHasSnapshots',
    message: named,
  });
  await assert.rejects(scene.run(scene.volumes.expand(id, range(200))), {
    code: 'GrowUnsupported',
    message: named,
  });
});

test('a snapshot keeps its name from other sources, and is no volume', async () => {
  const scene = await Scene.begin();
  const first = await scene.create('pvc-1');
  const second = await scene.create('pvc-2');
  const snapshot = await scene.run(scene.volumes.snapshot({ name: 's', sourceId: first.id }));
  const taken = scene.volumes.snapshot({ name: 's', sourceId: second.id });
  await assert.rejects(scene.run(taken), { code: 'VolumeDiffers' });
  const removal = scene.volumes.remove('volume', snapshot.id);
  await assert.rejects(scene.run(removal), { code: 'InvalidRequest' });
  const lost = scene.volumes.snapshot({ name: 't', sourceId: 'no' });
  await assert.rejects(scene.run(lost), { code: 'SourceNotFound' });
});

test('capacity is what a class can give, and nothing where there is no such class', async () => {
  const scene = await Scene.begin();
  const thick = await scene.run(scene.volumes.capacity('thick', ''));
  assert.ok(thick !== undefined && thick.largestBytes > GiB);
  assert.equal(await scene.run(scene.volumes.capacity('no', '')), undefined);
  assert.equal(await scene.run(scene.volumes.capacity('thick', 'no')), undefined);
});

test('a request whose last look failed finds what it made', async () => {
  const scene = await Scene.begin();
  const warm = await scene.create('warm');
  const loseAnswer = () => {
    scene.stage.world.faults.next('lvcreate', { kind: 'killed', when: 'after' });
    scene.stage.world.faults.next('fullreport', { kind: 'fail' });
  };
  loseAnswer();
  await assert.rejects(scene.create('pvc-1'));
  await scene.create('pvc-1');
  loseAnswer();
  const snapshot = { name: 'snap', sourceId: warm.id };
  await assert.rejects(scene.run(scene.volumes.snapshot(snapshot)));
  await scene.run(scene.volumes.snapshot(snapshot));
  const names = (await scene.run(scene.volumes.records())).map(({ name }) => name);
  assert.deepEqual(names, ['warm', 'pvc-1', 'snap']);
});

test('a volume in a group that no class names any more is not called gone', async () => {
  const scene = await Scene.begin();
  const { id } = await scene.create('pvc-1');
  const elsewhere = scene.stage.node.deviceClasses.map((entry) => ({ ...entry, vg: 'other' }));
  const blind = new Volumes({
    engine: scene.stage.engine,
    publisher: scene.stage.publisher,
    classes: () => elsewhere.slice(0, 0),
    newId: () => 'none',
    nowMs: () => 0,
  });
  const refusal = { code: 'VolumeGroupNotServed', message: /data\/id-1/ };
  await assert.rejects(scene.run(blind.remove('volume', id)), refusal);
});

test('what stands between a clone and its end is told, and nothing is left of it', async () => {
  const scene = await Scene.begin();
  const { id } = await scene.create('pvc-1', { mib: 300 });
  const source = { kind: 'volume', id } as const;
  // Somebody's own volume has the name of the snapshot that the copy is read from.
  const { admin } = scene.stage.world;
  admin.run('lvm', 'lvcreate', '--yes', '--size', '8m', '--name', 'id-2.copy', 'data');
  await scene.run(scene.stage.engine.observe());
  await assert.rejects(scene.create('pvc-2', { source, mib: 300 }), { code: 'VolumeDiffers' });
  const names = (await scene.run(scene.volumes.records())).map(({ name }) => name);
  assert.deepEqual(names, ['pvc-1']);
  assert.ok(scene.stage.world.lv('data', 'id-2.copy') !== undefined);
});

test('the source of a copy is not removed while the copy runs, whenever that is asked', async () => {
  for (const afterMs of [0, 60, 120, 200, 400, 900]) {
    const scene = await Scene.begin();
    const volume = await scene.create('pvc-1', { mib: 300 });
    const snapshot = await scene.run(scene.volumes.snapshot({ name: 'snap', sourceId: volume.id }));
    const source = { kind: 'snapshot', id: snapshot.id } as const;
    const copy = scene.volumes.create({ ...request('pvc-2', 300), source });
    const ended = copy.then(
      () => 'made',
      (error: { readonly code: string }) => error.code,
    );
    await scene.stage.world.clock.advance(afterMs);
    const removal = scene.volumes.remove('snapshot', snapshot.id).then(
      () => 'removed',
      (error: { readonly code: string }) => error.code,
    );
    const [made, removed] = await scene.run(Promise.all([ended, removal]));
    const names = (await scene.run(scene.volumes.records())).map(({ name }) => name);
    assert.equal(names.includes('pvc-2'), made === 'made', `${afterMs}: ${made}, ${removed}`);
    if (made === 'made' && removed === 'removed') assert.ok(!names.includes('snap'));
  }
});

for (const className of ['thin', 'thick']) {
  test(`${className}: a copy of what nobody used yet is as good as new`, async () => {
    const scene = await Scene.begin();
    const unused = await scene.create('pvc-1', { className, mib: 300 });
    const snapshot = await scene.run(scene.volumes.snapshot({ name: 'snap', sourceId: unused.id }));
    const sources = [
      { kind: 'volume', id: unused.id },
      { kind: 'snapshot', id: snapshot.id },
    ] as const;
    for (const [index, source] of sources.entries()) {
      const clone = await scene.create(`copy-${index}`, { className, source, mib: 300 });
      const volume = { vg: 'data', name: clone.id, uuid: clone.lv.uuid };
      const outcome = await scene.stage.publish(volume, { targetPath: `/p/${index}` });
      assert.equal(outcome.kind, 'settled', source.kind);
    }
  });
}

test('one odd tag of somebody else harms nobody', async () => {
  const scene = await Scene.begin();
  const { admin } = scene.stage.world;
  admin.run('lvm', 'lvcreate', '--yes', '--size', '8m', '--name', 'theirs', 'data');
  admin.run('lvm', 'lvchange', '--addtag', 'quarry.role=!ffffff.', 'data/theirs');
  await scene.run(scene.stage.engine.observe());
  await scene.create('pvc-1');
  assert.equal((await scene.run(scene.volumes.records())).length, 1);
});

test('the id of a volume that an administrator removed is never given to another', async () => {
  const scene = await Scene.begin();
  const first = await scene.create('pvc-1');
  const { id: snapshotId } = await scene.run(
    scene.volumes.snapshot({ name: 'snap', sourceId: first.id }),
  );
  scene.stage.world.admin.run('lvm', 'lvremove', '--yes', `data/${snapshotId}`);
  scene.stage.world.admin.run('lvm', 'lvremove', '--yes', `data/${first.id}`);
  const second = await scene.create('pvc-1');
  assert.notEqual(second.id, first.id);
  const again = await scene.run(scene.volumes.snapshot({ name: 'snap', sourceId: second.id }));
  assert.notEqual(again.id, snapshotId);
});

test('what is gone for a moment only is not said to be gone', async () => {
  const scene = await Scene.begin();
  const { id } = await scene.create('pvc-1');
  const lv = scene.stage.lv(id);
  lv.name = 'aside';
  await scene.run(scene.stage.engine.observe());
  lv.name = id;
  assert.equal((await scene.run(scene.volumes.get('volume', id))).id, id);
  lv.name = 'aside';
  await scene.run(scene.stage.engine.observe());
  lv.name = id;
  await scene.run(scene.volumes.remove('volume', id));
  assert.equal(scene.stage.world.lv('data', id), undefined);
});

test('a name that is in two groups is not shown, grown or removed: nobody says which is meant', async () => {
  const scene = await Scene.begin();
  const disk = scene.stage.world.machine.devices.at(-1)?.path ?? '';
  const elsewhere = scene.stage.node.deviceClasses.map((one) => ({ ...one, vg: 'other' }));
  scene.stage.world.admin.run('lvm', 'vgreduce', 'data', disk);
  scene.stage.world.admin.run('lvm', 'vgcreate', 'other', disk);
  for (const vg of ['data', 'other']) {
    scene.stage.world.admin.run('lvm', 'lvcreate', '--yes', '--size', '40m', '--name', 'twin', vg);
  }
  await scene.run(scene.stage.engine.observe());
  const both = new Volumes({
    engine: scene.stage.engine,
    publisher: scene.stage.publisher,
    classes: () => [...scene.stage.node.deviceClasses, ...elsewhere],
    newId: () => 'none',
    nowMs: () => 0,
    recorded: {
      get: (name) => ({ name, kind: 'volume', className: 'thick', sourceId: undefined }),
    },
  });
  const refusal = { code: 'VolumeAmbiguous', message: /twin is in data and other/ };
  await assert.rejects(scene.run(both.locate('twin')), refusal);
  await assert.rejects(scene.run(both.expand('twin', range(80))), refusal);
  await assert.rejects(scene.run(both.removeRecorded('twin', 'volume')), refusal);
  await assert.rejects(scene.run(both.create({ ...request('pvc-1', 80), id: 'twin' })), refusal);
  for (const vg of ['data', 'other']) {
    assert.equal(scene.stage.world.lv(vg, 'twin')?.name, 'twin', vg);
  }
  assert.equal((await scene.run(scene.volumes.locate('twin'))).volume.vg, 'data');
});
