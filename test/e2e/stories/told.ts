import assert from 'node:assert/strict';
import { MiB } from '../../../lab/index.ts';
import { lookAtNode } from '../audit/look.ts';
import type { ClaimSpec, ClassSpec } from '../objects.ts';
import { bytesOf } from '../quantity.ts';
import type { E2eStage } from '../stage.ts';
import type { Stories } from './story.ts';

type Cause = {
  readonly storageClass?: Partial<ClassSpec>;
  readonly claim?: ClaimSpec;
  readonly told: RegExp;
};

/** Each claim waits for another reason, and a person can do something about it. */
const causes: Readonly<Record<string, Cause>> = {
  huge: {
    claim: { size: '900Gi' },
    told: /InsufficientCapacity: .*900 GiB.*Remedy: Add a device/,
  },
  unknown: {
    storageClass: { deviceClass: 'hdd' },
    told: /UnknownDeviceClass: .*\bhdd\b.*Remedy: Use a device class/,
  },
  options: {
    storageClass: { parameters: { 'topolvm.io/lvcreate-option-class': 'fast' } },
    told: /UnknownOptionClass: .*\bfast\b.*Remedy: Use an lvcreate option class/,
  },
  typo: {
    storageClass: { parameters: { 'csi.storage.k8s.io/fstyp': 'xfs' } },
    told: /InvalidConfiguration: .*unknown parameters csi\.storage\.k8s\.io\/fstyp\. Remedy: /,
  },
  zfs: {
    storageClass: { parameters: { fsType: 'zfs' } },
    told: /UnknownFileSystem: .*"zfs".*Remedy: Use ext4, xfs or btrfs/,
  },
  nowhere: {
    storageClass: { nodes: ['n9'] },
    told: /NoNodeAllowed: .*Remedy: Correct allowedTopologies of the StorageClass/,
  },
  shared: {
    claim: { accessMode: 'ReadWriteMany' },
    told: /AccessUnsupported: .*ReadWriteMany\. Remedy: .*ReadWriteOnce/,
  },
  selector: {
    claim: { selector: { matchLabels: { tier: 'fast' } } },
    told: /ClaimUnsupported: the claim has a selector.*Remedy: Make a new claim without/,
  },
  'of-pending': {
    claim: { dataSource: { kind: 'PersistentVolumeClaim', name: 'told-huge' } },
    told: /SourceNotReady: PersistentVolumeClaim default\/told-huge is Pending.*Remedy: Wait/,
  },
  'of-larger': {
    claim: { size: '64Mi', dataSource: { kind: 'PersistentVolumeClaim', name: 'told-source' } },
    told: /SourceLarger: .*64 MiB.*default\/told-source needs 128 MiB.*Remedy: Ask for at least/,
  },
  'of-snapshot': {
    claim: {
      dataSource: { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'snap' },
    },
    told: /SnapshotsNotInstalled: .*default\/snap.*Remedy: Install the snapshot CRDs/,
  },
};

