import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { KubeError } from '../../src/kube/errors.ts';
import { claimKind } from '../../src/kube/kinds.ts';
import { Guards } from '../../src/operator/guards.ts';
import { LogicalVolumeBook } from '../../src/operator/logical-volumes.ts';
import { Provisioner } from '../../src/operator/provisioner.ts';
import { Reclaimer } from '../../src/operator/reclaimer.ts';
import type { Stored } from '../kube/fake-api.ts';
import { ClaimScene, fromClaim } from './provisioning-scene.ts';

/** Leaders that die after a certain number of writes, and one that follows and does not die. */
class Terms {
  readonly at: ClaimScene;
  isDead = false;

  constructor(at: ClaimScene) {
    this.at = at;
  }

  /** Nothing goes out after the last write that it lives to see. */
  lead(writesMax: number): void {
    const { at } = this;
    const stop = new AbortController();
    this.isDead = false;
    let isDead = false;
    const fence = () => {
      if (isDead) throw new KubeError('Fenced', 'dead');
    };
    const die = () => {
      isDead = true;
      this.isDead = true;
      stop.abort();
    };
    const before = at.writes.length;
    at.api.listeners.add(() => {
      if (!isDead && at.writes.length - before >= writesMax) die();
    });
    const { cluster } = at;
    const client = cluster.client.fenced(fence);
    const book = new LogicalVolumeBook({ ...cluster, client, mayChange: fence });
    for (const Duty of [Provisioner, Reclaimer, Guards]) {
      const duty = new Duty({ ...cluster, client, book });
      at.run({ run: () => duty.run(stop.signal) });
    }
    at.stop.signal.addEventListener('abort', die);
  }
}

async function begin(t: TestContext): Promise<{ at: ClaimScene; terms: Terms }> {
  const at = new ClaimScene();
  await at.start(t);
  at.obedient();
  return { at, terms: new Terms(at) };
}

/** The life of a claim and its clone, until nothing is left of both. */
async function play(at: ClaimScene, lead: () => void): Promise<void> {
  const rest = async () => {
    await at.pass(40_000);
    lead();
    await at.pass(90_000);
  };
  const origin = at.claim('origin');
  await rest();
  bindOnce(at, origin);
  await rest();
  const clone = at.claim('clone', fromClaim('origin'));
  await rest();
  bindOnce(at, clone);
  await rest();
  assert.equal(at.volumes().length, 2);
  assert.equal(at.isMarked(origin) || at.isMarked(clone), false);
  // The source goes first; its guard must not stay behind.
  await at.cluster.client.delete(claimKind, { name: 'origin', namespace: 'ns' });
  await rest();
  assert.equal(at.claimNow('origin'), undefined);
  at.giveBack(origin);
  at.giveBack(clone);
  await rest();
}

test('a leader that dies after any of its writes is followed by one that ends the same', async (t) => {
  const writesOfLife = 15;
  for (let last = 1; last <= writesOfLife; last += 1) {
    const { at, terms } = await begin(t);
    terms.lead(last);
    let deaths = 0;
    await play(at, () => {
      if (!terms.isDead) return;
      deaths += 1;
      terms.lead(Number.POSITIVE_INFINITY);
    });
    assert.equal(deaths, 1, `${last} writes`);
    assert.deepEqual(at.volumes(), [], `after ${last} writes`);
    const left = at.persistentVolumes().map(({ metadata }) => metadata.finalizers);
    assert.deepEqual(left, [['kubernetes.io/pv-protection'], ['kubernetes.io/pv-protection']]);
  }
});

function bindOnce(at: ClaimScene, claim: Stored): void {
  assert.equal(
    at.persistentVolumes().filter(({ metadata }) => metadata.name === `pvc-${claim.metadata.uid}`)
      .length,
    1,
  );
  at.bind(claim);
}
