import assert from 'node:assert/strict';
import { untilCalm } from './calm.ts';
import type { E2eStage } from './stage.ts';
import { VolumeSights } from './volume-sights.ts';

type Named = {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
  };
};

/** A pod with claims of its name, and a word of its own in each volume. */
export class KeptPod {
  readonly name: string;
  readonly claims: readonly string[];
  readonly #stage: E2eStage;
  readonly #node: string;
  readonly sights: VolumeSights;

  constructor(stage: E2eStage, node: string, claims: readonly [string, ...string[]]) {
    [this.name] = claims;
    this.claims = claims;
    this.#stage = stage;
    this.#node = node;
    this.sights = new VolumeSights(stage, node, claims);
  }

  /** The first claim is thick, the others are thin. */
  async make(): Promise<void> {
    for (const [index, name] of this.claims.entries()) {
      await this.#stage.claim(name, { className: index === 0 ? 'thick' : 'thin', size: '32Mi' });
    }
    await this.start();
    await this.write();
    await this.sights.look();
  }

  async start(): Promise<void> {
    await this.#stage.pod(this.name, this.claims, this.#node);
  }

  async write(): Promise<void> {
    const marks = this.claims.map((name) => `echo ${name} >> /data/${name}/mark`);
    await this.#stage.exec(this.name, [...marks, 'sync'].join(' && '));
  }

  /** Each volume has its word so many times, and nothing else. */
  async holds(times: number): Promise<void> {
    for (const name of this.claims) {
      const wanted = `${name}\n`.repeat(times);
      assert.equal(await this.#stage.exec(this.name, `cat /data/${name}/mark`), wanted);
    }
  }

  async remove(): Promise<void> {
    await this.#stage.remove('pod', this.name);
    await this.#stage.remove('pvc', ...this.claims);
  }

  /** Objects and LVs are what they were, and nobody wants them gone. */
  async isUntouched(): Promise<void> {
    const sights = await this.sights.look();
    const lost = this.claims.filter((_, index) => {
      const sight = sights[index];
      return sight === undefined || !sight.isBound || !sight.hasVolume || sight.isGoing;
    });
    assert.deepEqual(lost, [], 'claims without their objects');
    const lvs = await this.#stage.lvs();
    assert.deepEqual(
      this.sights.lvs.filter((name) => !lvs.includes(name)),
      [],
      'LVs that are gone',
    );
    assert.equal(this.sights.lvs.length, this.claims.length);
  }

  /** The name of the LogicalVolume of a claim. */
  async recordOf(claim: string): Promise<string> {
    const path = `/api/v1/namespaces/default/persistentvolumeclaims/${claim}`;
    const found = await this.#stage.cluster.api.get<Named>(path);
    assert.ok(found, `the claim ${claim} is there`);
    return `pvc-${found.metadata.uid}`;
  }
}

export async function recordNamed(stage: E2eStage, name: string): Promise<Named | undefined> {
  return stage.cluster.api.get<Named>(`/apis/topolvm.io/v1/logicalvolumes/${name}`);
}

export async function nodeIsGone(stage: E2eStage, name: string): Promise<void> {
  await untilCalm(stage, `the Node ${name} is gone`, async () => {
    return (await stage.cluster.api.get(`/api/v1/nodes/${name}`)) === undefined;
  });
}

type Event = { readonly reason: string; readonly message: string };

/** Waits for an event of a reason that speaks of something. */
export async function untilTold(stage: E2eStage, reason: string, about: string): Promise<void> {
  await untilCalm(stage, `an event ${reason} about ${about}`, async () => {
    const list = await stage.cluster.api.get<{
      readonly items: readonly (Event & { readonly involvedObject: { readonly name: string } })[];
    }>('/api/v1/events');
    const isIt = (event: Event & { readonly involvedObject: { readonly name: string } }) =>
      event.reason === reason &&
      (event.message.includes(about) || event.involvedObject.name === about);
    return (list?.items ?? []).some(isIt);
  });
}
