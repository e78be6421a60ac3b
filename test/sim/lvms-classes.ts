import type { LvmCluster, LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import type { Chance } from '../world/chance.ts';
import { paths as allPaths, linksOf } from './lvms-disks.ts';
import type { Edit } from './lvms-story.ts';

/** A label that administrators put on nodes, and a taint. */
export const nodeLabel = 'example.com/disks';
export const nodeTaint = { key: 'example.com/busy', value: 'yes', effect: 'NoSchedule' } as const;

type Spec = NonNullable<LvmCluster['spec']>;

type Wish = {
  readonly name: string;
  readonly paths: readonly string[];
  readonly isAlone: boolean;
  readonly isFirst: boolean;
};

/** A class as somebody may write it; most of them are right. */
export function newClass(chance: Chance, wish: Wish): LvmDeviceClass {
  const { name, isAlone, isFirst } = wish;
  const isThin = chance.happens(0.6);
  const isRaid = !isThin && chance.happens(0.15);
  const isGreedy = !isRaid && chance.happens(isAlone ? 0.4 : 0.05);
  const selector = chance.happens(0.2) ? { nodeSelector: someNodes(chance) } : {};
  const policy = chance.pick(['Static', 'Dynamic', undefined] as const);
  const options = {
    ...(chance.happens(0.15) ? { reclaimPolicy: 'Retain' as const } : {}),
    ...(chance.happens(0.1) ? { volumeBindingMode: 'Immediate' as const } : {}),
  };
  return {
    ...{ name, fstype: chance.pick(['ext4', 'xfs'] as const), ...selector },
    ...(isFirst || chance.happens(0.1) ? { default: true } : {}),
    ...(isGreedy ? {} : { deviceSelector: selectorOf(chance, wish.paths, isRaid) }),
    ...(policy === undefined ? {} : { deviceDiscoveryPolicy: policy }),
    ...(isThin ? { thinPoolConfig: poolOf(chance) } : {}),
    ...(isRaid ? { raidConfig: { type: 'raid1' as const } } : {}),
    ...(Object.keys(options).length > 0 ? { storageClassOptions: options } : {}),
  };
}

function someNodes(chance: Chance): NonNullable<LvmDeviceClass['nodeSelector']> {
  const names = chance.shuffle(['n1', 'n2', 'n3']).slice(0, chance.between(1, 2)).toSorted();
  const byName = { key: 'kubernetes.io/hostname', operator: 'In', values: names } as const;
  const byLabel = { key: nodeLabel, operator: 'Exists' } as const;
  return { nodeSelectorTerms: [{ matchExpressions: [chance.pick([byName, byName, byLabel])] }] };
}

function selectorOf(chance: Chance, given: readonly string[], isRaid: boolean) {
  const wanted = isRaid && given.length < 2 ? [...given, chance.pick(allPaths) ?? ''] : given;
  const paths = [...new Set(wanted)].map((path) =>
    chance.happens(0.2) ? (chance.pick(linksOf(path)) ?? path) : path,
  );
  const isOptional = chance.happens(0.3);
  const force = chance.happens(0.3) ? { forceWipeDevicesAndDestroyAllData: true } : {};
  return { ...(isOptional ? { optionalPaths: paths } : { paths }), ...force };
}

function poolOf(chance: Chance) {
  const isStatic = chance.happens(0.3);
  return {
    ...{ name: 'pool', sizePercent: chance.pick([40, 70, 90] as const) },
    overprovisionRatio: chance.between(1, 10),
    ...(chance.happens(0.2) ? { chunkSizeCalculationPolicy: 'Host' as const } : {}),
    ...(isStatic ? { metadataSizeCalculationPolicy: 'Static' as const, metadataSize: '8Mi' } : {}),
  };
}

/** The spec after an edit; undefined where there is nothing to edit. */
export function edited(spec: Spec, edit: Edit): Spec | undefined {
  const classes = spec.storage?.deviceClasses ?? [];
  const withClasses = (deviceClasses: readonly LvmDeviceClass[]): Spec => ({
    ...spec,
    storage: { ...spec.storage, deviceClasses },
  });
  switch (edit.edit) {
    case 'tolerate': {
      const { key } = nodeTaint;
      return { ...spec, tolerations: [{ key, operator: 'Exists' }] };
    }
    case 'tolerate-not':
      return { ...spec, tolerations: [] };
    case 'drop-all':
      return withClasses([]);
    case 'add-class':
      return withClasses([...classes.filter(({ name }) => name !== edit.one.name), edit.one]);
    case 'drop-class':
      return withClasses(classes.filter(({ name }) => name !== edit.of));
    case 'make-default':
      return withClasses(classes.map((one) => ({ ...one, default: one.name === edit.of })));
    default: {
      const isThere = classes.some(({ name }) => name === edit.of);
      const change = (one: LvmDeviceClass) => (one.name === edit.of ? changed(one, edit) : one);
      return isThere ? withClasses(classes.map(change)) : undefined;
    }
  }
}

type ClassEdit = Exclude<
  Edit,
  {
    edit:
      | ('tolerate' | 'tolerate-not' | 'drop-all')
      | ('add-class' | 'drop-class' | 'make-default');
  }
>;

function changed(one: LvmDeviceClass, edit: ClassEdit): LvmDeviceClass {
  const { deviceSelector: selector, thinPoolConfig: pool, storageClassOptions } = one;
  const { paths = [], optionalPaths = [] } = selector ?? {};
  const select = (given: object) => ({ ...one, deviceSelector: { ...selector, ...given } });
  switch (edit.edit) {
    case 'add-path':
      return select({ paths: [...paths, edit.path] });
    case 'add-optional':
      return select({ optionalPaths: [...optionalPaths, edit.path] });
    case 'drop-path': {
      const names = [edit.path, ...linksOf(edit.path)];
      const rest = (list: readonly string[]) => list.filter((path) => !names.includes(path));
      return selector === undefined
        ? one
        : select({
            ...(selector.paths === undefined ? {} : { paths: rest(paths) }),
            ...(selector.optionalPaths === undefined ? {} : { optionalPaths: rest(optionalPaths) }),
          });
    }
    case 'move-paths':
      return selector === undefined
        ? one
        : select({ paths: [], optionalPaths: [...paths, ...optionalPaths] });
    case 'ratio':
      return pool === undefined
        ? one
        : { ...one, thinPoolConfig: { ...pool, overprovisionRatio: edit.ratio } };
    case 'policy':
      return { ...one, deviceDiscoveryPolicy: edit.policy };
    case 'metadata': {
      const metadata = { metadataSizeCalculationPolicy: 'Static', metadataSize: `${edit.mib}Mi` };
      return pool === undefined
        ? one
        : ({ ...one, thinPoolConfig: { ...pool, ...metadata } } as LvmDeviceClass);
    }
    case 'label': {
      const additionalLabels = { 'example.com/team': edit.value };
      return { ...one, storageClassOptions: { ...storageClassOptions, additionalLabels } };
    }
    case 'pool-name':
      return pool === undefined ? one : { ...one, thinPoolConfig: { ...pool, name: 'other' } };
    case 'force-wipe':
      return select({ forceWipeDevicesAndDestroyAllData: true });
    case 'wrong-path':
      return select({ paths: [...paths, 'sdz'] });
    case 'greedy': {
      const { deviceSelector: _gone, ...rest } = one;
      return rest;
    }
  }
}
