import assert from 'node:assert/strict';
import test from 'node:test';
import { Chance } from '../world/chance.ts';
import { AgentScene, logicalVolumes } from './agent-scene.ts';

/**
 * Objects come, grow and go while the agent is killed, lvm fails, the API server is away and its
 * answers get lost.
 * When that ends every object is as it should be, and nothing is on the disks that none names.
 */
async function live(seed: number): Promise<void> {
  const scene = await AgentScene.begin(seed);
  const chance = new Chance(seed * 7919);
  const happens = (share: number) => chance.happens(share);
  scene.start();
  const { faults } = scene.stage.world;
  const names = put(scene);
  faults.rates({ fail: 0.03, killed: 0.03, mishap: 0.03, locked: 0.02 });
  const made = new Map<string, string>();
  for (let turn = 0; turn < 120; turn += 1) {
    await scene.pass(20);
    remember(scene, names, made);
    if (happens(0.06)) {
      scene.kill();
      await scene.pass(10);
      await scene.recover();
      scene.start();
    }
    if (happens(0.1)) scene.transport.faults.push(happens(0.5) ? 'unreachable' : 'lost-answer');
    if (happens(0.05)) scene.transport.cut();
    if (happens(0.04)) act(scene, chance.pick(names) ?? '', happens(0.5));
  }
  scene.transport.faults.length = 0;
  faults.stop();
  await scene.settle(200_000);
  check(scene, names, made);
}

function put(scene: AgentScene): readonly string[] {
  const thin = { deviceClass: 'thin' };
  scene.put('thick', { finalizers: [], labels: {} });
  scene.put('thin', thin);
  scene.put('huge', { size: '900Gi' });
  scene.put('snap', { ...thin, source: 'thin', accessType: 'ro' });
  scene.put('copy', { source: 'thick', accessType: 'rw', size: '200Mi' });
  scene.put('clone', { ...thin, source: 'snap', accessType: 'rw', size: '200Mi' });
  const group = { id: 'g', size: 2, name: 'group' };
  scene.member('group-thick', 'thick', group);
  scene.member('group-thin', 'thin', group);
  return ['thick', 'thin', 'huge', 'snap', 'copy', 'clone', 'group-thick', 'group-thin'];
}

function isThere(scene: AgentScene, name: string): boolean {
  return scene.api.one(logicalVolumes, name) !== undefined;
}

/** What was told once must stay true: the same LV for as long as the object is there. */
function remember(scene: AgentScene, names: readonly string[], made: Map<string, string>): void {
  for (const name of names.filter((one) => isThere(scene, one))) {
    const { status, metadata } = scene.object(name);
    if ((status?.volumeID ?? '') === '' || metadata.deletionTimestamp !== undefined) continue;
    const lv = scene.lv(name);
    assert.ok(lv !== undefined, `${name} was told before it was there`);
    assert.equal(made.get(name) ?? lv.uuid, lv.uuid, `${name} is another volume now`);
    made.set(name, lv.uuid);
  }
}

function act(scene: AgentScene, name: string, isGrowth: boolean): void {
  if (!isThere(scene, name)) return;
  const { status, spec } = scene.object(name);
  const isMade = (status?.volumeID ?? '') !== '';
  if (!isGrowth) scene.delete(name);
  else if (isMade && spec.accessType !== 'ro') scene.change(name, { spec: { size: '300Mi' } });
}

function check(scene: AgentScene, names: readonly string[], made: Map<string, string>): void {
  const last = () => JSON.stringify(scene.log.slice(-4));
  for (const name of names) {
    const lv = scene.lv(name);
    if (!isThere(scene, name)) {
      assert.equal(lv, undefined, `${name} is gone, and its LV is left`);
      continue;
    }
    const { metadata, status, spec } = scene.object(name);
    if (metadata.deletionTimestamp !== undefined) {
      // What others were made from may wait for them.
      assert.ok(name === 'thick' && lv !== undefined, `${name} does not go: ${last()}`);
      continue;
    }
    const isMade = (status?.volumeID ?? '') !== '';
    if (isMade) assert.notEqual(lv, undefined, `${name} is told, and is not there`);
    else if ((status?.code ?? 0) !== 0) assert.equal(lv, undefined, `${name} failed, and is there`);
    else assert.ok(isWaiting(scene, spec, metadata.name), `${name} was left: ${last()}`);
    // There is room for both, and trouble that passes is no answer.
    if (name === 'thick' || name === 'thin') assert.ok(isMade, `${name}: ${status?.message}`);
    // With a copy-on-write snapshot a thick volume cannot grow, and that is told.
    const isRefused = status?.code === 9 && /^GrowUnsupported/.test(status.message ?? '');
    if (isMade && spec.size === '300Mi' && !isRefused) {
      assert.equal(status?.currentSize, '300Mi', name);
    }
  }
  assert.ok(made.size <= names.length);
  const known = new Set(names.map((name) => scene.lv(name)?.name));
  const ours = scene.stage.world
    .vgs()
    .flatMap(({ lvs }) => lvs)
    .filter(({ tags, name }) => tags.includes('quarry') && name !== 'pool');
  const strays = ours.filter(({ name }) => !known.has(name)).map(({ name }) => name);
  assert.deepEqual(strays, [], 'nothing is left that nobody names');
}

/** A member of a group whose other member was deleted waits to be deleted too. */
function isWaiting(scene: AgentScene, spec: { source?: string }, name: string): boolean {
  if (!name.startsWith('group-')) return spec.source !== undefined;
  const other = name === 'group-thin' ? 'group-thick' : 'group-thin';
  return !isThere(scene, other) || scene.object(other).metadata.deletionTimestamp !== undefined;
}

for (let seed = 1; seed <= 20; seed += 1) {
  test(`killed at any moment, seed ${seed}`, () => live(seed));
}
