import assert from 'node:assert/strict';
import test from 'node:test';
import { redacted, shown } from './bundle-texts.ts';

const metadata = { name: 'a', uid: 'u', resourceVersion: '1' };

test('of annotations only those are kept that storage is run by', () => {
  const kept = {
    'capacity.topolvm.io/vg1': '1',
    'wiped.devices.lvms.openshift.io/n1': 'x',
    'quarry.io/condition': 'bad',
    'topolvm.cybozu.com/x': '1',
    'volume.kubernetes.io/selected-node': 'n1',
    'storageclass.kubernetes.io/is-default-class': 'true',
  };
  const annotations = {
    ...kept,
    'kubectl.kubernetes.io/last-applied-configuration': '{"password":"hunter2"}',
    'vault.example/token': 'hunter2',
    'nottopolvm.example/x': 'hunter2',
  };
  assert.deepEqual(shown({ metadata: { ...metadata, annotations } }).metadata.annotations, kept);
});

test('a value whose name tells what it is stays out, however deep it is', () => {
  const object = { metadata, parameters: { csiPassword: 'x', fs: 'xfs' }, list: [{ apiKey: 'y' }] };
  assert.deepEqual(shown(object), {
    metadata,
    ...{ parameters: { csiPassword: '(left out)', fs: 'xfs' }, list: [{ apiKey: '(left out)' }] },
  });
});

const jwt = ['eyJhbGciOiJSUzI1NiJ9', 'eyJzdWIiOiJhZG1pbiJ9', 'c2lnbmF0dXJl'].join('.');
const key = 'PRIVATE KEY-----';

const rows: readonly (readonly [string, string, string])[] = [
  ['a private key', `a -----BEGIN RSA ${key}\nMII\n-----END RSA ${key} b`, 'a (left out) b'],
  ['a private key that is cut off', `a -----BEGIN ${key}\nMII\nMII`, 'a (left out)'],
  ['a token of Kubernetes', `got ${jwt} now`, 'got (left out) now'],
  ['a header', 'Authorization: Bearer abcdefgh.123', 'Authorization: Bearer (left out)'],
  ['a URL', 'https://me:hunter2@host/x', 'https://me:(left out)@host/x'],
  ['JSON', '{"password":"hunter2","size":1}', '{"password":(left out),"size":1}'],
  ['a flag', '--token=hunter2 --size=1', '--token=(left out) --size=1'],
  ['YAML', 'password: hunter2\nsize: 1', 'password: (left out)\nsize: 1'],
];

for (const [title, text, expected] of rows) {
  test(`${title} is left out of a text`, () => assert.equal(redacted(text), expected));
}

test('what logs and objects of ours say stays as it is', () => {
  for (const text of [
    '{"time":"2026-01-01T00:00:00Z","message":"lvcreate --size 1g vg/lv","argv":["lvm"]}',
    'image: example/quarry:0.1.0@sha256:abcdef',
    'https://10.0.0.1:6443/api',
    'the volume group vg1 misses the device(s) UUID ([unknown])',
  ]) {
    assert.equal(redacted(text), text);
  }
  assert.equal(redacted(redacted('token: x')), 'token: (left out)');
});
