import type { PersistentVolumeClaim } from '../../src/api/objects/claim.ts';
import { type Desk, Refused } from '../cluster/desk.ts';
import type { Departure } from '../cluster/network.ts';
import type { ClusterStage } from '../cluster/stage.ts';
import type { Stored } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { targetOf } from '../kube/fake-api-wire.ts';
import type { Chance } from '../world/chance.ts';

const note = 'example.com/seen';
const holder = 'example.com/hold';

/** Finalizers that we neither put on nor take off. */
const theirs = [holder, 'kubernetes.io/pvc-protection', 'kubernetes.io/pv-protection'] as const;

/** An object that somebody else writes to, too. */
type Shared = {
  readonly collection: string;
  readonly object: Parameters<Desk['finalizers']>[1];
};

/**
 * Somebody else who writes to objects that we write to: notes, conditions, and finalizers of his
 * own. What of it is lost, or comes back, was written over by us.
 */
export class Others {
  readonly #stage: ClusterStage;
  readonly #say: (violation: string) => void;
  #isHis = false;
  #isDone = false;

  constructor(stage: ClusterStage, say: (violation: string) => void) {
    this.#stage = stage;
    this.#say = say;
    stage.api.listeners.add((told) => this.#told(told));
  }

  /** On a claim, its volume, and the object of that. */
  note(name: string): void {
    const { admin } = this.#stage;
    const claim = admin.claim(name);
    if (claim === undefined) return;
    this.#note({ collection: collections.claims, object: claim });
    const volume = admin.volume(claim.spec.volumeName ?? '');
    if (volume !== undefined) this.#note({ collection: collections.volumes, object: volume });
    const ofIt = `pvc-${claim.metadata.uid}`;
    const object = admin.logicalVolumes.find(({ metadata }) => metadata.name === ofIt);
    if (object !== undefined) this.#note({ collection: collections.logicalVolumes, object });
  }

  /** From now on he writes at times what a write of ours is about, while that is on its way. */
  meet(chance: Chance): void {
    this.#stage.network.departures.add((departure) => {
      const isMet = !this.#isDone && chance.happens(0.2);
      const shared = isMet ? this.#about(departure) : undefined;
      if (shared === undefined) return;
      if (chance.happens(0.5)) this.#toggle(shared);
      else if (shared.collection === collections.claims) this.#tell(shared.object);
      else this.#note(shared);
    });
  }

  /** He has done with all of it. */
  letGo(): void {
    const { api } = this.#stage;
    this.#isDone = true;
    for (const collection of meetable) {
      for (const object of api.all(collection)) {
        if (isHeld(object)) this.#toggle({ collection, object });
      }
    }
  }

  #about({ method, path }: Departure): Shared | undefined {
    const target = method === 'GET' ? undefined : targetOf(path);
    if (target?.name === undefined || !meetable.includes(target.collection)) return undefined;
    const { collection, name, namespace } = target;
    const object = this.#stage.api.one(collection, name, namespace);
    return object === undefined ? undefined : { collection, object };
  }

  #note({ collection, object }: Shared): void {
    const annotations = { [note]: String(this.#stage.clock.nowMs()) };
    this.#write(() => {
      this.#stage.admin.patch(collection, object.metadata, { metadata: { annotations } });
    });
  }

  /** The newest comes first: what stood behind it stands elsewhere now. */
  #toggle({ collection, object }: Shared): void {
    const { finalizers: before = [] } = object.metadata;
    const isOn = before.includes(holder);
    const finalizers = isOn ? before.filter((one) => one !== holder) : [holder, ...before];
    this.#write(() => {
      this.#stage.admin.patch(collection, object.metadata, { metadata: { finalizers } });
    });
  }

  #tell({ metadata }: Shared['object']): void {
    const { name, namespace } = metadata;
    const { conditions = [] } = this.#stage.admin.claim(name, namespace)?.status ?? {};
    const told = [
      ...conditions.filter(({ type }) => type !== note),
      { type: note, status: 'True' },
    ];
    this.#write(() => {
      this.#stage.admin.status(collections.claims, metadata, { status: { conditions: told } });
    });
  }

  /** What is going takes no finalizer any more. */
  #write(write: () => void): void {
    this.#isHis = true;
    try {
      write();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    } finally {
      this.#isHis = false;
    }
  }

  #told({ collection, before, after = before }: Parameters<Told>[0]): void {
    const { who = '' } = this.#stage.api.writes.at(-1) ?? {};
    const isOurs = /^(operator|agent) /.test(who) && !this.#isHis;
    if (!isOurs || before === undefined || after === undefined) return;
    const { name, annotations, finalizers } = before.metadata;
    for (const one of theirs) {
      const was = finalizers?.includes(one) === true;
      const is = after.metadata.finalizers?.includes(one) === true;
      if (was && !is) this.#say(`trap 28: ${name} lost ${one}, and not by whose it is`);
      if (is && !was) this.#say(`trap 28: ${name} has ${one} again, and not from whose it is`);
    }
    if (annotations?.[note] !== after.metadata.annotations?.[note]) {
      this.#say(`trap 16: ${name} lost a note of somebody else`);
    }
    if (collection === collections.claims && hasTold(before) && !hasTold(after)) {
      this.#say(`trap 16: ${name} lost a condition of somebody else`);
    }
  }
}

type Told = ClusterStage['api']['listeners'] extends Set<infer Listener> ? Listener : never;

const meetable: readonly string[] = [
  ...[collections.claims, collections.volumes, collections.logicalVolumes, collections.nodes],
];

function isHeld({ metadata }: Stored): boolean {
  return metadata.finalizers?.includes(holder) === true;
}

function hasTold(object: Stored): boolean {
  const { status } = object as unknown as PersistentVolumeClaim;
  return status?.conditions?.some(({ type }) => type === note) === true;
}
