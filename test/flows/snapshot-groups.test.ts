import assert from 'node:assert/strict';
import test from 'node:test';
import { bytes, MiB } from '../../src/base/bytes.ts';
import { OperationError } from '../../src/base/failures.ts';
import { limits } from '../../src/base/limits.ts';
import { Groups } from '../../src/csi/groups.ts';
import { Volumes } from '../../src/csi/volumes.ts';
import { mounted, PublishingStage, raw } from './publishing.ts';

class Scene {
  readonly stage = new PublishingStage();
  volumes: Volumes;
  groups: Groups;
  #ids = 0;

  private constructor() {
    [this.volumes, this.groups] = this.#life();
  }

  /** With a thin volume `id-1` and a thick one `id-2`. */
  static async begin(): Promise<Scene> {
    const scene = new Scene();
    await scene.stage.setUp();
    await scene.create('a', 'thin');
    await scene.create('b', 'thick');
    scene.stage.ran.length = 0;
    return scene;
  }

  restart(): void {
    this.stage.restart();
    [this.volumes, this.groups] = this.#life();
  }

  create(name: string, className: string) {
    const range = { requiredBytes: bytes(400n * MiB), limitBytes: 0n };
    const uses = [{ fsType: 'ext4' }];
    const more = { optionClass: '', source: undefined };
    return this.run(this.volumes.create({ name, className, range, uses, ...more }));
  }

  async publish(id: string, given: Parameters<PublishingStage['publish']>[1] = {}): Promise<void> {
    const { volume } = await this.run(this.volumes.locate(id));
    const outcome = await this.stage.publish(volume, { targetPath: `/pods/${id}`, ...given });
    assert.equal(outcome.kind, 'settled');
  }

  take(name = 'g', sources: readonly string[] = ['id-1', 'id-2']) {
    return this.run(this.groups.create(name, sources));
  }

  run<T>(work: Promise<T>): Promise<T> {
    return this.stage.run(work);
  }

  get programs(): readonly string[] {
    return this.stage.ran.map(({ argv }) => argv.slice(0, 2).join(' '));
  }

  /** Snapshots on the disks, whoever knows of them. */
  get snapshots(): readonly string[] {
    const lvs = this.stage.world.machine.vgs.flatMap((vg) => vg.lvs);
    return lvs.filter((lv) => lv.tags.includes('quarry.role=snapshot')).map((lv) => lv.name);
  }

  #life(): [Volumes, Groups] {
    const { engine, publisher } = this.stage;
    const newId = () => {
      this.#ids += 1;
      return `id-${this.#ids}`;
    };
    const nowMs = () => this.stage.world.clock.nowMs();
    const classes = () => this.stage.node.deviceClasses;
    const common = { engine, publisher, newId, nowMs };
    const volumes = new Volumes({ ...common, classes });
    return [volumes, new Groups({ ...common, volumes })];
  }
}

test('a file system whose holder was killed with us is thawed when we start again', async () => {
  const scene = await Scene.begin();
  await scene.publish('id-1');
  const { machine } = scene.stage.world;
  const lv = machine.table.at('/pods/id-1')?.lv;
  assert.ok(lv !== undefined);
  machine.frozen.add(lv);
  machine.freezeNotes.add('/pods/id-1');
  scene.restart();
  assert.deepEqual(await scene.run(scene.stage.publisher.thaw()), ['/pods/id-1']);
  assert.equal(machine.frozen.size, 0);
  assert.deepEqual(await scene.run(scene.stage.publisher.thaw()), []);
});

test('volumes that nobody writes to need no freezing', async () => {
  const scene = await Scene.begin();
  const group = await scene.take();
  assert.equal(group.isComplete, true);
  assert.deepEqual(
    group.members.map(({ sourceId }) => sourceId),
    ['id-1', 'id-2'],
  );
  // One command seals them all.
  assert.deepEqual(scene.programs, ['lvm lvcreate', 'lvm lvcreate', 'lvm lvchange']);
});

test('every file system is frozen before the first snapshot, and thawed after the last', async () => {
  const scene = await Scene.begin();
  await scene.publish('id-1', { access: mounted('ext4') });
  await scene.publish('id-2', { access: mounted('xfs') });
  scene.stage.ran.length = 0;
  const frozen: number[] = [];
  const { machine, faults } = scene.stage.world;
  faults.always(
    ({ argv }) => {
      if (argv[1] === 'lvcreate') frozen.push(machine.frozen.size);
      return false;
    },
    { kind: 'fail' },
  );
  const group = await scene.take();
  assert.deepEqual(frozen, [2, 2]);
  assert.equal(machine.frozen.size, 0);
  assert.equal(group.isComplete, true);
});

test('the same request finds its group, also after a restart', async () => {
  const scene = await Scene.begin();
  const first = await scene.take();
  scene.restart();
  const again = await scene.take('g', ['id-2', 'id-1']);
  assert.equal(again.id, first.id);
  assert.equal(scene.snapshots.length, 2);
  await assert.rejects(scene.take('g', ['id-1']), { code: 'VolumeDiffers' });
});

