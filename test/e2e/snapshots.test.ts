import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { installKinds } from '../../lab/snapshots/index.ts';
import { areTheirOwn } from './snapshot-copies.ts';
import { groupSnapshotGroup, Snapshots, snapshotGroup, snapshotParts } from './snapshots.ts';
import { E2eStage } from './stage.ts';

const snapshotControllerFile = join(import.meta.dirname, '../../deploy/snapshot-controller.yaml');

describe('snapshots on a real cluster', { timeout: 2_400_000 }, () => {
  let stage: E2eStage;
  let opened: Promise<Snapshots> | undefined;

  /** Not before the first story that needs it: the cluster starts without the kinds. */
  const open = (): Promise<Snapshots> => {
    opened ??= Snapshots.open(stage);
    return opened;
  };

  before(async () => {
    await snapshotParts();
    stage = await E2eStage.open();
  });

  afterEach(async () => {
    await (await open()).audit();
  });

  after(async () => {
    await (await opened?.catch(() => undefined))?.close();
    await stage?.close();
  });

  test('kinds that are installed after us are served, and nobody restarts', async () => {
    await stage.claim('early');
    await stage.pod('early', ['early']);
    assert.equal(await isServed(stage), false);
    const before = await operators(stage);
    const snapshots = await open();
    await snapshots.take('early', 'early');
    assert.deepEqual(await operators(stage), before);
    await snapshots.remove('early');
    await stage.remove('pod', 'early');
    await stage.remove('pvc', 'early');
  });

  for (const className of ['thin', 'thick']) {
    test(`a ${className} volume that is written to is restored, larger, as it was`, async () => {
      const snapshots = await open();
      const name = `live-${className}`;
      const larger = `larger-${className}`;
      await stage.claim(name, { className });
      await stage.pod(name, [name]);
      await count(stage, name, [name]);
      await stage.until('it writes', async () => (await countedIn(stage, name, name)) > 10);
      const counted = await countedIn(stage, name, name);
      const { status } = await snapshots.take(name, name);
      assert.equal(status?.restoreSize, '200Mi');
      const source = snapshots.source(name);
      await stage.claim(larger, { className, size: '400Mi', dataSource: source });
      await stage.pod(larger, [larger]);
      const restored = await countedIn(stage, larger, larger);
      assert(restored >= counted, `${restored} lines of at least ${counted}`);
      assert(restored < (await countedIn(stage, name, name)), 'it is of an earlier moment');
      await isWhole(stage, larger, larger);
      assert((await sizeMiB(stage, larger, larger)) > 300, 'the file system has grown');
      await stage.remove('pod', name, larger);
      await stage.remove('pvc', larger);
      await snapshots.remove(name);
      await stage.remove('pvc', name);
    });
  }

  const ownOnes = {
    'what was restored and cloned on xfs is its own': 'xfs',
    'what was restored and cloned on btrfs is its own': 'btrfs',
  } as const;
  for (const [name, fsType] of Object.entries(ownOnes)) {
    test(name, async () => areTheirOwn(stage, await open(), fsType));
  }

  test('a snapshot that is deleted while it is restored goes after that', async () => {
    const snapshots = await open();
    await stage.claim('slow', { className: 'thick', size: '512Mi' });
    await stage.pod('slow', ['slow'], 'n1');
    await stage.exec('slow', 'echo monday > /data/slow/day && sync');
    await snapshots.take('slow', 'slow');
    const { metadata } = await snapshots.contentOf('slow');
    const source = snapshots.source('slow');
    await stage.claim('copied', { className: 'thick', size: '512Mi', dataSource: source });
    await stage.apply('copied', ['copied'], 'n1');
    await stage.until('the copy is under way', async () => (await copyOf(stage))?.isMade === false);
    const words = ['delete', '--wait=false', `volumesnapshots.${snapshotGroup}/slow`];
    await stage.cluster.kubectl(words);
    const content = `volumesnapshotcontents.${snapshotGroup}/${metadata.name}`;
    await stage.cluster.kubectl(['delete', '--wait=false', content]);
    assert.equal((await copyOf(stage))?.isMade, false, 'it was deleted too late to tell anything');
    assert.notEqual((await snapshots.find('slow'))?.metadata.deletionTimestamp, undefined);
    await stage.ready('copied');
    assert.equal(await stage.exec('copied', 'cat /data/copied/day'), 'monday\n');
    await stage.until('the snapshot is gone', async () => (await snapshots.list()).length === 0);
    await stage.remove('pod', 'slow', 'copied');
    await stage.remove('pvc', 'slow', 'copied');
  });

  test('a clone of a volume that is written to is as it was at one moment', async () => {
    await stage.claim('origin', { className: 'thick' });
    await stage.pod('origin', ['origin']);
    await count(stage, 'origin', ['origin']);
    await stage.until('it writes', async () => (await countedIn(stage, 'origin', 'origin')) > 10);
    const counted = await countedIn(stage, 'origin', 'origin');
    const dataSource = { kind: 'PersistentVolumeClaim', name: 'origin' };
    await stage.claim('twin', { className: 'thick', size: '300Mi', dataSource });
    await stage.pod('twin', ['twin']);
    const copied = await countedIn(stage, 'twin', 'twin');
    assert(copied >= counted, `${copied} lines of at least ${counted}`);
    await isWhole(stage, 'twin', 'twin');
    assert((await sizeMiB(stage, 'twin', 'twin')) > 230, 'the file system has grown');
    await stage.remove('pod', 'origin', 'twin');
    await stage.remove('pvc', 'origin', 'twin');
  });

  test('two volumes of a group are taken at one moment, and go together', async () => {
    const snapshots = await open();
    for (const name of ['left', 'right']) {
      await stage.claim(name);
      await stage.cluster.kubectl(['label', 'pvc', name, 'pair=first']);
    }
    await stage.pod('pair', ['left', 'right']);
    // Each number to the left first: at any moment the left has as many lines, or one more.
    await count(stage, 'pair', ['left', 'right']);
    await stage.until('it writes', async () => (await countedIn(stage, 'pair', 'right')) > 10);
    await stage.cluster.apply([groupSnapshot('pair', 'first')]);
    await groupIsReady(stage, snapshots, 'pair');
    const members = await snapshots.list();
    assert.deepEqual(members.map(claimOf).toSorted(), ['left', 'right']);
    const names: string[] = [];
    for (const member of members) {
      assert.equal(member.status?.volumeGroupSnapshotName, 'pair');
      const { metadata } = await snapshots.ready(member.metadata.name);
      const name = `restored-${claimOf(member)}`;
      await stage.claim(name, { dataSource: snapshots.source(metadata.name) });
      names.push(name);
    }
    await stage.pod('restored', names);
    const left = await countedIn(stage, 'restored', 'restored-left');
    const right = await countedIn(stage, 'restored', 'restored-right');
    assert(
      left === right || left === right + 1,
      `${left} lines on the left, ${right} on the right`,
    );
    assert(right > 10);
    await stage.remove('pod', 'pair', 'restored');
    await stage.remove('pvc', ...names);
    await stage.remove('volumegroupsnapshots', 'pair');
    await stage.until('its members are gone', async () => (await snapshots.list()).length === 0);
    await stage.remove('pvc', 'left', 'right');
  });

  test('what is retained stays until a content that was written by hand deletes it', async () => {
    const snapshots = await open();
    await stage.claim('kept');
    await stage.pod('kept', ['kept'], 'n2');
    await stage.exec('kept', 'echo tuesday > /data/kept/day && sync');
    await snapshots.take('kept', 'kept', 'retain');
    const { metadata, status } = await snapshots.contentOf('kept');
    const handle = status?.snapshotHandle ?? '';
    await snapshots.remove('kept');
    await stage.remove(`volumesnapshotcontents.${snapshotGroup}`, metadata.name);
    assert((await stage.lvs()).includes(handle), 'a snapshot that is retained is still there');
    await stage.cluster.apply(writtenByHand('found', handle));
    await snapshots.ready('found');
    await stage.claim('back', { dataSource: snapshots.source('found') });
    await stage.pod('back', ['back']);
    assert.equal(await stage.exec('back', 'cat /data/back/day'), 'tuesday\n');
    await stage.remove('pod', 'kept', 'back');
    await stage.remove('pvc', 'back');
    await snapshots.remove('found');
    assert.equal((await stage.lvs()).includes(handle), false);
    await stage.remove('pvc', 'kept');
  });

  test('our own controller waits for the stock one to go, and does what it did', async () => {
    const snapshots = await open();
    await stage.claim('ours');
    await stage.pod('ours', ['ours'], 'n1');
    await stage.exec('ours', 'echo friday > /data/ours/day && sync');
    await becomeController(stage);
    await stage.until('ours has seen the other one', async () => {
      const words = ['logs', '--namespace=quarry-system', '--tail=-1'];
      const said = await stage.cluster.kubectl([...words, '--selector', operatorSelector]);
      return said.includes('controls the snapshots already');
    });
    await snapshots.controller.stop();
    await snapshots.take('ours', 'ours');
    await stage.claim('again', { size: '300Mi', dataSource: snapshots.source('ours') });
    await stage.pod('again', ['again']);
    assert.equal(await stage.exec('again', 'cat /data/again/day'), 'friday\n');
    await stage.remove('pod', 'ours', 'again');
    await stage.remove('pvc', 'again');
    await snapshots.remove('ours');
    await stage.remove('pvc', 'ours');
  });

  test('kinds that are taken away and come back are served again', async () => {
    const snapshots = await open();
    const { definitions } = await snapshotParts();
    await stage.claim('later');
    await stage.pod('later', ['later']);
    const before = await operators(stage);
    await stage.cluster.kubectl(['delete', '--filename', definitions, '--timeout=120s']);
    await stage.until('they are gone', async () => !(await isServed(stage)));
    await installKinds(stage.cluster, definitions);
    await snapshots.classes();
    await snapshots.take('later', 'later');
    assert.deepEqual(await operators(stage), before);
    await snapshots.remove('later');
    await stage.remove('pod', 'later');
    await stage.remove('pvc', 'later');
  });
});

