import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isClean, oldLayout, retained, untold } from './adoption-audit.ts';
import { OldCluster, oldSize } from './topolvm.ts';
import { runGuide } from './topolvm-guide.ts';
import { className, groupOf, type OldVolume, oldNamespace } from './topolvm-objects.ts';

/**
 * From TopoLVM to Quarry and back, on a real cluster. What only old versions of TopoLVM leave
 * behind is made by a stand-in: objects, LVs, marks, mounts and files as theirs, see
 * topolvm-objects.ts, topolvm.ts and, for kubelet, topolvm-node.ts. TopoLVM's own programs have a
 * story in adoption-real.test.ts.
 */
const volumes: readonly OldVolume[] = [
  { name: 'thick', deviceClass: 'thick' },
  { name: 'thin', deviceClass: 'thin' },
  { name: 'mirror', deviceClass: 'mirror' },
  { name: 'device', deviceClass: '', isOldDevice: true },
  { name: 'nosize', deviceClass: 'thick', hasNoSize: true },
  { name: 'block', deviceClass: 'thick', isBlock: true },
];
const filed = volumes.filter(({ isBlock }) => isBlock !== true).map(({ name }) => name);

for (const domain of ['topolvm.io', 'topolvm.cybozu.com']) {
  describe(`a cluster of TopoLVM with ${domain}`, { timeout: 1_500_000 }, () => {
    let old: OldCluster;
    let seen: object = {};

    before(async () => {
      old = await OldCluster.open(domain, 'by hand');
      for (const volume of volumes) await old.makeVolume(volume);
      await old.pod('old', filed, ['block']);
      const words = filed.map((name) => `echo ${name} > /data/${name}/word`);
      await old.exec('old', [...words, 'echo block | dd of=/dev/block', 'sync'].join(' && '));
      await old.makeSnapshot('before', 'thin');
      await old.exec('old', 'echo later > /data/thin/word && sync');
      const id = await old.makeLogicalVolume('pvc-retained', { size: oldSize, deviceClass: '' });
      await old.lvcreate(id, '');
      await old.markAndTell('pvc-retained', id, oldSize);
      old.ids.set('retained', id);
      await old.until('the mirrors are whole', async () => {
        const said = await old.node.sh('lvm lvs --noheadings -o sync_percent mirrored');
        return said.split(/\s+/).every((word) => word === '' || word === '100.00');
      });
    });

    after(async () => {
      await old?.cluster.stop();
    });

    test('our operator serves a node that TopoLVM still has', async () => {
      seen = await picture(old);
      await runGuide(old, '## Stop TopoLVM');
      await ourOperatorWithAnOldNode(old);
    });

    test('is taken over, and nothing moves', async () => {
      await old.stopDriver();
      await old.install('agent', 'policy');
      await isTakenOver(old);
      assert.deepEqual(await picture(old), seen);
      await isClean(old, oldLayout, [retained]);
    });

    test('our agent serves what a controller of TopoLVM asks for', async () => {
      await ourAgentWithAnOldController(old);
      await isClean(old, oldLayout, [retained]);
    });

    test('every claim grows on the mounts that TopoLVM made', async () => {
      await grows(old);
      await isClean(old, oldLayout, [retained]);
    });

    test('every volume is mounted again, and a snapshot restored', async () => {
      await isMountedAgain(old);
      await isClean(old, oldLayout, [retained]);
    });

    test('claims are deleted, and their LVs with them', async () => {
      await isDeleted(old);
      await isClean(old, oldLayout, [retained]);
    });

    test('is handed back as TopoLVM needs it', async () => {
      await runGuide(old, '## Back to TopoLVM');
      await isAsTopolvmNeedsIt(old);
      await isClean(old, oldLayout, [retained, untold]);
    });

    test('works with TopoLVM again', () => worksWithTopolvm(old));
  });
}

/** What must not change: mounts with their ids, containers, and all that LVM says of LVs. */
async function picture(old: OldCluster): Promise<object> {
  const mounts = await old.node.sh("grep -E 'kubernetes.io[~/]csi' /proc/self/mountinfo | sort");
  const words = [
    'get',
    'pod',
    'old',
    '--output=jsonpath={.metadata.uid} {.status.containerStatuses}',
  ];
  const report = await old.node.sh('lvm lvs --all --options all --reportformat json');
  const { report: parts } = JSON.parse(report) as {
    readonly report: readonly { readonly lv: readonly Readonly<Record<string, string>>[] }[];
  };
  const ids = [...old.ids].filter(([name]) => name !== 'skew').map(([, id]) => id);
  const lvs = parts
    .flatMap(({ lv }) => lv)
    .filter(({ lv_name: name = '' }) => ids.some((id) => name.includes(id)))
    .map((lv) => Object.fromEntries(Object.entries(lv).filter(([key]) => !isVolatile.test(key))));
  assert.ok(mounts.split('\n').length > volumes.length);
  assert.ok(lvs.length > volumes.length);
  const isOurs = (line: string) => !line.includes(old.ids.get('skew claim') ?? 'no such claim');
  return { mounts: mounts.split('\n').filter(isOurs), pod: await old.cluster.kubectl(words), lvs };
}