test('what cannot be held still is refused, and nothing is made', async () => {
  const scene = await Scene.begin();
  await scene.publish('id-1', { access: raw });
  await assert.rejects(scene.take(), { code: 'CannotHoldStill', message: /raw device at/ });
  const older = await Scene.begin();
  older.stage.world.machine.kernelRelease = '5.14.0-611.el9.x86_64';
  await older.publish('id-1');
  await assert.rejects(older.take(), { code: 'CannotHoldStill', message: /5\.14.*needs 6\.8/ });
  for (const { snapshots } of [scene, older]) assert.deepEqual(snapshots, []);
});

test('bad requests are refused by name', async () => {
  const scene = await Scene.begin();
  const bad: readonly (readonly [readonly string[], string])[] = [
    [[], 'InvalidRequest'],
    [['id-1', 'id-1'], 'InvalidRequest'],
    [['id-1', 'no'], 'SourceNotFound'],
  ];
  for (const [sources, code] of bad) await assert.rejects(scene.take('g', sources), { code });
  assert.deepEqual(scene.snapshots, []);
});

test('a process that dies anywhere thaws what it froze, and the same request succeeds', async () => {
  for (const when of ['before', 'during', 'after'] as const) {
    for (let nth = 1; nth <= 6; nth += 1) {
      const scene = await Scene.begin();
      await scene.publish('id-1');
      await scene.publish('id-2');
      let seen = 0;
      const isNth = ({ effect }: { readonly effect: string }) => {
        if (effect === 'changes') seen += 1;
        return effect === 'changes' && seen === nth;
      };
      scene.stage.world.faults.next(isNth, { kind: 'crash', when });
      void scene.groups.create('g', ['id-1', 'id-2']).catch(() => undefined);
      await scene.stage.world.clock.advance(60_000);
      const label = `${when} ${nth}`;
      assert.equal(scene.stage.world.machine.frozen.size, 0, label);
      scene.restart();
      const group = await scene.take();
      assert.equal(group.isComplete, true, label);
      assert.deepEqual(
        scene.snapshots.toSorted(),
        group.members.map(({ id }) => id).toSorted(),
        label,
      );
    }
  }
});

test('snapshots that took too long are not of one moment: they go, and the caller asks again', async () => {
  const scene = await Scene.begin();
  await scene.publish('id-1');
  scene.stage.world.faults.next('lvcreate', { kind: 'slow', ms: 90_000 });
  await assert.rejects(scene.take(), { code: 'FreezeBroken' });
  assert.deepEqual(scene.snapshots, []);
  assert.equal(scene.stage.world.machine.frozen.size, 0);
  assert.equal((await scene.take()).isComplete, true);
});

test('a snapshot that fails takes the others of its group with it', async () => {
  const scene = await Scene.begin();
  await scene.publish('id-2');
  scene.stage.world.faults.next(({ argv }) => argv.includes('data/id-2'), { kind: 'fail' });
  await assert.rejects(scene.take());
  assert.deepEqual(scene.snapshots, []);
  assert.equal(scene.stage.world.machine.frozen.size, 0);
});

test('a group goes as a whole, and by its own id only', async () => {
  const scene = await Scene.begin();
  const { id, members } = await scene.take();
  const [first, second] = members.map((member) => member.id);
  assert.ok(first !== undefined && second !== undefined);
  await assert.rejects(scene.run(scene.volumes.remove('snapshot', first)), {
    code: 'SnapshotInGroup',
  });
  const partly = scene.run(scene.groups.remove(id, [first]));
  await assert.rejects(partly, { code: 'InvalidRequest', message: new RegExp(second) });
  await assert.rejects(scene.run(scene.groups.get(id, [first, second, 'id-1'])), {
    code: 'InvalidRequest',
  });
  assert.equal((await scene.run(scene.groups.get(id, [second, first]))).id, id);
  await scene.run(scene.groups.remove(id, [first, second]));
  assert.deepEqual(scene.snapshots, []);
  await scene.run(scene.groups.remove(id, [first, second]));
  await assert.rejects(scene.run(scene.groups.get(id, [])), { code: 'VolumeNotFound' });
});

test('what is left of a group that was told is kept, and said not to be ready', async () => {
  const scene = await Scene.begin();
  const { members } = await scene.take();
  const [first] = members;
  scene.stage.world.admin.run('lvm', 'lvremove', '--yes', `data/${first?.id}`);
  await scene.run(scene.stage.engine.observe());
  const again = await scene.take();
  assert.equal(again.isComplete, false);
  assert.equal(scene.snapshots.length, 1);
});

test('what an administrator has frozen stays frozen, and the others are thawed', async () => {
  const scene = await Scene.begin();
  await scene.publish('id-1');
  await scene.publish('id-2');
  scene.stage.world.admin.run('fsfreeze', '--freeze', '/pods/id-2');
  await assert.rejects(scene.take());
  assert.deepEqual([...scene.stage.world.machine.frozen], [scene.stage.lv('id-2')]);
  assert.deepEqual(scene.snapshots, []);
});

