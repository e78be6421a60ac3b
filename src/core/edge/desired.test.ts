import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostOf, sampleLv, samplePool, sampleVg } from '../../../test/samples/observed.ts';
import type { LvmCluster } from '../../api/objects/lvm-cluster.ts';
import { tagOf } from '../tags.ts';
import { type DesiredEdge, desiredEdge, type EdgeView } from './desired.ts';

const file = '/etc/microshift/lvmd.yaml';
const text = 'device-classes: [{name: mine, volume-group: rhel}]\n';

function desired(changes: Partial<EdgeView>): DesiredEdge {
  const host = hostOf(sampleVg({ name: 'rhel' }));
  const view = { file, text, defaultGroup: 'rhel', host, before: undefined };
  const none = { clusters: [], volumes: [] };
  return desiredEdge({ ...view, ...none, ...changes });
}

function problems(changes: Partial<EdgeView>): string {
  const found = desired(changes);
  assert.equal(found.kind, 'refused');
  return found.kind === 'refused' ? found.problems.join('\n') : '';
}

test('the default is what MicroShift documents, for any name of a group', () => {
  for (const group of ['rhel', 'yes', '1e3', 'vg-0_x.y']) {
    const host = hostOf(sampleVg({ name: group }));
    const found = desired({ text: undefined, defaultGroup: group, host });
    assert.ok(found.kind === 'lvmd' && found.source === 'default', group);
    assert.equal(found.spec.socketName, '/run/lvmd/lvmd.sock');
    const [only, ...more] = found.spec.deviceClasses;
    assert.deepEqual(more, []);
    assert.deepEqual(
      [only?.name, only?.volumeGroup, only?.isDefault, only?.spareBytes],
      ['default', group, true, 10n * 1024n ** 3n],
    );
  }
});

test('without a file and without the group there shall be nothing', () => {
  const found = desired({ text: undefined, defaultGroup: 'other' });
  assert.ok(found.kind === 'nothing');
  assert.match(found.why, /no volume group other.*--default-group/);
});

test('a class keeps the group that its volumes are in', () => {
  const volume = sampleLv({ name: 'v1', tags: [...sampleLv().tags, tagOf('class', 'mine')] });
  const host = hostOf(sampleVg({ name: 'rhel', lvs: [volume] }), sampleVg({ name: 'new' }));
  const moved = text.replace('rhel', 'new');
  assert.match(
    problems({ text: moved, host, before: text }),
    /volume-group is "new": volumes of this class are in rhel \(v1\): keep rhel/,
  );
  assert.equal(desired({ text: moved, host }).kind, 'lvmd', 'nothing was in force before');
  assert.equal(desired({ text: moved, host, before: 'device-classes: [' }).kind, 'lvmd');
});

test('volumes that are in use are no excuse for a file with a fault', () => {
  const host = hostOf(sampleVg({ name: 'rhel', lvs: [sampleLv({ isOpen: true })] }));
  const wrong = text.replace('rhel', 'nowhere');
  for (const before of [undefined, text]) {
    assert.match(problems({ text: wrong, host, before }), /"nowhere": there is no such volume/);
  }
});

test('what only stops new volumes in a class is a warning', () => {
  const pool = samplePool({ name: 'pool', attributes: 'twi-aot---' });
  const host = hostOf(sampleVg({ name: 'rhel', lvs: [pool] }));
  const thin = `device-classes: [{name: mine, volume-group: rhel, type: thin, wipe-policy: zero,
    thin-pool: {name: pool, overprovision-ratio: 1}}]`;
  const found = desired({ text: thin, host });
  assert.ok(found.kind === 'lvmd');
  assert.match(found.warnings.join('\n'), /nothing can be made in class mine: its wipe policy/);
});

const metadata = { name: 'mine', namespace: 'ns', uid: 'u', resourceVersion: '1' };

function clusterOf(...names: readonly string[]): readonly LvmCluster[] {
  const deviceClasses = names.map((name) => ({ name }));
  return [{ metadata, spec: names.length === 0 ? {} : { storage: { deviceClasses } } }];
}

test('an LVMCluster with classes says what there is, and one without does not', () => {
  const none = { text: undefined };
  assert.deepEqual(desired({ ...none, clusters: clusterOf('vg1') }), {
    ...{ kind: 'cluster', name: 'mine' },
  });
  assert.equal(desired({ clusters: clusterOf() }).kind, 'lvmd');
  assert.match(
    problems({ clusters: clusterOf('vg1') }),
    /it has device classes \(vg1\), and \/etc\/microshift\/lvmd.yaml is there, too/,
  );
});

test('no volume of lvmd.yaml is left behind for an LVMCluster', () => {
  const volume = { metadata: { ...metadata, name: 'pvc-1' }, spec: { name: '', nodeName: 'n1' } };
  const made = { ...volume, spec: { ...volume.spec, size: '1Gi', deviceClass: 'mine' } };
  const after = { text: undefined, before: text, volumes: [made] };
  assert.match(
    problems({ ...after, clusters: clusterOf('vg1') }),
    /nobody would serve volumes that were made by lvmd.yaml before: pvc-1\. Delete these, or/,
  );
  assert.equal(desired({ ...after, clusters: clusterOf('vg1', 'mine') }).kind, 'cluster');
  const later = { ...after, before: undefined, clusters: clusterOf('vg1') };
  assert.equal(desired(later).kind, 'cluster', 'it is so already');
});
