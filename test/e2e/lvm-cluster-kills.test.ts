import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { GiB } from '../../lab/index.ts';
import type { LvmDeviceClass, LvmDeviceSelector } from '../../src/api/objects/lvm-cluster.ts';
import { armKills, killOperators, killsOn, lvmSteps, type Steps } from './lvm-cluster-killers.ts';
import {
  areBare,
  clusterOf,
  disksOf,
  hasDevices,
  isReady,
  takeAway,
  taken,
} from './lvm-cluster-scene.ts';
import { E2eStage } from './stage.ts';

const names = ['a', 'b', 'c', 'd', 'e'] as const;

/** A whole life, from bare disks to bare disks, in which our processes die all the time. */
describe('the life of an LVMCluster whose makers are killed', { timeout: 2_400_000 }, () => {
  let stage: E2eStage;

  before(async () => {
    stage = await E2eStage.openBare(names.map((name) => ({ name, sizeBytes: GiB })));
    stage.layout = {
      vg1: { group: 'vg1', pool: { name: 'pool', ratio: 10n } },
      vg2: { group: 'vg2' },
    };
  });

  after(async () => {
    await stage?.close();
  });

  test('agents: before, in and after each command that changes a group', async (t) => {
    for (const node of stage.cluster.nodes) await armKills(node);
    await live(stage);
    const kills = await Promise.all(stage.cluster.nodes.map(killsOn));
    t.diagnostic(`${kills.flat().length} kills: ${kills.map((one) => one.join(' ')).join('; ')}`);
    // Only where there is a volume is something moved away and grown.
    const everywhere = (step: Steps) => step !== 'pvmove' && step !== 'lvremove';
    for (const [index, ways] of kills.entries()) {
      for (const step of lvmSteps.filter((one) => index === 0 || everywhere(one))) {
        for (const way of ['before', 'amid', 'after'] as const) {
          assert.ok(ways.includes(`${step}-${way}`), `nobody died ${way} ${step}: ${ways.join()}`);
        }
      }
    }
  });

  test('operators: whenever the cluster looks as it never did before', async (t) => {
    const kills = await killOperators(stage, () => live(stage));
    t.diagnostic(`${kills.length} kills: ${kills.join('; ')}`);
    assert.ok(kills.length >= 8, kills.join('; '));
  });
});

async function live(stage: E2eStage): Promise<void> {
  const pool = (deviceSelector: LvmDeviceSelector): LvmDeviceClass => ({
    ...{ name: 'vg1', default: true, fstype: 'ext4', deviceSelector },
    thinPoolConfig: { name: 'pool', sizePercent: 90, overprovisionRatio: 10 },
  });
  const plain = (deviceSelector: LvmDeviceSelector): LvmDeviceClass => ({
    ...{ name: 'vg2', fstype: 'ext4', deviceSelector },
  });
  const [a, b] = [await disksOf(stage, 'a'), await disksOf(stage, 'b')];
  const [ad, ade] = [await disksOf(stage, 'a', 'd'), await disksOf(stage, 'a', 'd', 'e')];
  await taken(stage, clusterOf([pool(a), plain(b)]));
  await isReady(stage);
  await stage.claim('thin', { className: 'lvms-vg1' });
  await stage.claim('thick', { className: 'lvms-vg2' });
  await stage.pod('writer', ['thin', 'thick'], 'n1');
  await stage.exec('writer', 'echo one > /data/thin/file && echo two > /data/thick/file && sync');
  await taken(stage, clusterOf([pool(ad), plain(await disksOf(stage, 'b', 'c'))]));
  await hasDevices(stage, 'vg1', 2);
  await hasDevices(stage, 'vg2', 2);
  await isReady(stage);
  await taken(stage, clusterOf([pool(ad), plain(await disksOf(stage, 'c'))]));
  await hasDevices(stage, 'vg2', 1);
  await areBare(stage, ['b']);
  await isReady(stage);
  // And once more: of each kind one command may die with its agent, and one after it.
  await taken(stage, clusterOf([pool(ade), plain(await disksOf(stage, 'b', 'c'))]));
  await hasDevices(stage, 'vg1', 3);
  await hasDevices(stage, 'vg2', 2);
  await isReady(stage);
  await taken(stage, clusterOf([pool(ade), plain(b)]));
  await hasDevices(stage, 'vg2', 1);
  await areBare(stage, ['c']);
  await isReady(stage);
  assert.equal(await stage.exec('writer', 'cat /data/thin/file /data/thick/file'), 'one\ntwo\n');
  await stage.audit();
  await takeAway(stage, names);
}