const operatorSelector = 'app.kubernetes.io/component=controller';

async function isServed(stage: E2eStage): Promise<boolean> {
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const path = `${definitions}/volumesnapshots.${snapshotGroup}`;
  return (await stage.cluster.api.get(path)) !== undefined;
}

/** Who runs as operator, and how often it was begun anew. */
async function operators(stage: E2eStage): Promise<string> {
  const names = '{.metadata.name}={.status.containerStatuses[0].restartCount}';
  return stage.cluster.kubectl([
    ...['get', 'pods', '--namespace=quarry-system', '--selector', operatorSelector],
    `--output=jsonpath={range .items[*]}${names} {end}`,
  ]);
}

/** A pod that writes 1, 2, 3, one after the other, to a file in each of its claims. */
async function count(stage: E2eStage, pod: string, claims: readonly string[]): Promise<void> {
  const writes = claims.map((claim) => `echo $i >> /data/${claim}/count || exit`);
  // A node has one processor, which others need too.
  const loop = `i=1; while :; do ${writes.join('; ')}; i=$((i + 1)); usleep 1000; done`;
  await stage.exec(pod, `setsid sh -c '${loop}' >/dev/null 2>&1 </dev/null &`);
}

async function countedIn(stage: E2eStage, pod: string, claim: string): Promise<number> {
  return Number(await stage.exec(pod, `wc -l < /data/${claim}/count`));
}

