import { bytes } from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import { showList } from '../../base/show.ts';
import { lvNameProblem } from '../lv-name.ts';
import type { LvmDeviceClass, LvmRaid, LvmThinPool } from '../objects/lvm-cluster.ts';
import { parseQuantity, showQuantity } from '../quantity.ts';
import { stripesMaxOf } from '../raid-stripes.ts';
import { fileSystemOf, isShared } from './access.ts';
import { classField, type Findings } from './findings.ts';
import { isGreedy, pathsOf } from './paths.ts';

/** What can be said of one device class by itself. */
export function checkClass(one: LvmDeviceClass, findings: Findings): void {
  checkName(one, findings);
  checkAccess(one, findings);
  checkSelector(one, findings);
  if (one.thinPoolConfig !== undefined) checkThinPool(one, one.thinPoolConfig, findings);
  if (one.raidConfig !== undefined) checkRaid(one, one.raidConfig, findings);
  checkStorageClass(one, findings);
}

function checkName({ name }: LvmDeviceClass, findings: Findings): void {
  if (name.length <= limits.deviceClassNameLengthMax) return;
  const remedy = `write at most ${limits.deviceClassNameLengthMax} characters: lvmd.yaml and the \
annotations of nodes take no more`;
  findings.refuseNew(classField(name, 'name'), name, remedy);
}

function checkAccess(one: LvmDeviceClass, findings: Findings): void {
  const field = (key: keyof LvmDeviceClass): string => classField(one.name, key);
  if (!isShared(one)) {
    if (one.fstype === 'none') findings.refuse(field('fstype'), one.fstype, 'write xfs or ext4');
    return;
  }
  const remedy = 'leave it out or write nodeLocal: shared device classes are not available yet';
  findings.refuse(field('deviceAccessPolicy'), one.deviceAccessPolicy, remedy);
  if (one.thinPoolConfig !== undefined) {
    const why = 'leave it out: a thin pool can be used by one node at a time only';
    findings.refuse(field('thinPoolConfig'), one.thinPoolConfig.name, why);
  }
  if (fileSystemOf(one) !== 'none') {
    const why = 'leave it out or write none: volumes of a shared class are block devices';
    findings.refuse(field('fstype'), one.fstype, why);
  }
}

function checkSelector(one: LvmDeviceClass, findings: Findings): void {
  const { name, deviceSelector: selector } = one;
  if (selector !== undefined && isGreedy(one)) {
    const remedy =
      'name devices under paths or optionalPaths, or leave deviceSelector out to take every disk \
that nobody uses';
    findings.refuse(classField(name, 'deviceSelector'), selector, remedy);
  }
  for (const { field, path } of pathsOf(one)) {
    if (!/^\/dev\/./.test(path)) {
      findings.refuse(classField(name, field), path, 'write a path that starts with /dev/');
    } else if (path.split('/').some((part, at) => at > 0 && ['', '.', '..'].includes(part))) {
      findings.refuseNew(classField(name, field), path, 'write it without //, . and ..');
    }
  }
  if (isGreedy(one) && one.deviceDiscoveryPolicy === 'Dynamic') {
    findings.warn(
      `${classField(name, 'deviceDiscoveryPolicy')} is Dynamic and no paths are named: every disk \
that appears on a node is taken`,
    );
  }
}