/** Fill levels move by themselves; of the group only its LVs matter here, not how many. */
const isVolatile = /percent$|^vg_|^lv_count$/;

/** A status that TopoLVM's node service writes is enough for our operator. */
async function ourOperatorWithAnOldNode(old: OldCluster): Promise<void> {
  await old.install('crds', 'driver', 'operator');
  await old.claim('skew', 'topolvm-immediate');
  const path = '/api/v1/namespaces/default/persistentvolumeclaims/skew';
  const { metadata } = await old.must<{ readonly metadata: { readonly uid: string } }>(path);
  const name = `pvc-${metadata.uid}`;
  await old.until('the operator wants a volume', async () => {
    return (await old.findLogicalVolume(name)) !== undefined;
  });
  const wanted = await old.logicalVolume(name);
  assert.equal(wanted.spec['nodeName'], 'n1');
  const id = wanted.metadata.uid;
  await old.lvcreate(id, 'thick');
  await old.markAndTell(name, id, oldSize);
  old.ids.set('skew', id).set('skew claim', metadata.uid);
  await old.pod('skew', ['skew']);
  await old.exec('skew', 'echo skew > /data/skew/word && sync');
}

async function isTakenOver(old: OldCluster): Promise<void> {
  const { domain } = old;
  await old.until('the node has our driver', () => old.hasDriver());
  await old.until('every object is complete', async () => {
    const objects = await old.logicalVolumes();
    return objects.every(({ metadata, status }) => {
      const hasLabel = metadata.labels?.[`${domain}/node`] === 'n1';
      return hasLabel && status?.currentSize === oldSize && status.volumeID === metadata.uid;
    });
  });
  await old.until('every class has one capacity', async () => {
    const path = `/apis/storage.k8s.io/v1/namespaces/${oldNamespace}/csistoragecapacities`;
    type Item = { readonly storageClassName: string };
    const { items } = await old.must<{ readonly items: readonly Item[] }>(path);
    return new Set(items.map((item) => item.storageClassName)).size === 5 && items.length === 5;
  });
}

/** What TopoLVM's controller writes is enough for our agent: to make, copy, grow and remove. */
async function ourAgentWithAnOldController(old: OldCluster): Promise<void> {
  const { domain } = old;
  const id = await old.makeLogicalVolume('pvc-skew', { size: oldSize, deviceClass: 'thin' });
  const sizeIs = async (name: string, size: string) =>
    (await old.logicalVolume(name)).status?.currentSize === size;
  await old.until('the volume is made', () => sizeIs('pvc-skew', oldSize));
  const made = await old.logicalVolume('pvc-skew');
  assert.equal(made.status?.volumeID, id);
  assert.deepEqual(made.metadata.finalizers, [`${domain}/logicalvolume`]);
  const copy = await old.makeLogicalVolume('snapshot-skew', {
    ...{ size: oldSize, deviceClass: 'thin', source: 'pvc-skew', accessType: 'ro' },
  });
  await old.until('the snapshot is taken', () => sizeIs('snapshot-skew', oldSize));
  const lvs = await old.lvs();
  assert.ok(lvs.includes(id) && lvs.includes(copy));
  const annotations = { [`${domain}/resize-requested-at`]: '2026-11-15 21:00:00.1 +0000 UTC' };
  await old.changeLogicalVolume('pvc-skew', { metadata: { annotations }, spec: { size: '96Mi' } });
  await old.until('the volume has grown', () => sizeIs('pvc-skew', '96Mi'));
  for (const name of ['snapshot-skew', 'pvc-skew']) {
    await old.deleteLogicalVolume(name);
    await old.until(`${name} is gone`, async () => {
      return (await old.findLogicalVolume(name)) === undefined;
    });
  }
  const left = await old.lvs();
  assert.ok(!left.includes(id) && !left.includes(copy));
}

/** Every claim, while its pod runs on the mounts that TopoLVM made. */
async function grows(old: OldCluster): Promise<void> {
  const names = [...volumes.map(({ name }) => name), 'skew'];
  const pathOf = (name: string) => `/api/v1/namespaces/default/persistentvolumeclaims/${name}`;
  const resources = { requests: { storage: '96Mi' } };
  for (const name of names) await old.merge(pathOf(name), { spec: { resources } });
  type Claim = { readonly status: { readonly capacity: { readonly storage: string } } };
  for (const name of names) {
    await old.until(`${name} says that it has grown`, async () => {
      return (await old.must<Claim>(pathOf(name))).status.capacity.storage === '96Mi';
    });
  }
  for (const name of filed) {
    const [, line = ''] = (await old.exec('old', `df -P -k /data/${name}`)).split('\n');
    assert.ok(Number(line.split(/\s+/)[1]) > 80 * 1024, `${name} has room: ${line}`);
    const word = name === 'thin' ? 'later' : name;
    assert.equal(await old.exec('old', `cat /data/${name}/word`), `${word}\n`);
  }
}