/** No line is missing, none is half. */
async function isWhole(stage: E2eStage, pod: string, claim: string): Promise<void> {
  const script = `awk '$0 != NR { print NR ": " $0; exit }' /data/${claim}/count`;
  assert.equal(await stage.exec(pod, script), '');
}

async function sizeMiB(stage: E2eStage, pod: string, claim: string): Promise<number> {
  const [, line = ''] = (await stage.exec(pod, `df -P -m /data/${claim}`)).split('\n');
  return Number(line.split(/\s+/)[1]);
}

/** The LogicalVolume of the claim `copied`. */
async function copyOf(stage: E2eStage): Promise<{ readonly isMade: boolean } | undefined> {
  const { api } = stage.cluster;
  const claim = await api.get<{ readonly metadata: { readonly uid: string } }>(
    '/api/v1/namespaces/default/persistentvolumeclaims/copied',
  );
  const path = `/apis/topolvm.io/v1/logicalvolumes/pvc-${claim?.metadata.uid}`;
  const volume = await api.get<{ readonly status?: { readonly volumeID?: string } }>(path);
  return volume === undefined ? undefined : { isMade: volume.status?.volumeID !== undefined };
}

function groupSnapshot(name: string, pair: string): object {
  return {
    apiVersion: `${groupSnapshotGroup}/v1`,
    kind: 'VolumeGroupSnapshot',
    metadata: { name },
    spec: {
      volumeGroupSnapshotClassName: 'delete',
      source: { selector: { matchLabels: { pair } } },
    },
  };
}

