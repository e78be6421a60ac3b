import assert from 'node:assert/strict';
import test from 'node:test';
import { readParameters } from './parameters.ts';

const names = { domain: 'topolvm.io', driver: 'topolvm.io' };
const metadata = { name: 'fast', uid: 'u', resourceVersion: '1' };

function read(parameters: Readonly<Record<string, string>>) {
  return readParameters({ metadata, provisioner: names.driver, parameters }, names);
}

test('a class says the device class, the option class and the file system', () => {
  const said = read({
    'topolvm.io/device-class': 'ssd',
    'topolvm.io/lvcreate-option-class': 'raid',
    'csi.storage.k8s.io/fstype': 'xfs',
    'something.else/key': 'is left alone',
  });
  const expected = { className: 'ssd', optionClass: 'raid', fsType: 'xfs', secretKeys: [] };
  assert.deepEqual(said, expected);
  const nothing = { className: '', optionClass: '', fsType: '', secretKeys: [] };
  assert.deepEqual(read({}), nothing);
});

test('the old key for the file system counts in any letter case, but not beside the new one', () => {
  for (const key of ['fstype', 'fsType', 'FSTYPE']) {
    const said = read({ [key]: 'btrfs' });
    assert.equal('fsType' in said && said.fsType, 'btrfs', key);
  }
  const twice = read({ fstype: 'xfs', 'csi.storage.k8s.io/fstype': 'xfs' });
  assert.equal('code' in twice && twice.code, 'InvalidConfiguration');
});

test('every key for secrets is known, and none beside them', () => {
  const uses = ['', 'provisioner-', 'controller-publish-', 'node-stage-', 'node-publish-'];
  const more = ['controller-expand-', 'node-expand-', 'controller-modify-'];
  for (const use of [...uses, ...more]) {
    const key = `csi.storage.k8s.io/${use}secret-name`;
    const said = read({ [key]: 'a', [`${key}space`]: 'b' });
    assert.deepEqual('secretKeys' in said && said.secretKeys, [key, `${key}space`]);
    const wrong = read({ [`${key}s`]: 'x' });
    assert.equal('code' in wrong && wrong.code, 'InvalidConfiguration');
  }
});
