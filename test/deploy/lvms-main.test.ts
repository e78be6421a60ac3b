import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lvmsCrds } from '../../src/api/crds/lvms.ts';
import { differences, type Facts, type FactsByPath, factsOf } from './crd-facts.ts';

/**
 * Our definitions beside what LVMS' main has: no proxy serves it, so that what was read there is
 * written down here. Selectors, tolerations and conditions are Kubernetes' own.
 */

const text: Facts = { type: 'string' };
const texts: FactsByPath = { '': { type: 'array' }, '[]': text };
const flag: Facts = { type: 'boolean' };
const whole: Facts = { type: 'integer' };
const object: Facts = { type: 'object' };
const required = { isRequired: true } as const;
const quantity: Facts = {
  pattern:
    '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
  'x-kubernetes-int-or-string': true,
};

function oneOf(...words: readonly string[]): Facts {
  return { type: 'string', enum: words.toSorted() };
}

/** The same facts below another path. */
function under(path: string, inner: FactsByPath): FactsByPath {
  return Object.fromEntries(Object.entries(inner).map(([key, facts]) => [`${path}${key}`, facts]));
}

/** What classes and groups have in common. */
const group: FactsByPath = {
  '.default': flag,
  ...under('.deviceSelector', {
    '': object,
    ...under('.paths', texts),
    ...under('.optionalPaths', texts),
    '.forceWipeDevicesAndDestroyAllData': flag,
  }),
  '.deviceDiscoveryPolicy': oneOf('Static', 'Dynamic'),
  ...under('.thinPoolConfig', {
    '': object,
    '.name': { ...text, ...required },
    '.sizePercent': { ...whole, default: 90, minimum: 10, maximum: 100 },
    '.overprovisionRatio': { ...whole, ...required, minimum: 1, maximum: 100 },
    '.chunkSizeCalculationPolicy': { ...oneOf('Static', 'Host'), default: 'Static' },
    '.chunkSize': quantity,
    '.metadataSizeCalculationPolicy': { ...oneOf('Static', 'Host'), default: 'Host' },
    '.metadataSize': quantity,
  }),
  ...under('.raidConfig', {
    '': { ...object, isFixed: true },
    '.type': { ...oneOf('raid1', 'raid4', 'raid5', 'raid6', 'raid10'), ...required },
    '.mirrors': { ...whole, minimum: 1 },
    '.stripes': { ...whole, minimum: 2 },
    '.stripeSize': quantity,
  }),
};

const groupStatus: FactsByPath = {
  ...{ '': object, '.name': text, '.status': text, '.reason': text },
  ...under('.devices', texts),
  ...{ '.excluded': { type: 'array' }, '.excluded[]': object },
  '.excluded[].name': { ...text, ...required },
  ...under('.excluded[].reasons', { ...texts, '': { type: 'array', ...required } }),
  '.deviceDiscoveryPolicy': {
    ...oneOf('Preconfigured', 'RuntimeDynamic', 'RuntimeStatic'),
    ...{ ...required, default: 'RuntimeStatic' },
  },
  ...under('.raidStatus', {
    '': object,
    '.status': { ...oneOf('Healthy', 'Degraded', 'Failed'), ...required },
    ...{ '.memberCount': whole, '.degradedMemberCount': whole, '.minSyncPercent': whole },
    ...{ '.lvHealth': { type: 'array' }, '.lvHealth[]': object },
    '.lvHealth[].name': { ...text, ...required },
    '.lvHealth[].raidType': { ...text, ...required },
    '.lvHealth[].syncPercent': { ...whole, ...required },
    '.lvHealth[].healthStatus': text,
  }),
};

function definition(kind: string, plural: string): Facts {
  const names = { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() };
  return {
    ...{ group: 'lvm.topolvm.io', scope: 'Namespaced', names, version: 'v1alpha1' },
    ...{ served: true, storage: true, subresources: { status: {} } },
  };
}

const common: FactsByPath = { apiVersion: text, kind: text, metadata: object, spec: object };
const classes = 'spec.storage.deviceClasses';
const fixed = { isFixed: true } as const;

