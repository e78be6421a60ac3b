import assert from 'node:assert/strict';
import test from 'node:test';
import { type Rule, rulesOf } from '../../tools/manifests-rbac.ts';
import { names, type Role } from '../../tools/manifests-settings.ts';
import { callsIn, usesOf } from './uses.ts';

const domain = 'topolvm.io';

/** What parts that are still being built will ask for. It goes out of here when it is seen. */
const planned: { readonly [role in Role]: readonly string[] } = {
  operator: [
    ...['get', 'create', 'update'].map((verb) => `${verb} leases.coordination.k8s.io`),
    ...['delete csistoragecapacities.storage.k8s.io', 'patch nodes'],
  ],
  agent: [],
};

for (const role of ['operator', 'agent'] as const) {
  const allowed = new Set(allRules(role).flatMap(grantsOf));
  const used = new Map(usesOf(`src/${role}`).map(({ what, file }) => [what, file]));

  test(`${role}: everything that the code asks for is allowed`, () => {
    const refused = [...used].filter(([what]) => !allowed.has(what));
    assert.deepEqual(refused, [], `add rules to tools/manifests-rbac.ts for ${names[role]}`);
  });

  test(`${role}: nothing is allowed that no code asks for`, () => {
    const wanted = new Set([...used.keys(), ...planned[role]]);
    const unused = [...allowed].filter((grant) => !wanted.has(grant));
    assert.deepEqual(unused, [], `take rules out of tools/manifests-rbac.ts for ${names[role]}`);
  });
}

test('what is planned is not there yet', () => {
  for (const role of ['operator', 'agent'] as const) {
    const used = new Set(usesOf(`src/${role}`).map(({ what }) => what));
    assert.deepEqual(
      planned[role].filter((what) => used.has(what)),
      [],
    );
  }
});

test('what has a namespace, and is only ours, is allowed in ours only', () => {
  const namespaced = ['leases', 'csistoragecapacities', 'daemonsets'];
  for (const role of ['operator', 'agent'] as const) {
    const { own, cluster } = rulesOf(role, domain);
    assert.ok(own.every(({ resources }) => resources.every((one) => namespaced.includes(one))));
    assert.ok(cluster.every(({ resources }) => !resources.some((one) => namespaced.includes(one))));
  }
});

test('an agent makes and deletes no LogicalVolume, and reads no claim, volume or secret', () => {
  const grants = allRules('agent').flatMap(grantsOf);
  for (const grant of grants) {
    assert.doesNotMatch(grant, /persistentvolume|secret|pods|configmaps/);
    assert.doesNotMatch(grant, /^(create|delete|update) (logicalvolumes|nodes)/);
  }
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

function allRules(role: Role): readonly Rule[] {
  const { own, cluster } = rulesOf(role, domain);
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
