import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { load } from 'js-yaml';
import { fetchPeer } from '../../../lab/peer/build.ts';
import { logicalVolumeCrd } from '../../../src/api/crds/logical-volume.ts';
import { lvmsCrds } from '../../../src/api/crds/lvms.ts';
import type { LvmClusterSpec } from '../../../src/api/objects/lvm-cluster.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { type Kind, type KubeObject, metadataShape } from '../../../src/kube/kind.ts';
import { lvmClusterKind } from '../../../src/kube/lvms-kinds.ts';
import { type Definition, differences, factsOf } from '../../deploy/crd-facts.ts';
import { served, until } from './kinds.ts';
import { adminOf, type Plane, startPlane } from './plane.ts';

/** Our definitions beside those of LVMS 4.20, which the lab has from the Go module proxy. */

type Crd = Definition & { readonly metadata: { readonly name: string } };
type Reasons = Readonly<Record<string, string>>;

const ours: readonly Crd[] = [
  ...lvmsCrds,
  logicalVolumeCrd({ group: 'topolvm.io', hasSelectableFields: true }),
];

let theirs: readonly Crd[] = [];

before(async () => {
  const folder = join(await fetchPeer('lvms'), 'config/crd/bases');
  const files = ours.map(({ metadata }) => metadata.name.replace(/^([^.]+)\.(.*)$/, '$2_$1.yaml'));
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  theirs = texts.map((text) => load(text) as Crd);
});

const unchanging = 'LVMS’ main refuses it too, and the disk cannot follow';
const wish = 'spec.storage.deviceClasses';
const rule = (message: string) => `rule "${message}" none is true here`;
const rules = {
  access: rule('deviceAccessPolicy cannot be changed: make another device class'),
  pool: rule('a shared device class has no thinPoolConfig: one node at a time can use a thin pool'),
};
const onlyShared = 'it is about a field that LVMS does not have';

/** What LVMS 4.20 takes and ours does not. */
const refused: Readonly<Record<string, Reasons>> = {
  LVMCluster: {
    '(whole): ours alone': 'the rules of configurationPolicy, which LVMS does not have',
    [`${wish}: x-kubernetes-list-type none is "map" here`]: 'one volume group has one name',
    [`${wish}: x-kubernetes-list-map-keys none is ["name"] here`]: 'as in LVMS’ main',
    [`${wish}[].name: isRequired none is true here`]: 'a class without a name was never made',
    [`${wish}[]: ${rule('fstype cannot be changed: make another device class')}`]: unchanging,
    [`${wish}[].fstype: isFixed none is true here`]: unchanging,
    [`${wish}[]: ${rules.access}`]: onlyShared,
    [`${wish}[]: ${rules.pool}`]: onlyShared,
  },
  LVMVolumeGroup: {
    [`spec: ${rule('there can be raidConfig or thinPoolConfig, not both')}`]:
      'LVMS 4.20 has no raidConfig',
    [`spec: ${rules.access}`]: onlyShared,
    [`spec: ${rules.pool}`]: onlyShared,
  },
  LVMVolumeGroupNodeStatus: {},
  LogicalVolume: {},
};

const newer = 'a field of LVMS’ main';
const own = 'ours: LVMS does not have it';
const shown = 'what kubectl shows';

function columns(...names: readonly (readonly [string, string])[]): Reasons {
  const all = [...names, ['Age', '.metadata.creationTimestamp'] as const];
  return Object.fromEntries(
    all.map(([name, path]) => [`(definition): column ${name} none is "${path}" here`, shown]),
  );
}

function groupStatus(at: string): Reasons {
  return {
    ...{ [`${at}.size: ours alone`]: own, [`${at}.free: ours alone`]: own },
    ...{ [`${at}.warnings: ours alone`]: own, [`${at}.raidStatus: ours alone`]: newer },
    [`${at}.deviceDiscoveryPolicy: default "RuntimeDynamic" is "RuntimeStatic" here`]:
      'as in LVMS’ main; agents always write it',
    [`${at}.deviceDiscoveryPolicy: enum ["Preconfigured","RuntimeDynamic"] is \
["Preconfigured","RuntimeDynamic","RuntimeStatic"] here`]: newer,
  };
}

