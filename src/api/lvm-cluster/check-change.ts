import { show, showFew, showList } from '../../base/show.ts';
import type { LvmDeviceClass, LvmThinPool } from '../objects/lvm-cluster.ts';
import type { LvmVolumeGroupNodeStatus } from '../objects/lvm-volume-group.ts';
import { parseQuantity } from '../quantity.ts';
import { isSameJson } from '../same.ts';
import { isShared } from './access.ts';
import { classField, type Findings } from './findings.ts';
import { isGreedy } from './paths.ts';

/** The parts of a class that an LVMVolumeGroup has too. */
export type ChangingClass = Pick<
  LvmDeviceClass,
  | 'name'
  | 'deviceAccessPolicy'
  | 'deviceSelector'
  | 'nodeSelector'
  | 'raidConfig'
  | 'thinPoolConfig'
>;

/** What can never change in a class that has volume groups already. */
export function checkClassChange(was: ChangingClass, is: ChangingClass, findings: Findings): void {
  const { name } = is;
  const fixed = (field: string, before: unknown, after: unknown): void => {
    if (isSameJson(before, after)) return;
    findings.refuse(classField(name, field), after, unchanging(before));
  };
  fixed('deviceAccessPolicy', accessOf(was), accessOf(is));
  fixed('nodeSelector', was.nodeSelector, is.nodeSelector);
  fixed('raidConfig', was.raidConfig, is.raidConfig);
  fixed(
    'deviceSelector.forceWipeDevicesAndDestroyAllData',
    was.deviceSelector?.forceWipeDevicesAndDestroyAllData ?? false,
    is.deviceSelector?.forceWipeDevicesAndDestroyAllData ?? false,
  );
  checkThinPoolChange(was, is, fixed);
  checkMetadata(was, is, findings);
  if (!isGreedy(was) && isGreedy(is)) {
    const remedy = 'leave at least one device: a class with paths never takes every disk';
    findings.refuse(classField(name, 'deviceSelector'), is.deviceSelector, remedy);
  }
}

/** A class that took every disk may name them from now on: exactly those that it has. */
export function checkNaming(
  was: ChangingClass,
  is: ChangingClass,
  reports: readonly LvmVolumeGroupNodeStatus[],
  findings: Findings,
): void {
  if (!isGreedy(was) || isGreedy(is)) return;
  const { paths = [], optionalPaths = [] } = is.deviceSelector ?? {};
  const named = [...paths, ...optionalPaths];
  const names = new Set(named);
  const unlike = reports.flatMap(({ metadata, spec }) => {
    const group = spec?.nodeStatus?.find(({ name }) => name === is.name);
    const has = group?.devices ?? [];
    const isSame =
      has.every((device) => names.has(device)) && paths.every((path) => has.includes(path));
    return group === undefined || isSame ? [] : [`${metadata.name} has ${showList(has)}`];
  });
  if (unlike.length === 0) return;
  const what = showFew(unlike);
  const remedy = `name exactly the devices that it has, as its status shows them: ${what}`;
  findings.refuse(classField(is.name, 'deviceSelector'), named, remedy);
}

export function unchanging(before: unknown): string {
  const kept = before === undefined ? 'leave it out' : `keep it at ${show(before)}`;
  return `${kept}: it cannot be changed; make another device class`;
}

function accessOf(one: ChangingClass): string {
  return isShared(one) ? 'shared' : 'nodeLocal';
}

type Fixed = (field: string, before: unknown, after: unknown) => void;

function checkThinPoolChange(was: ChangingClass, is: ChangingClass, fixed: Fixed): void {
  const [before, after] = [was.thinPoolConfig, is.thinPoolConfig];
  if (before === undefined || after === undefined) {
    fixed('thinPoolConfig', before?.name, after?.name);
    return;
  }
  for (const key of ['name', 'sizePercent', 'chunkSizeCalculationPolicy', 'chunkSize'] as const) {
    fixed(`thinPoolConfig.${key}`, poolValue(before, key), poolValue(after, key));
  }
}

const poolDefaults: Partial<LvmThinPool> = {
  sizePercent: 90,
  chunkSizeCalculationPolicy: 'Static',
};

/** 128Ki and 131072 are the same. */
function poolValue(pool: LvmThinPool, key: keyof LvmThinPool): unknown {
  const value = pool[key] ?? poolDefaults[key];
  if (key !== 'chunkSize') return value;
  if (value === undefined) return pool.chunkSizeCalculationPolicy === 'Host' ? undefined : '128Ki';
  const size = parseQuantity(value);
  return size === parseQuantity('128Ki')
    ? '128Ki'
    : typeof size === 'bigint'
      ? String(size)
      : value;
}

/** Metadata of a pool grows, and never shrinks. */
function checkMetadata(was: ChangingClass, is: ChangingClass, findings: Findings): void {
  const before = staticMetadata(was.thinPoolConfig);
  const after = staticMetadata(is.thinPoolConfig);
  if (before === undefined || after === undefined || after.bytes >= before.bytes) return;
  const remedy = `write at least ${before.text}: metadata cannot shrink`;
  findings.refuse(classField(is.name, 'thinPoolConfig.metadataSize'), after.text, remedy);
}

function staticMetadata(pool: LvmThinPool | undefined) {
  if (pool?.metadataSizeCalculationPolicy !== 'Static') return undefined;
  const text = pool.metadataSize ?? '1Gi';
  const bytes = parseQuantity(text);
  return typeof bytes === 'bigint' ? { text, bytes } : undefined;
}
