import assert from 'node:assert/strict';
import { untilCalm } from './calm.ts';
import { podObject } from './objects.ts';
import { bytesOf } from './quantity.ts';
import { send } from './send.ts';
import type { Snapshots } from './snapshots.ts';
import type { E2eStage } from './stage.ts';
import { type Progress, progressOf, type VolumeSight, VolumeSights } from './volume-sights.ts';
import { snapshotOf } from './volume-snapshots.ts';

/** Something that is done with volumes, with what is seen of it meanwhile. */
export type Operation = {
  readonly name: string;
  /** Before anything that counts. */
  prepare?(): Promise<void>;
  begin(): Promise<void>;
  look(): Promise<Progress>;
  /** Everything that must be true when it is over. */
  isDone(): Promise<void>;
  /** Where it was over before the fault came: then it is begun once more. */
  again(): Promise<void>;
};

const podsPath = '/api/v1/namespaces/default/pods';
const firstSize = '32Mi';
const mebibyte = 1024n ** 2n;

/** A volume of each layout in one pod, from their claims to their end. */
export class VolumeLife {
  readonly #stage: E2eStage;
  readonly #snapshots: Snapshots;
  readonly #node: string;
  readonly #pod: string;
  readonly #claims: readonly string[];
  readonly sights: VolumeSights;

  constructor(stage: E2eStage, snapshots: Snapshots, node: string, name: string) {
    this.#stage = stage;
    this.#snapshots = snapshots;
    this.#node = node;
    this.#pod = name;
    this.#claims = [`${name}-thick`, `${name}-thin`];
    this.sights = new VolumeSights(stage, node, this.#claims);
  }

  /** In this order: each one needs what those before it made. */
  get operations(): readonly Operation[] {
    return [
      this.#create(),
      this.#expand(),
      snapshotOf(this.#snapshots, this.#stage, this.#claims, this.#node),
      this.#publish(),
      this.#delete(),
    ];
  }

  #look(steps: readonly ((sight: VolumeSight) => boolean)[]): () => Promise<Progress> {
    return async () => progressOf(await this.sights.look(), steps);
  }

  #create(): Operation {
    return {
      name: 'create',
      look: this.#look([
        (one) => one.hasRecord,
        (one) => one.hasDevice,
        (one) => one.isMade,
        (one) => one.hasVolume,
        (one) => one.isBound,
      ]),
      prepare: () => this.#claim(),
      begin: () => this.#startPod(),
      again: async () => {
        await this.#stage.remove('pod', this.#pod);
        await this.#stage.remove('pvc', ...this.#claims);
        await this.#claim();
      },
      isDone: async () => {
        await this.#isRunning();
        const marks = this.#claims.map((name) => `echo ${name} > /data/${name}/mark`);
        await this.#says([...marks, 'sync', 'echo written'].join(' && '), 'written\n');
        await this.#holds();
      },
    };
  }

  #expand(): Operation {
    let size = 2n * bytesOf(firstSize);
    return {
      name: 'expand',
      look: this.#look([
        (one) => one.wantedBytes >= size,
        (one) => one.madeBytes >= size,
        (one) => one.volumeBytes >= size,
        (one) => one.claimBytes >= size,
      ]),
      begin: async () => {
        const spec = { resources: { requests: { storage: String(size) } } };
        await Promise.all(
          this.#claims.map((name) => send(this.#stage, 'PATCH', claimPath(name), { spec })),
        );
      },
      again: async () => {
        size += 32n * mebibyte;
      },
      isDone: async () => {
        await this.#until('the claims are larger', (one) => one.claimBytes >= size);
        const grown = this.#claims.map((name) => `df -P -m /data/${name} | tail -n 1`).join('; ');
        await untilCalm(this.#stage, 'the file systems are larger', async () => {
          const lines = (await this.#stage.exec(this.#pod, grown)).trim().split('\n');
          const sizes = lines.map((line) => Number(line.split(/\s+/)[1]));
          return (
            sizes.length === this.#claims.length &&
            sizes.every((has) => has > 0.7 * Number(size / mebibyte))
          );
        });
        await this.#holds();
      },
    };
  }

  #publish(): Operation {
    return {
      name: 'publish',
      look: this.#look([(one) => one.isAsked, (one) => one.isMounted]),
      prepare: () => this.#stage.remove('pod', this.#pod),
      begin: () => this.#startPod(),
      again: () => this.#stage.remove('pod', this.#pod),
      isDone: async () => {
        await this.#isRunning();
        await this.#holds();
      },
    };
  }

  #delete(): Operation {
    return {
      name: 'delete',
      look: this.#look([
        (one) => !one.isMounted,
        (one) => !one.hasClaim,
        (one) => one.isGoing,
        (one) => !one.hasDevice,
        (one) => !one.hasRecord,
        (one) => !one.hasVolume,
      ]),
      begin: async () => {
        const paths = [`${podsPath}/${this.#pod}`, ...this.#claims.map(claimPath)];
        await Promise.all(paths.map((path) => send(this.#stage, 'DELETE', path)));
      },
      again: async () => {
        await this.#claim();
        await this.#startPod();
        await this.#isRunning();
      },
      isDone: async () => {
        await this.#until(
          'nothing is left',
          (one) => !one.hasClaim && !one.hasRecord && !one.hasVolume && !one.isAsked,
        );
        const left = await this.#stage.lvs();
        assert.deepEqual(
          this.sights.lvs.filter((name) => left.includes(name)),
          [],
        );
      },
    };
  }

  async #claim(): Promise<void> {
    for (const name of this.#claims) {
      const className = name.includes('thin') ? 'thin' : 'thick';
      await this.#stage.claim(name, { className, size: firstSize });
    }
  }

  /** Not by kubectl: it would come back when a quick operation is over already. */
  async #startPod(): Promise<void> {
    await send(
      this.#stage,
      'POST',
      podsPath,
      podObject(this.#pod, this.#claims, { node: this.#node }),
    );
  }

  async #isRunning(): Promise<void> {
    await untilCalm(this.#stage, `the pod ${this.#pod} runs with all its volumes`, async () => {
      const path = `${podsPath}/${this.#pod}`;
      const pod = await this.#stage.cluster.api.get<{
        readonly status: { readonly phase?: string };
      }>(path);
      const sights = await this.sights.look();
      return pod?.status.phase === 'Running' && sights.every((one) => one.isBound && one.isMounted);
    });
    assert.equal(new Set(this.sights.lvs).size, this.#claims.length);
  }

  /** Every volume has what was written to it, and not that of another. */
  async #holds(): Promise<void> {
    const marks = this.#claims.map((name) => `/data/${name}/mark`);
    await this.#says(`cat ${marks.join(' ')}`, this.#claims.map((name) => `${name}\n`).join(''));
  }

  /** A container that has just been started again may refuse for a while. */
  async #says(script: string, wanted: string): Promise<void> {
    let said = '';
    const ask = async (): Promise<boolean> => {
      said = await this.#stage.exec(this.#pod, script).catch(String);
      return said === wanted;
    };
    await untilCalm(this.#stage, `${this.#pod} says ${wanted}`, ask).catch((error: unknown) => {
      throw new Error(`${this.#pod} said last: ${said}`, { cause: error });
    });
  }

  async #until(what: string, isTrue: (sight: VolumeSight) => boolean): Promise<void> {
    await untilCalm(this.#stage, what, async () => (await this.sights.look()).every(isTrue));
  }
}

function claimPath(name: string): string {
  return `/api/v1/namespaces/default/persistentvolumeclaims/${name}`;
}
