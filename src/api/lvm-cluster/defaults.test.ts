import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LvmCluster, LvmClusterSpec } from '../objects/lvm-cluster.ts';
import { discoveryDefaults, policyDefault } from './defaults.ts';

function cluster(spec?: LvmClusterSpec): LvmCluster {
  const metadata = { name: 'mine', namespace: 'ns', uid: 'u', resourceVersion: '1' };
  return { metadata, ...(spec === undefined ? {} : { spec }) };
}

test('a new class without paths keeps to the disks that are there', () => {
  const deviceClasses = [
    { name: 'named', deviceSelector: { paths: ['/dev/sdb'] } },
    { name: 'greedy' },
    { name: 'told', deviceDiscoveryPolicy: 'Dynamic' },
  ] as const;
  assert.deepEqual(discoveryDefaults(cluster({ storage: { deviceClasses } })), [
    { op: 'add', path: '/spec/storage/deviceClasses/1/deviceDiscoveryPolicy', value: 'Static' },
  ]);
});

test('an LVMCluster that says nothing leaves lvmd.yaml to its administrator', () => {
  const value = 'ExternalConfiguration';
  assert.deepEqual(policyDefault(cluster({})), [
    { op: 'add', path: '/spec/configurationPolicy', value },
  ]);
  assert.deepEqual(policyDefault(cluster()), [
    { op: 'add', path: '/spec', value: { configurationPolicy: value } },
  ]);
  assert.deepEqual(policyDefault(cluster({ configurationPolicy: 'Managed' })), []);
  const deviceClasses = [{ name: 'vg1' }];
  assert.deepEqual(policyDefault(cluster({ storage: { deviceClasses } })), []);
});
