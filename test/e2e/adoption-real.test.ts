import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { buildTopolvm, type TopolvmSide, topolvmSide } from '../../bench/kube/topolvm.ts';
import { isClean, ofStock } from './adoption-audit.ts';
import type { Layout } from './layout.ts';
import { OldCluster, oldSize } from './topolvm.ts';
import { runGuide } from './topolvm-guide.ts';
import { className, oldNamespace } from './topolvm-objects.ts';

const layout: Layout = { '': { group: 'topolvm' }, thick: { group: 'topolvm' } };

/** TopoLVM's own programs, with the stock provisioner and resizer, before us and after us. */
describe('volumes of TopoLVM’s own programs', { timeout: 1_500_000 }, () => {
  let old: OldCluster;
  let side: TopolvmSide;

  before(async () => {
    await buildTopolvm((line) => process.stderr.write(`lab: ${line}\n`));
    old = await OldCluster.open('topolvm.io', 'bare');
    side = topolvmSide(old.cluster);
    await side.install();
    await old.claim('theirs', className('thick'));
    await old.pod('theirs', ['theirs']);
    await old.exec('theirs', 'echo theirs > /data/theirs/word && sync');
  });

  after(async () => {
    await old?.cluster.stop();
  });

  test('are made and grown by its node service for our operator', async () => {
    const seen = await picture(old);
    await side.stopControllers();
    await old.install('crds', 'driver', 'operator');
    assert.deepEqual(await picture(old), seen);
    await isServed(old, 'half');
    await old.remove('pod', 'half');
    await old.remove('pvc', 'half');
    await old.until('one volume is left', async () => (await old.lvs()).length === 1);
  });

  test('stay mounted while we take over, and grow', async () => {
    const seen = await picture(old);
    await side.stopNodes();
    await old.install('agent', 'policy');
    await old.until('the node has our driver', () => old.hasDriver());
    await old.until('the object is adopted', async () => {
      const objects = await old.logicalVolumes();
      return objects.every(({ metadata }) => metadata.labels?.['topolvm.io/node'] === 'n1');
    });
    assert.deepEqual(await picture(old), seen);
    await grow(old, 'theirs', '96Mi');
    assert.equal(await old.exec('theirs', 'cat /data/theirs/word'), 'theirs\n');
    await isClean(old, layout);
  });

  test('stand beside one of ours', async () => {
    await old.claim('ours', className('thick'));
    await old.pod('ours', ['ours']);
    await old.exec('ours', 'echo ours > /data/ours/word && sync');
    assert.equal((await old.lvs()).length, 2);
    await isClean(old, layout);
  });

  test('are made and grown by our agent for its controller', async () => {
    const operator = [`--namespace=${oldNamespace}`, 'deployment/lvms-operator'];
    await old.cluster.kubectl(['scale', '--replicas=0', ...operator]);
    await side.startControllers();
    await isServed(old, 'other-half');
    await old.remove('pod', 'other-half');
    await old.remove('pvc', 'other-half');
    await old.until('two volumes are left', async () => (await old.lvs()).length === 2);
    await side.stopControllers();
    await old.cluster.kubectl(['scale', '--replicas=1', ...operator]);
    await isClean(old, layout);
  });

  test('are served by TopoLVM again, and ours too: mounted, grown and deleted', async () => {
    await runGuide(old, '## Back to TopoLVM');
    await side.install();
    await old.remove('pod', 'theirs', 'ours');
    await old.pod('both', ['theirs', 'ours']);
    const words = await old.exec('both', 'cat /data/theirs/word /data/ours/word');
    assert.equal(words, 'theirs\nours\n');
    await grow(old, 'ours', '128Mi');
    await grow(old, 'theirs', '128Mi');
    await isClean(old, layout, [ofStock]);
    await old.remove('pod', 'both');
    await old.remove('pvc', 'theirs', 'ours');
    await old.until('nothing is left', async () => {
      return (await old.lvs()).length === 0 && (await old.logicalVolumes()).length === 0;
    });
    await isClean(old, layout, [ofStock]);
    await side.uninstall();
  });
});

/** A volume that is made, written to, and grown beneath its pod. */
async function isServed(old: OldCluster, name: string): Promise<void> {
  await old.claim(name, className('thick'));
  await old.pod(name, [name]);
  await old.exec(name, `echo ${name} > /data/${name}/word && sync`);
  await grow(old, name, '96Mi');
  assert.equal(await old.exec(name, `cat /data/${name}/word`), `${name}\n`);
}

async function grow(old: OldCluster, name: string, size: string): Promise<void> {
  assert.notEqual(size, oldSize);
  const path = `/api/v1/namespaces/default/persistentvolumeclaims/${name}`;
  await old.merge(path, { spec: { resources: { requests: { storage: size } } } });
  type Claim = { readonly status: { readonly capacity: { readonly storage: string } } };
  await old.until(`${name} has grown to ${size}`, async () => {
    return (await old.must<Claim>(path)).status.capacity.storage === size;
  });
}

/** What must not change while one goes and the other comes. */
async function picture(old: OldCluster): Promise<object> {
  const mounts = await old.node.sh("grep 'kubernetes.io~csi' /proc/self/mountinfo");
  const words = ['get', 'pod', 'theirs', '--output=jsonpath={.status.containerStatuses}'];
  const lvs = await old.node.sh('lvm lvs --all --options all --reportformat json');
  return { mounts, container: await old.cluster.kubectl(words), lvs: JSON.parse(lvs) as object };
}
