import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { untilTold } from './kept-pod.ts';
import { hasDevices, stateOf } from './lvm-cluster-scene.ts';
import type { E2eStage } from './stage.ts';
import { type Halves, UpgradeScene } from './upgrade-scene.ts';

/** The first of them goes with the tree, the other one with nobody but itself. */
const next = { version: '0.2.0', protocols: { newest: 2, oldest: 1 } };
const apart = { version: '0.3.0', protocols: { newest: 3, oldest: 3 } };

/** One after the other: each goes on where the one before ended. */
describe('upgrades and downgrades under mounted volumes', { timeout: 2_400_000 }, () => {
  let scene: UpgradeScene;
  let stage: E2eStage;
  let halves: Halves;

  before(async () => {
    scene = await UpgradeScene.open({ next, apart });
    ({ stage } = scene);
  });

  after(async () => {
    await scene?.close();
  });

  test('half-way to a version that goes along everything is done, on both nodes', async () => {
    halves = await scene.goHalfWayTo('next');
    await scene.work('upgraded', halves.on);
    await scene.work('old', halves.off);
    await scene.isKept();
    await scene.snapshots.audit();
  });

  test('without one of the nodes the other one goes on; its own work waits for it', async () => {
    const { on, off } = halves;
    await stage.cluster.node(off).cutPower({ loseUnflushed: true });
    await stage.claim('late', { className: `only-${off}`, size: '32Mi' });
    await scene.grow(`thin-${off}`, '64Mi');
    await scene.work('alone', on);
    await scene.isWritten(on);
    await stage.cluster.startNode(off);
    await stage.boundClaim('late');
    await stage.ready(`thick-${off}`);
    await scene.hasGrown(`thin-${off}`, '64Mi');
    await scene.writeOn(off);
    await scene.isKept();
    await stage.remove('pvc', 'late');
    await scene.snapshots.audit();
  });

  test('the roll-out ends, and is undone', async () => {
    for (const [name, heading] of [
      ['next', 'Upgrade'],
      ['first', 'Downgrade'],
    ] as const) {
      await scene.goTo(name, heading);
      await scene.work(`${name}-n1`, 'n1');
      await scene.work(`${name}-n2`, 'n2');
      await scene.isKept();
      await scene.snapshots.audit();
    }
  });

  test('half-way to one that does not, volumes are served and nothing new is done', async () => {
    await stage.claim('going-n1', { className: 'only-n1', size: '32Mi' });
    await stage.claim('going-n2', { className: 'only-n2', size: '32Mi' });
    for (const name of ['going-n1', 'going-n2']) await stage.boundClaim(name);
    halves = await scene.goHalfWayTo('apart');
    const { on, off } = halves;
    const why = `operator is 0.3.0 (protocol 3) and the agent of ${off} is 0.1.0 (protocol 1)`;
    await untilTold(stage, 'VersionSkew', why);
    await scene.work('apart', on);

    const lvs = await scene.lvsOn(off);
    await stage.claim('refused', { className: `only-${off}`, size: '32Mi' });
    await untilTold(stage, 'ProvisioningFailed', why);
    await scene.grow(`thick-${off}`, '64Mi');
    await untilTold(stage, 'VolumeResizeFailed', why);
    await scene.snapshots.apply('refused', `thin-${off}`);
    await untilTold(stage, 'SnapshotCreationFailed', why);
    await stage.cluster.kubectl(['delete', 'pvc', `going-${off}`, '--wait=false']);
    await untilTold(stage, 'VolumeFailedDelete', why);
    assert.deepEqual(await scene.lvsOn(off), lvs);
    await scene.wants('thin', 'thick', 'more');
    await stage.until('the other node has its group', async () => {
      return (await scene.groupsOn(on)).includes('more');
    });
    await stage.until('what waits is told', async () => (await stateOf(stage)) === 'Degraded');
    assert.ok(!(await scene.groupsOn(off)).includes('more'), 'no disk is taken there');

    await stage.pod('again', [`thin-${off}`], off);
    await stage.exec('again', `cat /data/thin-${off}/mark`);
    await stage.remove('pod', 'again');
    await scene.isKept();
  });

  test('what waited is done when the half is undone', async () => {
    const { off } = halves;
    await scene.goTo('first', 'Downgrade');
    await hasDevices(stage, 'more', 1);
    await stage.boundClaim('refused');
    await scene.hasGrown(`thick-${off}`, '64Mi');
    await scene.snapshots.ready('refused');
    await scene.isKept();
    await scene.snapshots.remove('refused');
    await stage.remove(
      'pvc',
      'refused',
      ...['going-n1', 'going-n2'].filter((one) => !one.endsWith(off)),
    );
    await scene.snapshots.audit();
  });

  test('all the way to it, and back', async () => {
    for (const [name, heading] of [
      ['apart', 'Upgrade'],
      ['first', 'Downgrade'],
    ] as const) {
      await scene.goTo(name, heading);
      await scene.work(`${name}-again-n1`, 'n1');
      await scene.work(`${name}-again-n2`, 'n2');
      await scene.isKept();
      await scene.snapshots.audit();
    }
  });
});