test('a file system that cannot be frozen keeps no other frozen, and nobody waits for ever', async () => {
  const scene = await Scene.begin();
  await scene.publish('id-1');
  await scene.publish('id-2');
  const { host, world } = scene.stage;
  const start = host.start.bind(host);
  const timedOut = new OperationError('CommandTimedOut', 'fsfreeze gave no answer');
  host.start = (command, signal) => {
    if (command.isHeld !== true || !command.argv.includes('/pods/id-2')) {
      return start(command, signal);
    }
    const result = world.clock.sleep(command.timeoutMs).then(() => Promise.reject(timedOut));
    return { result, gone: never, ready: never, release: () => undefined };
  };
  const taken = assert.rejects(scene.groups.create('g', ['id-1', 'id-2']), {
    code: 'FreezeBroken',
  });
  await world.clock.advance(limits.freezeMsMax + 1_000);
  assert.equal(world.machine.frozen.size, 0);
  await scene.run(taken);
  assert.deepEqual(scene.snapshots, []);
  const { volume } = await scene.run(scene.volumes.locate('id-1'));
  assert.equal((await scene.stage.unpublish(volume, '/pods/id-1')).kind, 'settled');
});

test('a file system whose holder was killed is thawed, and the caller asks again', async () => {
  const scene = await Scene.begin();
  await scene.publish('id-1');
  const { host, world } = scene.stage;
  const start = host.start.bind(host);
  host.start = (command, signal) => {
    if (command.isHeld !== true) return start(command, signal);
    host.start = start;
    world.admin.run('fsfreeze', '--freeze', '/pods/id-1');
    const killed = { exitCode: undefined, signal: 'SIGKILL', stdout: '', stderr: '' };
    const result = world.clock.sleep(10).then(() => ({ ...killed, durationMs: 10 }));
    return { result, gone: never, ready: Promise.resolve(undefined), release: () => undefined };
  };
  await assert.rejects(scene.take(), { code: 'FreezeBroken' });
  assert.equal(world.machine.frozen.size, 0);
  assert.equal((await scene.take()).isComplete, true);
});

test('a dead file system of somebody else is in the way of no group', async () => {
  const scene = await Scene.begin();
  await scene.create('c', 'thin');
  await scene.publish('id-1');
  await scene.publish('id-3');
  const { host } = scene.stage;
  const inspect = host.inspect.bind(host);
  host.inspect = (path) => (path === '/pods/id-3' ? never : inspect(path));
  assert.equal((await scene.take()).isComplete, true);
});

test('what was made when the look after it failed is found by the same request', async () => {
  const scene = await Scene.begin();
  const { faults } = scene.stage.world;
  let isMade = false;
  const makes = ({ argv }: { readonly argv: readonly string[] }) => {
    isMade ||= argv[1] === 'lvcreate';
    return argv[1] === 'lvcreate';
  };
  faults.next(makes, { kind: 'killed', when: 'after' });
  const takeBack = faults.always(({ argv }) => isMade && argv.includes('fullreport'), {
    kind: 'fail',
  });
  await assert.rejects(scene.take());
  takeBack();
  assert.ok(scene.snapshots.length > 0);
  const group = await scene.take();
  assert.equal(group.isComplete, true);
  assert.deepEqual(scene.snapshots.toSorted(), group.members.map(({ id }) => id).toSorted());
  assert.equal((await scene.take()).id, group.id);
});

test('what is left of an earlier try hides no group that was told', async () => {
  const scene = await Scene.begin();
  const group = await scene.take();
  const tags = ['group=a', 'group-name=g', 'group-size=2', 'role=snapshot', 'source=id-1'];
  const words = ['quarry', ...tags.map((tag) => `quarry.${tag}`)];
  const tagged = words.flatMap((tag) => ['--addtag', tag]);
  const of = ['--snapshot', '--name', 'a-left', ...tagged, 'data/id-1'];
  scene.stage.world.admin.run('lvm', 'lvcreate', '--yes', ...of);
  await scene.run(scene.stage.engine.observe());
  assert.equal((await scene.take()).id, group.id);
  assert.deepEqual(scene.snapshots.toSorted(), group.members.map(({ id }) => id).toSorted());
});

test('a group is not said to be gone while a volume group cannot be seen', async () => {
  const scene = await Scene.begin();
  const { id, members } = await scene.take();
  const ids = members.map((member) => member.id);
  const [vg] = scene.stage.world.machine.vgs;
  assert.ok(vg !== undefined);
  vg.name = 'moved';
  await scene.run(scene.stage.engine.observe());
  const refusal = { code: 'VolumeGroupMissing' };
  await assert.rejects(scene.run(scene.groups.remove(id, ids)), refusal);
  await assert.rejects(scene.run(scene.groups.remove(id, [])), refusal);
  await assert.rejects(scene.run(scene.groups.get(id, ids)), refusal);
  vg.name = 'data';
  await scene.run(scene.groups.remove(id, ids));
  assert.deepEqual(scene.snapshots, []);
});

const never: Promise<never> = new Promise(() => undefined);
