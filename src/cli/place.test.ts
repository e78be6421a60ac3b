import assert from 'node:assert/strict';
import test from 'node:test';
import { placeOf } from './place.ts';

const nothing = { isPlugin: false, hasNodeFile: false, hasCluster: false };
const both = { ...nothing, hasNodeFile: true, hasCluster: true };

const rows = [
  ['--file means this host, whatever there is', ['file'], both, 'host'],
  ['--file means this host for a plugin, too', ['file'], { ...both, isPlugin: true }, 'host'],
  ['--kubeconfig means a cluster, whatever there is', ['kubeconfig'], both, 'cluster'],
  ['--namespace means a cluster', ['namespace'], both, 'cluster'],
  ['a plugin means its cluster', [], { ...both, isPlugin: true }, 'cluster'],
  ['a node file alone means this host', [], { ...nothing, hasNodeFile: true }, 'host'],
  ['a kubeconfig alone means the cluster', [], { ...nothing, hasCluster: true }, 'cluster'],
  ['how it is printed says nothing of it', ['output'], { ...nothing, hasCluster: true }, 'cluster'],
] as const;

for (const [title, given, around, place] of rows) {
  test(title, () => assert.equal(placeOf(new Set(given), around), place));
}

test('what could mean both is refused with the way out', () => {
  const twice = () => placeOf(new Set(['file', 'context']), both);
  assert.throws(twice, /--file is for this host and --context for a cluster: give one of them/);
  const unsaid = () => placeOf(new Set(), both);
  assert.throws(unsaid, /say --file .* for this host, or --kubeconfig FILE for a cluster/);
  assert.throws(
    () => placeOf(new Set(), nothing),
    /neither .*node\.yaml nor a kubeconfig: name one/,
  );
});
