import assert from 'node:assert/strict';
import test from 'node:test';
import { rulesOf } from '../../tools/manifests-rbac.ts';
import { driver, namespace } from '../cluster/programs.ts';
import { assertSound, cluster, runs } from '../cluster/scene.ts';
import { allows, requestOf } from './authorizer.ts';
import { refusal } from './policy.ts';

/** The scene watches capacities in all namespaces; the role, whose stores are tried elsewhere, does not. */
const ofTheScene = /^(list|watch) csistoragecapacities$/;

test('the life of a volume needs nothing that the rules and the policy do not allow', async () => {
  const stage = await cluster();
  stage.claim('data', { size: '300Mi' });
  stage.pod('p', 'data');
  await stage.until('the pod runs', runs(stage, 'p'));
  stage.resize('data', '500Mi');
  const size = () => stage.admin.claim('data')?.status?.capacity?.storage;
  await stage.until('it has grown', () => size() === '500Mi');
  stage.snapshot('s', 'data');
  await stage.until('it is ready', () => stage.admin.snapshot('s')?.status?.readyToUse === true);
  stage.pods.delete('p');
  stage.deleteClaim('data');
  await stage.until('all is gone', () => stage.admin.volumes.length === 0);
  await assertSound(stage);
  const asked = { operator: new Set<string>(), agent: new Set<string>() };
  for (const { who = '', method, url, body = '' } of stage.api.requests) {
    const role = /^(operator|agent)\b/.exec(who)?.[1] as 'operator' | 'agent' | undefined;
    if (role === undefined) continue;
    const request = requestOf(method, url);
    const what = `${request.verb} ${request.resource}`;
    asked[role].add(what);
    if (role === 'operator' && ofTheScene.test(what)) continue;
    assert.ok(allows(rulesOf(role, driver), namespace, request), `${role}: ${what}`);
    if (role === 'operator' || method !== 'POST') continue;
    const object = JSON.parse(body) as object;
    const { resource } = request;
    const node = who.split(' ')[1] ?? '';
    assert.equal(refusal({ resource, node, object, oldObject: null }), undefined);
  }
  for (const what of [
    'create logicalvolumes',
    'create persistentvolumes',
    'delete logicalvolumes',
  ]) {
    assert.ok(asked.operator.has(what), what);
  }
  for (const what of [
    'patch logicalvolumes/status',
    'patch nodes',
    'create csistoragecapacities',
  ]) {
    assert.ok(asked.agent.has(what), what);
  }
});
