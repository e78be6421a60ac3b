import type { LvmCluster } from '../objects/lvm-cluster.ts';
import { classesOf, saysNothing } from './check.ts';
import { isGreedy } from './paths.ts';

/** Of a class that takes every disk: those that are there when its group is made. */
export const discoveryDefault = 'Static';

export type AddOperation = {
  readonly op: 'add';
  readonly path: string;
  readonly value: unknown;
};

/**
 * What is filled in when an LVMCluster is made, and only then: one that was made before a field was
 * there means what it meant then.
 */
export function discoveryDefaults(cluster: LvmCluster): readonly AddOperation[] {
  return classesOf(cluster).flatMap((one, index): readonly AddOperation[] => {
    if (one.deviceDiscoveryPolicy !== undefined || !isGreedy(one)) return [];
    const path = `/spec/storage/deviceClasses/${index}/deviceDiscoveryPolicy`;
    return [{ op: 'add', path, value: discoveryDefault }];
  });
}

/** MicroShift makes an empty one, and writes it again as it was: lvmd.yaml says what there is. */
export function policyDefault(cluster: LvmCluster): readonly AddOperation[] {
  if (!saysNothing(cluster)) return [];
  const value = 'ExternalConfiguration';
  return cluster.spec === undefined
    ? [{ op: 'add', path: '/spec', value: { configurationPolicy: value } }]
    : [{ op: 'add', path: '/spec/configurationPolicy', value }];
}