/** In what else ours is unlike theirs. */
const different: Readonly<Record<string, Reasons>> = {
  LVMCluster: {
    ...columns(['Status', '.status.state'], ['Policy', '.spec.configurationPolicy']),
    ...groupStatus('status.deviceClassStatuses[].nodeStatus[]'),
    'spec.configurationPolicy: ours alone': own,
    [`${wish}[].deviceAccessPolicy: ours alone`]: own,
    [`${wish}[].deviceDiscoveryPolicy: ours alone`]: newer,
    [`${wish}[].raidConfig: ours alone`]: newer,
    [`${wish}[].storageClassOptions: ours alone`]: newer,
    [`${wish}[].fstype: default "xfs" is none here`]: 'a shared class can leave it out',
    [`${wish}[].fstype: enum ["","ext4","xfs"] is ["","ext4","none","xfs"] here`]: own,
    'status.drivers: ours alone': own,
  },
  LVMVolumeGroup: {
    ...columns(
      ['Default', '.spec.default'],
      ['Pool', '.spec.thinPoolConfig.name'],
      ['Raid', '.spec.raidConfig.type'],
    ),
    'spec.deviceAccessPolicy: ours alone': own,
    'spec.deviceDiscoveryPolicy: ours alone': newer,
    'spec.raidConfig: ours alone': newer,
  },
  LVMVolumeGroupNodeStatus: {
    ...columns(['Groups', '.spec.nodeStatus[*].name'], ['Status', '.spec.nodeStatus[*].status']),
    ...groupStatus('spec.nodeStatus[]'),
  },
  LogicalVolume: {
    ...columns(
      ['Node', '.spec.nodeName'],
      ['Class', '.spec.deviceClass'],
      ['Wanted', '.spec.size'],
      ['Size', '.status.currentSize'],
      ['Source', '.spec.source'],
      ['Volume', '.status.volumeID'],
      ['Message', '.status.message'],
    ),
    'spec.lvcreateOptionClass: ours alone': 'TopoLVM has it, and LVMS’ copy is older',
  },
};

describe('beside LVMS 4.20', () => {
  for (const [at, crd] of ours.entries()) {
    const kind = (crd.spec.names as { readonly kind: string }).kind;
    const found = (isNarrower: boolean) => {
      const all = differences(factsOf(theirs[at] as Crd), factsOf(crd));
      return all.filter((one) => one.isNarrower === isNarrower).map(({ text }) => text);
    };
    test(`${kind}: what LVMS takes is taken, but for what has a reason`, () => {
      assert.deepEqual(found(true).toSorted(), Object.keys(refused[kind] ?? {}).toSorted());
    });
    test(`${kind}: every other difference has a reason`, () => {
      assert.deepEqual(found(false).toSorted(), Object.keys(different[kind] ?? {}).toSorted());
    });
  }
});

describe('an LVMCluster that was made under LVMS’ definitions', () => {
  let plane: Plane;
  let admin: KubeClient;
  let close = () => {};
  const at = { namespace: 'default', name: 'mine' };
  const definitions: Kind<KubeObject> = {
    ...{ group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' },
    ...{ plural: 'customresourcedefinitions', isNamespaced: false },
    shape: { metadata: metadataShape },
  };

  before(async () => {
    plane = await startPlane();
    ({ admin, close } = adminOf(plane));
  });

  after(async () => {
    close();
    await plane?.stop();
  });

  /** In the place of those that are there, as `kubectl apply` does it. */
  async function install(crds: readonly Crd[]): Promise<void> {
    for (const { metadata, spec } of crds) {
      const { name } = metadata;
      const body = { spec };
      const apply = { type: 'apply', body, fieldManager: 'test', force: true } as const;
      await admin.patch(definitions, { name }, apply);
    }
    await served(admin, lvmClusterKind);
  }

  /** A new definition rules a moment after it was taken: it fills in, or prunes, what is read. */
  async function annotate(value: string, { hasOptions }: { readonly hasOptions: boolean }) {
    await until(`${value} is served`, async () => {
      const [first] = (await admin.get(lvmClusterKind, at)).spec?.storage?.deviceClasses ?? [];
      return (first?.storageClassOptions !== undefined) === hasOptions;
    });
    const body = { metadata: { annotations: { seen: value } } };
    return admin.patch(lvmClusterKind, at, { type: 'merge', body });
  }

  test('can be changed under ours, and under LVMS’ again', async () => {
    await install(theirs);
    const spec: LvmClusterSpec = {
      tolerations: [{ key: 'a', operator: 'Equal', value: 'b', effect: 'NoExecute' }],
      storage: {
        deviceClasses: [
          {
            ...{ name: 'a'.repeat(245), default: true, fstype: '' },
            deviceSelector: {
              ...{ paths: ['/dev/sdb'], optionalPaths: ['/dev/sdc'] },
              forceWipeDevicesAndDestroyAllData: true,
            },
            nodeSelector: {
              nodeSelectorTerms: [
                { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] },
              ],
            },
            thinPoolConfig: {
              ...{ name: 'pool', overprovisionRatio: 200, sizePercent: 100 },
              ...{ chunkSizeCalculationPolicy: 'Static', chunkSize: '131072' },
              ...{ metadataSizeCalculationPolicy: 'Static', metadataSize: '1Gi' },
            },
          },
          { name: 'vg2', deviceSelector: { paths: ['/dev/sdd'] } },
        ],
      },
    };
    const made = await admin.create(lvmClusterKind, { metadata: at, spec });
    await install(ours);
    const adopted = await annotate('ours', { hasOptions: true });
    const [first, second] = adopted.spec?.storage?.deviceClasses ?? [];
    const [was, other] = made.spec?.storage?.deviceClasses ?? [];
    const options = {
      ...{ reclaimPolicy: 'Delete', volumeBindingMode: 'WaitForFirstConsumer' },
      additionalParameters: {},
    };
    assert.deepEqual(first, { ...was, storageClassOptions: options });
    assert.deepEqual(second, { ...other, fstype: 'xfs', storageClassOptions: options });
    await install(theirs);
    assert.deepEqual((await annotate('theirs', { hasOptions: false })).spec, made.spec);
  });
});
