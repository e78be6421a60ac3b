import type { LvmCluster } from '../objects/lvm-cluster.ts';
import { classesOf } from './check.ts';
import { isGreedy } from './paths.ts';

export type AddOperation = {
  readonly op: 'add';
  readonly path: string;
  readonly value: unknown;
};

/**
 * What is filled in when an LVMCluster is made, and only then: one that was made before a field was
 * there means what it meant then.
 */
export function defaultsFor(cluster: LvmCluster, isMicroShift: boolean): readonly AddOperation[] {
  const classes = classesOf(cluster);
  const policies = classes.flatMap((one, index): readonly AddOperation[] => {
    if (one.deviceDiscoveryPolicy !== undefined || !isGreedy(one)) return [];
    const path = `/spec/storage/deviceClasses/${index}/deviceDiscoveryPolicy`;
    return [{ op: 'add', path, value: 'Static' }];
  });
  const isOpen = classes.length === 0 && cluster.spec?.configurationPolicy === undefined;
  if (!isMicroShift || !isOpen) return policies;
  // MicroShift makes an empty one: lvmd.yaml says what there is.
  const value = 'ExternalConfiguration';
  return cluster.spec === undefined
    ? [{ op: 'add', path: '/spec', value: { configurationPolicy: value } }]
    : [{ op: 'add', path: '/spec/configurationPolicy', value }];
}
