import assert from 'node:assert/strict';
import test from 'node:test';
import type { LvmCluster, LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import type { LvmVolumeGroup } from '../../src/api/objects/lvm-volume-group.ts';
import type { Metadata } from '../../src/api/objects/metadata.ts';
import { GiB } from '../../src/base/bytes.ts';
import { clusterPlanText } from '../../src/cli/cluster-plan-text.ts';
import { foreseeCluster } from '../../src/core/lvm-cluster/foresee.ts';
import { inventoryAnnotation, inventoryText } from '../../src/core/lvm-cluster/inventory.ts';
import type { ClusterView } from '../../src/core/lvm-cluster/plan.ts';
import { plainDisks } from '../world/devices.ts';
import { GroupScene } from './agent-groups-scene.ts';

const namespace = 'quarry-system';

/** A node whose agent makes what is asked for, and somebody who plans by what it tells. */
class PlanScene extends GroupScene {
  #groups: readonly LvmVolumeGroup[] = [];

  constructor() {
    super([
      ...plainDisks(3, 4n * GiB),
      { path: '/dev/sdy', sizeBytes: GiB, fileSystem: 'xfs' },
      { path: '/dev/sdz', sizeBytes: GiB, mountPoints: ['/mnt'] },
    ]);
  }

  /** What is printed, and the objects that the operator would write then. */
  plan(classes: readonly LvmDeviceClass[], changes: Partial<Metadata> = {}) {
    assert.ok(this.inventory !== undefined);
    const annotations = { [inventoryAnnotation]: inventoryText(this.inventory) ?? '' };
    const cluster: LvmCluster = {
      metadata: { name: 'mine', namespace, uid: 'u', resourceVersion: '1', ...changes },
      spec: { storage: { deviceClasses: classes } },
    };
    const nodes = [{ metadata: { name: 'n1', uid: 'n', resourceVersion: '1', annotations } }];
    const reports = [{ metadata: { name: 'n1', uid: 'r', resourceVersion: '1' } }];
    const view: ClusterView = {
      ...{ cluster, nodes, reports, groups: this.#groups, classes: [], snapshotClasses: [] },
      ...{ claims: [], volumes: [], logicalVolumes: [], driver: 'topolvm.io' },
    };
    const foreseen = foreseeCluster(view);
    return { ...clusterPlanText(foreseen), groups: foreseen.view.groups };
  }

  /** As the operator writes them. */
  apply(groups: readonly LvmVolumeGroup[]): void {
    for (const { metadata, spec } of groups) {
      const { deletionTimestamp, annotations, ownerReferences } = metadata;
      const kept = this.object(metadata.name)?.metadata.finalizers ?? [];
      const marks = { annotations, ownerReferences, finalizers: kept, deletionTimestamp };
      const given = Object.entries(marks).filter(([, value]) => value !== undefined);
      this.group(metadata.name, spec ?? {}, Object.fromEntries(given));
    }
  }

  /** What the objects are now, as who plans next sees them. */
  look(): void {
    this.#groups = ['vg1', 'vg2'].flatMap((name) => this.object(name) ?? []);
  }
}

/** Identities are those of what was only foreseen. */
function changes(scene: GroupScene): readonly string[] {
  return scene.stage.ran.map(({ argv }) => spelled(argv.join(' ')));
}

function printed(text: string): readonly string[] {
  return [...text.matchAll(/^ +((?:lvm|wipefs) .*)$/gm)].map(([, command = '']) =>
    spelled(command),
  );
}

function spelled(command: string): string {
  return command.replaceAll(/(vg|lv)_uuid=(\(to be made\)|\S+)/g, '$1_uuid=UUID');
}

const thinPoolConfig = { name: 'pool', sizePercent: 90, overprovisionRatio: 10 };
const vg1: LvmDeviceClass = {
  ...{ name: 'vg1', default: true, thinPoolConfig },
  deviceSelector: { paths: ['/dev/sdb'], optionalPaths: ['/dev/sdy', '/dev/sdz'] },
};
const vg2: LvmDeviceClass = { name: 'vg2', deviceSelector: { paths: ['/dev/sdc'] } };

async function carriedOut(
  scene: PlanScene,
  classes: readonly LvmDeviceClass[],
  isDone: () => boolean,
  metadata: Partial<Metadata> = {},
): Promise<string> {
  await scene.settle();
  scene.look();
  const { text, isClear, groups } = scene.plan(classes, metadata);
  assert.ok(isClear, text);
  const before = changes(scene).length;
  scene.apply(groups);
  await scene.until(`it is done: ${text}`, isDone);
  await scene.settle();
  assert.deepEqual(changes(scene).slice(before), printed(text), text);
  assert.ok(printed(text).length > 0, text);
  return text;
}

test('what is printed before an LVMCluster is applied is what is run then', async () => {
  const scene = new PlanScene();
  scene.start();
  await scene.until('the disks are told', () => scene.inventory !== undefined);
  assert.deepEqual(changes(scene), [], 'nothing was asked for');

  const made = await carriedOut(
    scene,
    [vg1, vg2],
    () => scene.isReady('vg1') && scene.isReady('vg2'),
  );
  assert.match(made, /Nothing was changed/);
  assert.match(made, /vg1 +\/dev\/sdy .* left-alone +it holds xfs/);
  assert.match(made, /vg1 +\/dev\/sdz .* left-alone +it is mounted at \/mnt/);
  assert.match(made, /make StorageClass lvms-vg1/);

  const more = { ...vg2, deviceSelector: { paths: ['/dev/sdc', '/dev/sda'] } };
  await carriedOut(scene, [vg1, more], () => scene.devicesOf('vg2').length === 2);
  await carriedOut(scene, [vg1, vg2], () => scene.devicesOf('vg2').length === 1);
  const going = { deletionTimestamp: 'now', finalizers: ['lvmcluster.topolvm.io'] };
  await carriedOut(scene, [vg1, vg2], () => scene.stage.world.machine.vgs.length === 0, going);
});

test('what is printed for a disk that is wiped, mirrors, and a pool that grows is run too', async () => {
  const scene = new PlanScene();
  scene.start();
  await scene.until('the disks are told', () => scene.inventory !== undefined);
  const wiped: LvmDeviceClass = {
    ...{ name: 'vg2', raidConfig: { type: 'raid1' } },
    deviceSelector: { paths: ['/dev/sdc', '/dev/sdy'], forceWipeDevicesAndDestroyAllData: true },
  };
  const pooled = (metadataSize: string, ...paths: readonly string[]): LvmDeviceClass => ({
    ...{ name: 'vg1', default: true, deviceSelector: { paths } },
    thinPoolConfig: {
      ...{ ...thinPoolConfig, sizePercent: 80 },
      ...{ metadataSizeCalculationPolicy: 'Static', metadataSize },
    },
  });
  const made = await carriedOut(
    scene,
    [pooled('16Mi', '/dev/sdb'), wiped],
    () => scene.isReady('vg1') && scene.isReady('vg2'),
  );
  assert.match(made, /^ +wipefs .*\/dev\/sdy/m);

  const grown = await carriedOut(
    scene,
    [pooled('16Mi', '/dev/sdb', '/dev/sda'), wiped],
    () => scene.devicesOf('vg1').length === 2,
  );
  assert.match(grown, /^ +lvm lvextend /m);
  const wider = await carriedOut(scene, [pooled('64Mi', '/dev/sdb', '/dev/sda'), wiped], () =>
    scene.isReady('vg1'),
  );
  assert.match(wider, /^ +lvm lvextend .*poolmetadata/m);
  const going = { deletionTimestamp: 'now', finalizers: ['lvmcluster.topolvm.io'] };
  const all = [pooled('64Mi', '/dev/sdb', '/dev/sda'), wiped];
  await carriedOut(scene, all, () => scene.stage.world.machine.vgs.length === 0, going);
});

test('a plan that cannot be carried out says why', async () => {
  const scene = new PlanScene();
  scene.start();
  await scene.until('the disks are told', () => scene.inventory !== undefined);
  const { text, isClear } = scene.plan([
    { name: 'vg1', default: true, deviceSelector: { paths: ['/dev/sdb', '/dev/sdz'] } },
  ]);
  assert.equal(isClear, false);
  assert.match(text, /Blocked: volume group vg1: DeviceNotUsable: \/dev\/sdz: it is mounted at/);
  assert.deepEqual(printed(text), []);
});
