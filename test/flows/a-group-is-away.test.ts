import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { volume } from '../../src/cli/volume.ts';
import type { SocketClient } from '../../src/csi/client.ts';
import {
  ControllerDefinition,
  GroupControllerDefinition,
  VolumeCapability_AccessMode_Mode as Mode,
} from '../../src/csi/generated/csi.ts';
import type { PartialOf } from '../../src/csi/service.ts';
import { surroundings } from '../samples/surroundings.ts';
import { makeDevices } from '../world/devices.ts';
import { mib } from './lvmd-scene.ts';
import { StandaloneScene, thick } from './standalone-scene.ts';

type Methods = (typeof ControllerDefinition)['methods'];

const patience = { timeoutMs: 10_000 };
const far = '- {name: far, volume-group: far, spare-gb: 0, default: true}';
const farDisk = '/dev/sdx';

/** Two groups, and a volume with a snapshot in the one whose disk can be pulled. */
class AwayScene {
  readonly standalone: StandaloneScene;
  readonly #client: SocketClient;
  source = '';
  snapshot = '';

  private constructor(standalone: StandaloneScene, t: TestContext) {
    this.standalone = standalone;
    this.#client = standalone.client(t, 'csi.sock');
  }

  static async begin(t: TestContext): Promise<AwayScene> {
    const standalone = await StandaloneScene.begin(t);
    const { world } = standalone.stage;
    world.machine.devices.push(
      ...makeDevices([{ path: farDisk, sizeBytes: 1n << 32n }], world.chance),
    );
    world.admin.run('lvm', 'vgcreate', '--yes', 'far', farDisk);
    await standalone.write(standalone.config(thick, far));
    await standalone.start();
    const scene = new AwayScene(standalone, t);
    const made = await scene.create('db');
    assert.ok(made.kind === 'response', 'message' in made ? made.message : '');
    scene.source = made.response.volume?.volumeId ?? '';
    const request = { name: 'before', sourceVolumeId: scene.source };
    const taken = await scene.call('createSnapshot', request);
    assert.ok(taken.kind === 'response');
    scene.snapshot = taken.response.snapshot?.snapshotId ?? '';
    return scene;
  }

  async pull(): Promise<void> {
    this.standalone.stage.world.admin.pull(farDisk);
    await this.standalone.standalone.engine.observe();
  }

  async insert(): Promise<void> {
    this.standalone.stage.world.admin.insert(farDisk);
    await this.standalone.standalone.engine.observe();
  }

  call<K extends keyof Methods>(method: K, request: PartialOf<Methods[K]>) {
    return this.#client.call(ControllerDefinition, method, request, patience);
  }

  create(name: string, more: PartialOf<Methods['createVolume']> = {}) {
    const accessType = { $case: 'mount', value: { fsType: 'ext4' } } as const;
    return this.call('createVolume', {
      name,
      capacityRange: { requiredBytes: mib(100) },
      volumeCapabilities: [{ accessType, accessMode: { mode: Mode.SINGLE_NODE_WRITER } }],
      ...more,
    });
  }

  groupSnapshot(name: string, ...sourceVolumeIds: string[]) {
    const request = { name, sourceVolumeIds };
    const method = 'createVolumeGroupSnapshot';
    return this.#client.call(GroupControllerDefinition, method, request, patience);
  }

  /** `quarry volume WORDS`, and on which stream it said what. */
  async cli(words: string) {
    const told: Record<'out' | 'err', string[]> = { out: [], err: [] };
    const print = (text: string) => told.out.push(text);
    const warn = (text: string) => told.err.push(text);
    const code = await volume(
      { ...surroundings, path: '', version: '0', print, warn },
      {
        ...{ socket: this.standalone.path('csi.sock'), className: '', size: undefined, fsType: '' },
        isBlock: false,
        look: async () => (await this.standalone.standalone.engine.observe()).host,
        mounts: () => Promise.resolve(''),
      },
      words.split(' '),
    );
    return { code, out: told.out.join('\n'), err: told.err.join('\n') };
  }
}

const inThick = { parameters: new Map([['topolvm.io/device-class', 'thick']]) };

/** What is asked about a source by its id, in a class whose group is here or is not. */
const calls: readonly (readonly [
  string,
  (
    scene: AwayScene,
    ids: { readonly volumeId: string; readonly snapshotId: string },
  ) => Promise<{
    readonly kind: string;
    readonly code?: string;
    readonly message?: string;
  }>,
])[] = [
  [
    'a snapshot of it',
    (scene, { volumeId }) => scene.call('createSnapshot', { name: 's', sourceVolumeId: volumeId }),
  ],
  ['a group snapshot with it', (scene, { volumeId }) => scene.groupSnapshot('g', volumeId)],
  [
    'a clone of it',
    (scene, { volumeId }) => {
      const type = { $case: 'volume', value: { volumeId } } as const;
      return scene.create('c', { ...inThick, volumeContentSource: { type } });
    },
  ],
  [
    'what its snapshot is restored to',
    (scene, { snapshotId }) => {
      const type = { $case: 'snapshot', value: { snapshotId } } as const;
      return scene.create('r', { ...inThick, volumeContentSource: { type } });
    },
  ],
  [
    'an expansion of it',
    (scene, { volumeId }) => {
      const capacityRange = { requiredBytes: mib(200) };
      return scene.call('controllerExpandVolume', { volumeId, capacityRange });
    },
  ],
  [
    'its snapshot in a list',
    (scene, { snapshotId }) => scene.call('listSnapshots', { snapshotId }),
  ],
];

for (const [what, ask] of calls) {
  test(`${what}: while a group is away nobody says that the volume is gone`, async (t) => {
    const scene = await AwayScene.begin(t);
    const ids = { volumeId: scene.source, snapshotId: scene.snapshot };
    const nobody = { volumeId: 'nobody', snapshotId: 'nobody' };
    const seen = await ask(scene, nobody);
    assert.ok(what.endsWith('list') ? seen.kind === 'response' : seen.code === 'NOT_FOUND');
    await scene.pull();
    for (const each of [ids, nobody]) {
      const { code, message = '' } = await ask(scene, each);
      assert.equal(code, 'UNAVAILABLE');
      assert.match(
        message,
        /^VolumeGroupMissing: .* may be in far, which cannot be read\. Remedy:/,
      );
    }
  });
}

test('a snapshot is taken once its group is back', async (t) => {
  const scene = await AwayScene.begin(t);
  const request = { name: 's', sourceVolumeId: scene.source };
  await scene.pull();
  assert.equal((await scene.call('createSnapshot', request)).kind, 'failed');
  await scene.insert();
  assert.equal((await scene.call('createSnapshot', request)).kind, 'response');
});

test('quarry volume list says which group is away, and that the list is not all', async (t) => {
  const scene = await AwayScene.begin(t);
  const whole = await scene.cli('list');
  assert.deepEqual([whole.code, whole.err], [0, '']);
  assert.match(whole.out, /^db +volume +far/m);
  await scene.pull();
  const partial = await scene.cli('list');
  assert.equal(partial.code, 1);
  assert.doesNotMatch(partial.out, /db/);
  assert.match(partial.err, /VolumeGroupMissing: .*\bfar\b.* not shown/);
});

test('quarry volume clone does not call a source lost that may be in the group that is away', async (t) => {
  const scene = await AwayScene.begin(t);
  await assert.rejects(scene.cli('clone c nobody'), { code: 'SourceNotFound' });
  await scene.pull();
  const { code, err } = await scene.cli('clone c db');
  assert.equal(code, 75);
  assert.match(err, /UNAVAILABLE: VolumeGroupMissing: .* may be in far/);
});