async function isMountedAgain(old: OldCluster): Promise<void> {
  await old.claim('restored', className('thin'), { snapshot: 'before' });
  await old.remove('pod', 'old', 'skew');
  await old.until('the device node that TopoLVM made is gone', async () => {
    return (await old.node.sh('ls /dev/topolvm')).trim() === '';
  });
  await old.pod('again', [...filed, 'restored', 'skew'], ['block']);
  for (const name of [...filed, 'skew']) {
    const word = name === 'thin' ? 'later' : name;
    assert.equal(await old.exec('again', `cat /data/${name}/word`), `${word}\n`);
  }
  assert.equal(await old.exec('again', 'cat /data/restored/word'), 'thin\n');
  assert.match(await old.exec('again', 'head -c 6 /dev/block'), /^block\n$/);
}

/** A pod without grace is gone before its volumes are. */
function isUnmounted(old: OldCluster): Promise<void> {
  return old.until('nothing is mounted', async () => {
    const mounts = await old.node.sh('cat /proc/self/mountinfo');
    return !/kubernetes\.io[~/]csi/.test(mounts);
  });
}

async function isDeleted(old: OldCluster): Promise<void> {
  await old.remove('pod', 'again');
  await isUnmounted(old);
  const gone = ['mirror', 'device', 'nosize', 'block'];
  await old.remove('pvc', ...gone);
  await old.until('their LVs are gone', async () => {
    const lvs = await old.lvs();
    return gone.every((name) => !lvs.includes(old.idOf(name)));
  });
  await old.until('their objects are gone', async () => {
    const objects = await old.logicalVolumes();
    // thick, thin, the snapshot, what was restored from it, skew, and the one that nobody has.
    return objects.length === 6;
  });
}

/** Everything that TopoLVM's programs read, and nothing that they trip over. */
async function isAsTopolvmNeedsIt(old: OldCluster): Promise<void> {
  const { domain } = old;
  const known = ['name', 'nodeName', 'size', 'deviceClass', 'lvcreateOptionClass', 'source'];
  const report = await old.node.sh('lvm lvs --noheadings --options vg_name,lv_name');
  const lvs = report.split('\n').map((line) => line.trim().replace(/\s+/, '/'));
  for (const { metadata, spec, status } of await old.logicalVolumes()) {
    const { name, uid } = metadata;
    assert.deepEqual(metadata.finalizers, [`${domain}/logicalvolume`], name);
    assert.equal(metadata.labels?.['app.kubernetes.io/created-by'], 'topolvm-controller', name);
    assert.equal(metadata.deletionTimestamp, undefined, name);
    assert.deepEqual(
      Object.keys(spec).filter((key) => ![...known, 'accessType'].includes(key)),
      [],
    );
    assert.equal(spec['name'], name);
    assert.equal(status?.volumeID, uid, name);
    assert.match(status?.currentSize ?? '', /^\d+Mi$/, name);
    assert.ok(lvs.includes(`${groupOf(spec['deviceClass'] ?? '')}/${uid}`), name);
  }
  type Node = OldClusterNode;
  const { metadata } = await old.must<Node>('/api/v1/nodes/n1');
  assert.ok(metadata.finalizers?.includes(`${domain}/node`));
  for (const key of ['thick', 'thin', 'mirror', '00default']) {
    assert.match(metadata.annotations?.[`capacity.${domain}/${key}`] ?? '', /^\d+$/, key);
  }
  await old.until('every lease is free', async () => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${oldNamespace}/leases`;
    type Lease = { readonly spec: { readonly holderIdentity?: string } };
    const { items } = await old.must<{ readonly items: readonly Lease[] }>(path);
    return items.every(({ spec }) => (spec.holderIdentity ?? '') === '');
  });
}

type OldClusterNode = {
  readonly metadata: {
    readonly finalizers?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
  };
};

/** Its node service mounts what we made, and removes what its controller deletes. */
async function worksWithTopolvm(old: OldCluster): Promise<void> {
  await old.startDriver();
  await old.pod('back', ['thick', 'thin', 'restored', 'skew']);
  const words = await old.exec(
    'back',
    'cd /data && cat thick/word thin/word restored/word skew/word',
  );
  assert.equal(words, 'thick\nlater\nthin\nskew\n');
  await old.remove('pod', 'back');
  await isUnmounted(old);
  const name = `pvc-${old.ids.get('skew claim')}`;
  await old.deleteLogicalVolume(name);
  await old.node.sh(`lvm lvremove -f data/${old.idOf('skew')}`);
  await old.changeLogicalVolume(name, { metadata: { finalizers: [] } });
  assert.equal(await old.findLogicalVolume(name), undefined);
  const uids = (await old.logicalVolumes()).map(({ metadata }) => metadata.uid);
  assert.deepEqual((await old.lvs()).toSorted(), uids.toSorted());
  await old.stopDriver();
}