function checkThinPool({ name }: LvmDeviceClass, pool: LvmThinPool, findings: Findings): void {
  const field = (key: keyof LvmThinPool): string => classField(name, `thinPoolConfig.${key}`);
  const why = lvNameProblem(pool.name, name);
  if (why !== undefined) {
    findings.refuseNew(field('name'), pool.name, `write another name, such as thin-pool-1: ${why}`);
  }
  const percent = pool.sizePercent ?? limits.thinPoolSizePercentAdvised;
  if (percent > limits.thinPoolSizePercentAdvised) {
    findings.warn(
      `${field('sizePercent')} is ${percent}: above ${limits.thinPoolSizePercentAdvised} little is \
left to grow the metadata of the pool`,
    );
  }
  if (pool.overprovisionRatio > limits.overprovisionRatioMax) {
    const remedy = `write a number from 1 to ${limits.overprovisionRatioMax}`;
    findings.refuseNew(field('overprovisionRatio'), pool.overprovisionRatio, remedy);
  }
  const { thinPoolChunkBytesMin, thinPoolChunkBytesMax } = limits;
  checkSize(findings, {
    ...{ field: field('chunkSize'), value: pool.chunkSize },
    policy: pool.chunkSizeCalculationPolicy ?? 'Static',
    ...{ min: thinPoolChunkBytesMin, max: thinPoolChunkBytesMax },
    ...{ multipleOf: thinPoolChunkBytesMin, words: 'a multiple of 64Ki from 64Ki to 1Gi' },
  });
  const policy = pool.metadataSizeCalculationPolicy ?? 'Host';
  const { thinPoolMetadataBytesMin, thinPoolMetadataBytesMax } = limits;
  checkSize(findings, {
    ...{ field: field('metadataSize'), value: pool.metadataSize, policy },
    ...{ min: thinPoolMetadataBytesMin, max: thinPoolMetadataBytesMax },
    // It is rounded up when the pool is made.
    ...{ multipleOf: 1n, words: 'a size from 2Mi to 16Gi' },
  });
  if (policy === 'Static' && pool.metadataSize === undefined) {
    findings.warn(`${field('metadataSize')} is missing: 1Gi is taken`);
  }
}

type SizeRule = {
  readonly field: string;
  readonly value: string | undefined;
  readonly policy: string;
  readonly min: bigint;
  readonly max: bigint;
  readonly multipleOf: bigint;
  readonly words: string;
};

function checkSize(findings: Findings, rule: SizeRule): void {
  const { field, value, policy, min, max, multipleOf, words } = rule;
  if (value === undefined) return;
  if (policy === 'Host') {
    const remedy = 'leave it out, or write Static for its policy: Host chooses the size by itself';
    findings.refuseNew(field, value, remedy);
    return;
  }
  const size = parseQuantity(value);
  const isWithin = typeof size === 'bigint' && size >= min && size <= max;
  if (!isWithin || size % multipleOf !== 0n) findings.refuseNew(field, value, `write ${words}`);
}

function checkRaid(one: LvmDeviceClass, raid: LvmRaid, findings: Findings): void {
  const field = (key: string): string => classField(one.name, `raidConfig.${key}`);
  const hasMirrors = raid.type === 'raid1' || raid.type === 'raid10';
  if (one.thinPoolConfig !== undefined) {
    const remedy = 'leave one of raidConfig and thinPoolConfig out';
    findings.refuse(classField(one.name, 'raidConfig'), raid.type, remedy);
  }
  if (raid.mirrors !== undefined && !hasMirrors) {
    findings.refuse(field('mirrors'), raid.mirrors, 'leave it out: only raid1 and raid10 have it');
  }
  if (raid.type === 'raid10' && (raid.mirrors ?? 1) > 1) {
    findings.refuseNew(field('mirrors'), raid.mirrors, 'write 1: lvm makes raid10 of two copies');
  }
  if (raid.type === 'raid1') refuseStripes(raid, field, findings);
  if (raid.type === 'raid6' && raid.stripes !== undefined && raid.stripes < 3) {
    findings.refuseNew(
      field('stripes'),
      raid.stripes,
      'write at least 3: lvm makes no smaller raid6',
    );
  }
  if (raid.type !== 'raid1') checkStripeSize(raid, field, findings);
  checkRaidCounts(raid, field, findings);
  checkRaidDevices(one, raid, findings);
}

type FieldOf = (key: string) => string;

function checkStripeSize({ stripeSize }: LvmRaid, field: FieldOf, findings: Findings): void {
  if (stripeSize === undefined) return;
  const size = parseQuantity(stripeSize);
  const min = limits.stripeSizeBytesMin;
  if (typeof size !== 'bigint' || size === 0n || (size & (size - 1n)) !== 0n) {
    findings.refuse(field('stripeSize'), stripeSize, 'write a power of two, such as 64Ki');
  } else if (size < min) {
    const remedy = `write at least ${showQuantity(bytes(min))}: lvm makes no smaller stripes`;
    findings.refuseNew(field('stripeSize'), stripeSize, remedy);
  }
}