const main: Readonly<Record<string, FactsByPath>> = {
  LVMCluster: {
    '': { ...definition('LVMCluster', 'lvmclusters'), 'column Status': '.status.state' },
    ...common,
    ...{ 'spec.tolerations': { type: 'array' }, 'spec.storage': object },
    [classes]: {
      type: 'array',
      ...{ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
    },
    ...under(`${classes}[]`, {
      '': object,
      ...group,
      '.name': {
        ...{ ...text, ...required, minLength: 1, maxLength: 245 },
        pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
      },
      '.fstype': { ...oneOf('xfs', 'ext4', ''), default: 'xfs', ...fixed },
      '.nodeSelector': { ...object, 'x-kubernetes-map-type': 'atomic' },
      '.storageClassOptions': { ...object, default: {} },
      ...under('.storageClassOptions', {
        '.reclaimPolicy': { ...oneOf('Delete', 'Retain'), default: 'Delete', ...fixed },
        '.volumeBindingMode': {
          ...oneOf('WaitForFirstConsumer', 'Immediate'),
          ...{ default: 'WaitForFirstConsumer', ...fixed },
        },
        '.additionalParameters': { ...object, default: {}, maxProperties: 16, ...fixed },
        '.additionalParameters{}': text,
        '.additionalLabels': { ...object, maxProperties: 16 },
        '.additionalLabels{}': text,
      }),
    }),
    ...{ status: object, 'status.ready': flag, 'status.state': text },
    'status.conditions': { type: 'array' },
    ...under('status.deviceClassStatuses', {
      ...{
        '': { type: 'array' },
        '[]': object,
        '[].name': text,
        '[].nodeStatus': { type: 'array' },
      },
      ...under('[].nodeStatus[]', { ...groupStatus, '.node': text }),
    }),
  },
  LVMVolumeGroup: {
    '': definition('LVMVolumeGroup', 'lvmvolumegroups'),
    ...{ ...common, status: object },
    ...under('spec', {
      ...{ ...group, '.nodeSelector': { ...object, 'x-kubernetes-map-type': 'atomic' } },
      '': { ...object, 'rule "there can be raidConfig or thinPoolConfig, not both"': true },
    }),
  },
  LVMVolumeGroupNodeStatus: {
    '': definition('LVMVolumeGroupNodeStatus', 'lvmvolumegroupnodestatuses'),
    ...{ ...common, status: object, 'spec.nodeStatus': { type: 'array' } },
    ...under('spec.nodeStatus[]', groupStatus),
  },
};

const own = 'ours: LVMS does not have it';
const shown = 'what kubectl shows';
const onlyShared = 'it is about a field that LVMS does not have';
const ratio = 'thinPoolConfig.overprovisionRatio: maximum 100 is none here';
const older = 'LVMS 4.20 took any; new ones above it are refused by the webhook';

function ruleOf(message: string): string {
  return `rule "${message}" none is true here`;
}

const noPool =
  'a shared device class has no thinPoolConfig: one node at a time can use a thin pool';

function access(at: string): Readonly<Record<string, string>> {
  return {
    [`${at}: ${ruleOf('deviceAccessPolicy cannot be changed: make another device class')}`]:
      onlyShared,
    [`${at}: ${ruleOf(noPool)}`]: onlyShared,
    [`${at}.deviceAccessPolicy: ours alone`]: own,
    [`${at}.${ratio}`]: older,
  };
}

function numbers(at: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ['size', 'free', 'warnings'].map((name) => [`${at}.${name}: ours alone`, own]),
  );
}

const different: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  LVMCluster: {
    '(whole): ours alone': 'the rules of configurationPolicy, which LVMS does not have',
    'spec.configurationPolicy: ours alone': own,
    ...access(`${classes}[]`),
    [`${classes}[]: ${ruleOf('fstype cannot be changed: make another device class')}`]:
      'the same as LVMS’ rule on the field, for one that may be left out',
    [`${classes}[].fstype: default "xfs" is none here`]: 'a shared class can leave it out',
    [`${classes}[].fstype: enum ["","ext4","xfs"] is ["","ext4","none","xfs"] here`]: own,
    ...numbers('status.deviceClassStatuses[].nodeStatus[]'),
    'status.drivers: ours alone': own,
    '(definition): column Policy none is ".spec.configurationPolicy" here': shown,
    '(definition): column Age none is ".metadata.creationTimestamp" here': shown,
  },
  LVMVolumeGroup: {
    ...access('spec'),
    '(definition): column Default none is ".spec.default" here': shown,
    '(definition): column Pool none is ".spec.thinPoolConfig.name" here': shown,
    '(definition): column Raid none is ".spec.raidConfig.type" here': shown,
    '(definition): column Age none is ".metadata.creationTimestamp" here': shown,
  },
  LVMVolumeGroupNodeStatus: {
    ...numbers('spec.nodeStatus[]'),
    '(definition): column Groups none is ".spec.nodeStatus[*].name" here': shown,
    '(definition): column Status none is ".spec.nodeStatus[*].status" here': shown,
    '(definition): column Age none is ".metadata.creationTimestamp" here': shown,
  },
};

/** Below these everything is Kubernetes' own, and compared with LVMS 4.20 elsewhere. */
const ofKubernetes = /(tolerations|conditions)\[\]|nodeSelector\./;

describe('beside LVMS’ main', () => {
  for (const crd of lvmsCrds) {
    const { kind } = crd.spec.names;
    test(`${kind}: every difference has a reason`, () => {
      const ours = Object.entries(factsOf(crd)).filter(([path]) => !ofKubernetes.test(path));
      const found = differences(main[kind] ?? {}, Object.fromEntries(ours));
      assert.deepEqual(
        found.map(({ text: one }) => one).toSorted(),
        Object.keys(different[kind] ?? {}).toSorted(),
      );
    });
  }
});

test('a difference is seen, and whether it takes something away', () => {
  const facts = (schema: Facts) => ({ 'spec.a': schema, 'spec.a.b': text });
  const found = (theirs: FactsByPath, ours: FactsByPath) =>
    differences(theirs, ours).map(({ text: one, isNarrower }) => `${isNarrower ? '-' : '+'}${one}`);
  const [less, more] = [facts({ ...whole, maximum: 5 }), facts({ ...whole, maximum: 9 })];
  assert.deepEqual(found(more, less), ['-spec.a: maximum 9 is 5 here']);
  assert.deepEqual(found(less, more), ['+spec.a: maximum 5 is 9 here']);
  assert.deepEqual(found(less, facts(whole)), ['+spec.a: maximum 5 is none here']);
  assert.deepEqual(found(less, {}), ['-spec.a: theirs alone'], 'not each of its fields');
  assert.deepEqual(found({}, less), ['+spec.a: ours alone']);
  assert.deepEqual(found({}, facts({ ...whole, ...required })), ['-spec.a: ours alone']);
  const [few, many] = [facts(oneOf('x')), facts(oneOf('y', 'x'))];
  assert.deepEqual(found(many, few), ['-spec.a: enum ["x","y"] is ["x"] here']);
  assert.deepEqual(found(few, many), ['+spec.a: enum ["x"] is ["x","y"] here']);
  assert.deepEqual(found(facts({ ...whole, ...required }), facts(whole)), [
    '+spec.a: isRequired true is none here',
  ]);
});
