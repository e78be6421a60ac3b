import assert from 'node:assert/strict';
import test from 'node:test';
import type { FakeMount } from '../world/mount-table.ts';
import { LvmdScene, refusal } from './lvmd-scene.ts';

const plugins = '/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices';
const point = `${plugins}/pvc-1/dev/pod-1`;
const onDisk = { number: '8:2', fsType: 'ext4', source: '/dev/sda2' };

/** Kubelet binds the node that TopoLVM made for a raw volume; that opens no device. */
async function bound(given: Pick<FakeMount, 'node' | 'nodeOn'>) {
  const scene = await LvmdScene.begin();
  for (const name of ['u1', 'u2', 'root']) await scene.create(name);
  const { machine } = scene.stage.world;
  const [lv, root] = [scene.lv('u1'), scene.lv('root')];
  assert.ok(lv !== undefined && root !== undefined);
  const { nodeOn } = given;
  const number = nodeOn?.number === 'root' ? `254:${machine.minorOf(root)}` : nodeOn?.number;
  machine.table.add({
    ...{ mountPoint: point, lv, number: `254:${machine.minorOf(lv)}`, ...given },
    ...{ fsType: 'devtmpfs', source: 'devtmpfs', isReadOnly: false },
    ...(nodeOn === undefined ? {} : { nodeOn: { ...nodeOn, number: number ?? '' } }),
    fileSystem: { isReadOnly: false },
  });
  return scene;
}

const nodes: readonly (readonly [string, Pick<FakeMount, 'node' | 'nodeOn'>])[] = [
  ["in kubelet's directory", { node: `${plugins}/publish/pvc-1`, nodeOn: onDisk }],
  [
    'in a directory on a volume of LVM',
    { node: '/kubelet/pvc-1', nodeOn: { ...onDisk, number: 'root' } },
  ],
  [
    'in the memory of a container',
    { node: '/topolvm/u1', nodeOn: { number: '0:51', fsType: 'tmpfs', source: 'tmpfs' } },
  ],
  ['in /dev/topolvm, and removed since', { node: '/topolvm/u1//deleted' }],
];

for (const [title, given] of nodes) {
  test(`a volume that is bound through a node ${title} is not removed`, async () => {
    const scene = await bound(given);
    assert.match(await refusal(scene.remove('u1')), /VolumeInUse: data\/u1 is shown at \/var\/lib/);
    assert.ok(scene.lv('u1') !== undefined);
    await scene.remove('u2');
    assert.equal(scene.lv('u2'), undefined, 'another one is');
  });
}

test('once nothing is bound any more the volume goes', async () => {
  const scene = await bound({ node: `${plugins}/publish/pvc-1`, nodeOn: onDisk });
  const { table } = scene.stage.world.machine;
  const mount = table.at(point);
  assert.ok(mount !== undefined);
  table.remove(mount);
  await scene.remove('u1');
  assert.equal(scene.lv('u1'), undefined);
});

test('a mount that gives no answer stops nobody', async () => {
  const scene = await bound({ node: '/share/file', nodeOn: onDisk });
  const { host } = scene.stage;
  const inspect = host.inspect.bind(host);
  host.inspect = (path) => (path === point ? new Promise(() => undefined) : inspect(path));
  await scene.remove('u2');
  assert.equal(scene.lv('u2'), undefined);
});
