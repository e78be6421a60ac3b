import assert from 'node:assert/strict';
import test from 'node:test';
import { rivalLeases } from '../../src/core/cluster/leases.ts';
import { type Rule, rulesOf, userRules } from '../../tools/manifests-rbac.ts';
import { type Part, partNames } from '../../tools/manifests-settings.ts';
import { callsIn, usesOf } from './uses.ts';

const domain = 'topolvm.io';

/** What parts that are still being built will ask for. It goes out of here when it is seen. */
const planned: { readonly [part in Part]: readonly string[] } = {
  operator: [],
  agent: [],
  snapshots: [],
};

for (const part of ['operator', 'agent', 'snapshots'] as const) {
  const own = new Set(allRules(part).flatMap(grantsOf));
  // The common half of snapshots is an addition to the operator.
  const given = part === 'snapshots' ? allRules('operator').flatMap(grantsOf) : [];
  const usesByName = () => new Map(usesOf(part).map(({ what, file }) => [what, file]));

  test(`${part}: everything that the code asks for is allowed`, () => {
    const refused = [...usesByName()].filter(([what]) => !own.has(what) && !given.includes(what));
    assert.deepEqual(refused, [], `add rules to tools/manifests-rbac.ts for ${partNames[part]}`);
  });

  test(`${part}: nothing is allowed that no code asks for`, () => {
    const wanted = new Set([...usesByName().keys(), ...planned[part]]);
    const unused = [...own].filter((grant) => !wanted.has(grant));
    assert.deepEqual(
      unused,
      [],
      `take rules out of tools/manifests-rbac.ts for ${partNames[part]}`,
    );
  });

  test(`${part}: what is planned is not there yet`, () => {
    const used = usesByName();
    assert.deepEqual(
      planned[part].filter((what) => used.has(what)),
      [],
    );
  });
}

test('what has a namespace, and is only ours, is allowed in ours only', () => {
  const lvms = ['lvmclusters', 'lvmclusters/status', 'lvmvolumegroups'];
  const reports = 'lvmvolumegroupnodestatuses';
  const others = ['leases', 'csistoragecapacities', 'deployments', 'daemonsets', 'secrets'];
  const namespaced = [...others, ...lvms, reports];
  for (const role of ['operator', 'agent'] as const) {
    const { own, cluster } = rulesOf(role, domain);
    assert.ok(own.every(({ resources }) => resources.every((one) => namespaced.includes(one))));
    const everywhere = cluster.filter(({ resources }) =>
      resources.some((one) => namespaced.includes(one)),
    );
    // Leases of others, whose namespace nobody knows.
    const named = role === 'operator' ? rivalLeases({ domain, driver: domain }) : undefined;
    assert.deepEqual(
      everywhere.map(({ resourceNames }) => resourceNames),
      named === undefined ? [] : [named],
    );
  }
});

test('an agent makes and deletes no LogicalVolume, and reads no claim, volume or secret', () => {
  const grants = allRules('agent').flatMap(grantsOf);
  for (const grant of grants) {
    assert.doesNotMatch(grant, /persistentvolume|secret|pods|configmaps/);
    assert.doesNotMatch(grant, /^(create|delete|update) (logicalvolumes|nodes)/);
  }
});

test('people write LVMClusters, and nothing that agents act by', () => {
  const { view, edit, admin } = userRules(domain);
  const verbsOf = (rules: readonly Rule[]) => [...new Set(rules.flatMap(({ verbs }) => verbs))];
  assert.deepEqual(verbsOf(view), ['get', 'list', 'watch']);
  assert.deepEqual([...edit, ...admin].flatMap(grantsOf), [
    ...['create', 'update', 'patch'].map((verb) => `${verb} lvmclusters.lvm.topolvm.io`),
    'delete lvmclusters.lvm.topolvm.io',
  ]);
});

test('no rule has a star', () => {
  for (const role of ['operator', 'agent'] as const) {
    for (const rule of allRules(role)) assert.ok(!JSON.stringify(rule).includes('*'));
  }
});

test('the reader of sources sees which kind, verb and subresource a call is for', () => {
  const text = [
    'await client.find(claimKind, { name });',
    "await client.patch(claimKind, name, patch, { subresource: 'status' });",
    'await this.#parts.client.delete(persistentVolumeKind, { name });',
  ].join('\n');
  assert.deepEqual(
    callsIn('x.ts', text).map(({ what }) => what),
    [
      'get persistentvolumeclaims',
      'patch persistentvolumeclaims/status',
      'delete persistentvolumes',
    ],
  );
  assert.throws(() => callsIn('x.ts', 'client.get(mystery, {});'), /which kind mystery is/);
});

function allRules(part: Part): readonly Rule[] {
  const { own, cluster } = rulesOf(part, domain);
  return [...own, ...cluster];
}

/** `patch volumesnapshotcontents.snapshot.storage.k8s.io/status`. */
function grantsOf({ apiGroups, resources, verbs }: Rule): readonly string[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) => {
      const [plural, subresource] = resource.split('/');
      const name = group === '' ? plural : `${plural}.${group}`;
      const whole = subresource === undefined ? name : `${name}/${subresource}`;
      return verbs.map((verb) => `${verb} ${whole}`);
    }),
  );
}
