import assert from 'node:assert/strict';
import test from 'node:test';
import { agents, operator, workload } from '../../../test/samples/cluster-picture.ts';
import { namesOf, versionOf } from './workloads.ts';

test('an image is called by its tag, or by its digest where it has none', () => {
  const digest = `sha256:${'ab'.repeat(32)}`;
  const rows = [
    ['example/quarry:0.1.0', '0.1.0'],
    [`example:5000/quarry:0.1.0@${digest}`, '0.1.0'],
    [`example:5000/quarry@${digest}`, 'sha256:abababababab'],
    ['example:5000/quarry', 'latest'],
  ] as const;
  for (const [image, version] of rows) assert.equal(versionOf(image), version);
});

test('an installation says itself what it is called', () => {
  assert.deepEqual(namesOf([operator, agents]), { domain: 'topolvm.io', driver: 'topolvm.io' });
  const env = [{ name: 'USE_LEGACY', value: 'true' }];
  const spec = { template: { spec: { containers: [{ name: 'manager', env }] } } };
  const legacy = workload('lvms-operator', 'controller', { spec });
  const domain = 'topolvm.cybozu.com';
  assert.deepEqual(namesOf([legacy]), { domain, driver: domain });
  for (const flag of [['--driver-name=disks.example'], ['--driver-name', 'disks.example']]) {
    const named = workload('lvms-operator', 'controller', { args: ['operator', ...flag] });
    assert.deepEqual(namesOf([named]), { domain: 'topolvm.io', driver: 'disks.example' });
  }
});