async function groupIsReady(stage: E2eStage, snapshots: Snapshots, name: string): Promise<void> {
  const path = `/apis/${groupSnapshotGroup}/v1/namespaces/default/volumegroupsnapshots/${name}`;
  const isReady = async (): Promise<boolean> => {
    const found = await stage.cluster.api.get<{ readonly status?: { readyToUse?: boolean } }>(path);
    return found?.status?.readyToUse === true;
  };
  await stage.until(`the group ${name} is ready`, isReady).catch(async (error: unknown) => {
    throw new Error(`${String(error)}\n${await snapshots.describe()}`, { cause: error });
  });
}

function claimOf({ spec }: { spec: { source: { persistentVolumeClaimName?: string } } }): string {
  return spec.source.persistentVolumeClaimName ?? '';
}

/** A content for a snapshot that is there already, and the snapshot that asks for it. */
function writtenByHand(name: string, snapshotHandle: string): readonly object[] {
  return [
    {
      ...{ apiVersion: `${snapshotGroup}/v1`, kind: 'VolumeSnapshotContent', metadata: { name } },
      spec: {
        ...{ driver: 'topolvm.io', deletionPolicy: 'Delete', source: { snapshotHandle } },
        ...{ volumeSnapshotClassName: 'delete', sourceVolumeMode: 'Filesystem' },
        volumeSnapshotRef: { name, namespace: 'default' },
      },
    },
    {
      ...{ apiVersion: `${snapshotGroup}/v1`, kind: 'VolumeSnapshot', metadata: { name } },
      spec: {
        volumeSnapshotClassName: 'delete',
        source: { volumeSnapshotContentName: name },
      },
    },
  ];
}

/** As the guide says: more rights, and a flag. */
async function becomeController(stage: E2eStage): Promise<void> {
  const { cluster } = stage;
  await cluster.kubectl(['apply', '--filename', snapshotControllerFile]);
  const path = '/spec/template/spec/containers/0/args/-';
  const patch = JSON.stringify([{ op: 'add', path, value: '--snapshot-controller' }]);
  const deployment = ['--namespace=quarry-system', 'deployment/lvms-operator'];
  await cluster.kubectl(['patch', ...deployment, '--type=json', `--patch=${patch}`]);
  await cluster.kubectl(['rollout', 'status', ...deployment, '--timeout=240s']);
}