/** What a person and his tools are told. */
export const toldStories: Stories = {
  'a claim that cannot be made says why, and what to do': async (stage) => {
    const simple = { deviceClass: 'thick', isImmediate: true };
    await stage.storageClass('told-source', simple);
    await stage.claim('told-source', { className: 'told-source', size: '128Mi' });
    await stage.boundClaim('told-source');
    const names = Object.keys(causes).map((name) => `told-${name}`);
    for (const name of names) stage.waiting.add(`default/${name}`);
    for (const [cause, { storageClass, claim }] of Object.entries(causes)) {
      const name = `told-${cause}`;
      await stage.storageClass(name, { ...simple, ...storageClass });
      await stage.claim(name, { className: name, ...claim });
    }
    for (const [cause, { told }] of Object.entries(causes)) {
      const line = new RegExp(`Warning +ProvisioningFailed .*${told.source}`);
      await stage.tells(`told-${cause}`, line);
    }
    await stage.remove('pvc', ...names, 'told-source');
    for (const name of names) stage.waiting.delete(`default/${name}`);
    await stage.remove('storageclass', ...names, 'told-source');
  },

  'a claim that waits for its pod says that no node has room': async (stage) => {
    await stage.claim('roomless', { className: 'thick', size: '900Gi' });
    await stage.apply('roomless', ['roomless']);
    await stage.tells('roomless', /Warning +NotEnoughCapacity .*900 ?Gi/);
    await stage.remove('pod', 'roomless');
    await stage.remove('pvc', 'roomless');
  },

  'a LogicalVolume says its size, and says it again': async (stage) => {
    await stage.claim('sized', { className: 'thick', size: '100000k' });
    await stage.pod('sized', ['sized']);
    const { spec } = await stage.boundClaim('sized');
    const object = ['logicalvolume', spec.volumeName ?? ''];
    const size = async (field: string) => {
      const words = ['get', ...object, `--output=jsonpath={.${field}}`];
      return bytesOf((await stage.cluster.kubectl(words)) || '0');
    };
    // 100,000,000 bytes: in blocks of 4096 bytes for TopoLVM, in extents for LVM.
    assert.equal(await size('spec.size'), 100_003_840n);
    assert.equal(await size('status.currentSize'), 96n * MiB);
    const words = ['patch', ...object, '--subresource=status', '--type=merge'];
    await stage.cluster.kubectl([...words, '--patch={"status":{"currentSize":null}}']);
    const isBack = async () => (await size('status.currentSize')) === 96n * MiB;
    await stage.until('the size is there again', isBack);
    await stage.remove('pod', 'sized');
    await stage.remove('pvc', 'sized');
  },

  'kubelet tells what a volume has': async (stage) => {
    await stage.claim('measured', { className: 'thick', size: '64Mi' });
    await stage.pod('measured', ['measured']);
    const path = `/api/v1/nodes/${await stage.nodeOf('measured')}/proxy/stats/summary`;
    const told = async () => {
      const { status, text } = await stage.cluster.api.request(path);
      if (status !== 200) return false;
      const { pods } = JSON.parse(text) as Summary;
      const volume = pods.flatMap((pod) => pod.volume ?? []).find(isMeasured);
      return (volume?.capacityBytes ?? 0) > 40 * 1024 * 1024;
    };
    await stage.until('the statistics have it', told, 240_000);
    await stage.remove('pod', 'measured');
    await stage.remove('pvc', 'measured');
  },
};

/** Alone: what LVM says must not change between two questions. */
export const metricsStories: Stories = {
  'metrics say what LVM says, and who leads': async (stage) => {
    await stage.claim('counted', { className: 'thick', size: '64Mi' });
    await stage.pod('counted', ['counted']);
    for (const guest of stage.cluster.nodes) {
      await stage.until(`the room on ${guest.name} is told`, async () => {
        const { pvs } = await lookAtNode(guest);
        const freeBytes = pvs
          .filter(({ group }) => group === 'data')
          .reduce((total, pv) => total + pv.freeBytes, 0n);
        const text = await metricsOf(stage, 'node', guest.name);
        const name = 'topolvm_volumegroup_available_bytes';
        return metricIn(text, { name, deviceClass: 'thick', node: guest.name }) === freeBytes;
      });
    }
    const operators = await Promise.all(
      stage.cluster.nodes.map(({ name }) => metricsOf(stage, 'controller', name)),
    );
    const leaders = operators.filter((text) => /^quarry_leader 1$/m.test(text));
    assert.equal(leaders.length, 1);
    await stage.remove('pod', 'counted');
    await stage.remove('pvc', 'counted');
  },
};

type VolumeStats = {
  readonly capacityBytes?: number;
  readonly pvcRef?: { readonly name: string };
};
type Summary = { readonly pods: readonly { readonly volume?: readonly VolumeStats[] }[] };

function isMeasured({ pvcRef }: VolumeStats): boolean {
  return pvcRef?.name === 'measured';
}

/** Of our pod on a node, through the API server. */
async function metricsOf(stage: E2eStage, component: string, node: string): Promise<string> {
  const pod = await stage.cluster.kubectl([
    ...['get', 'pods', '--namespace=quarry-system', `--field-selector=spec.nodeName=${node}`],
    `--selector=app.kubernetes.io/component=${component}`,
    '--output=jsonpath={.items[*].metadata.name}',
  ]);
  const path = `/api/v1/namespaces/quarry-system/pods/${pod}:8080/proxy/metrics`;
  return (await stage.cluster.api.request(path)).text;
}

type Metric = { readonly name: string; readonly deviceClass: string; readonly node: string };

function metricIn(text: string, { name, deviceClass, node }: Metric): bigint | undefined {
  const line = text
    .split('\n')
    .filter((one) => one.startsWith(`${name}{`))
    .find((one) => one.includes(`"${deviceClass}"`) && one.includes(`"${node}"`));
  return line === undefined ? undefined : BigInt(line.split(' ').at(-1) ?? '');
}