/** More than that no lvcreate takes. What a type cannot have at all is told elsewhere. */
function checkRaidCounts(raid: LvmRaid, field: FieldOf, findings: Findings): void {
  const { type, mirrors = 0, stripes = 0 } = raid;
  const { mirrorsMax } = limits;
  const stripesMax = stripesMaxOf(type);
  if (type === 'raid1' && mirrors > mirrorsMax) {
    const remedy = `write at most ${mirrorsMax}: no more copies are made`;
    findings.refuseNew(field('mirrors'), mirrors, remedy);
  }
  if (type !== 'raid1' && stripes > stripesMax) {
    findings.refuseNew(field('stripes'), stripes, `write at most ${stripesMax}: lvm takes no more`);
  }
}

function refuseStripes(raid: LvmRaid, field: FieldOf, findings: Findings): void {
  for (const key of ['stripes', 'stripeSize'] as const) {
    if (raid[key] === undefined) continue;
    findings.refuse(field(key), raid[key], 'leave it out: raid1 has no stripes');
  }
}

function checkRaidDevices(one: LvmDeviceClass, raid: LvmRaid, findings: Findings): void {
  const { paths = [], optionalPaths = [] } = one.deviceSelector ?? {};
  const named = paths.length + optionalPaths.length;
  const field = classField(one.name, 'deviceSelector');
  const { atLeast, multipleOf } = raidDevices(raid);
  if (named < atLeast) {
    const remedy = `name at least ${atLeast} devices: ${raid.type} is made of no fewer`;
    findings.refuse(field, named === 0 ? undefined : [...paths, ...optionalPaths], remedy);
  } else if (optionalPaths.length === 0 && named % multipleOf !== 0) {
    const remedy = `name a multiple of ${multipleOf} devices for ${raid.type}`;
    findings.refuse(field, paths, remedy);
  }
}

/** How many devices a volume of this kind lies on. */
export function raidDevices(raid: LvmRaid) {
  const copies = (raid.mirrors ?? 1) + 1;
  switch (raid.type) {
    case 'raid1':
      return { atLeast: copies, multipleOf: 1 };
    case 'raid4':
    case 'raid5':
      return { atLeast: (raid.stripes ?? 2) + 1, multipleOf: 1 };
    case 'raid6':
      return { atLeast: (raid.stripes ?? 3) + 2, multipleOf: 1 };
    case 'raid10':
      return { atLeast: 2 * copies, multipleOf: copies };
  }
}

const ownParameters = ['topolvm.io/device-class', 'csi.storage.k8s.io/fstype'];
const ownLabels = ['managed-by', 'part-of', 'name', 'component'].map(
  (name) => `app.kubernetes.io/${name}`,
);
const ownLabelPrefix = 'owned-by.topolvm.io';

function checkStorageClass(one: LvmDeviceClass, findings: Findings): void {
  const { additionalParameters = {}, additionalLabels = {} } = one.storageClassOptions ?? {};
  const field = (key: string): string => classField(one.name, `storageClassOptions.${key}`);
  for (const key of Object.keys(additionalParameters)) {
    if (key === '') {
      findings.refuse(field('additionalParameters'), key, 'write a name for the parameter');
    } else if (ownParameters.includes(key)) {
      const remedy = `leave ${showList(ownParameters)} out: they follow from the device class`;
      findings.refuse(field('additionalParameters'), key, remedy);
    }
  }
  for (const [key, value] of Object.entries(additionalLabels)) {
    if (ownLabels.includes(key) || key.startsWith(ownLabelPrefix)) {
      findings.refuse(field('additionalLabels'), key, 'take another label: this one is in use');
    } else if (!isLabelKey(key)) {
      findings.refuse(field('additionalLabels'), key, 'write a label such as example.com/team');
    } else if (!labelValue.test(value)) {
      const remedy = 'write at most 63 letters, digits, and - _ . in between';
      findings.refuse(field(`additionalLabels[${key}]`), value, remedy);
    }
  }
}

const labelName = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const labelPrefix = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const labelPrefixLengthMax = 253;

function isLabelKey(key: string): boolean {
  const [first = '', second, ...more] = key.split('/');
  if (second === undefined) return labelName.test(first);
  const isPrefix = labelPrefix.test(first) && first.length <= labelPrefixLengthMax;
  return isPrefix && labelName.test(second) && more.length === 0;
}
