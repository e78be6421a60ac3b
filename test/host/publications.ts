import {
  absentPublication,
  desiredPublication,
  type PublishedVolume,
} from '../../src/core/publication/desired.ts';
import { desiredGrowth } from '../../src/core/publication/growth.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Outcome } from '../../src/engine/job.ts';
import type { Host } from '../../src/engine/ports.ts';
import { Publisher } from '../../src/engine/publisher.ts';
import { realClock } from '../../src/host/clock.ts';
import type { Answer, Ask, PublicationAsk } from './protocol.ts';

type Told = Omit<Answer, 'id' | 'ran'>;
type PublicationOp = Extract<Ask, { op: 'publish' | 'unpublish' | 'grow' | 'stats' | 'mounts' }>;

/** In a guest: the real publisher, asked by the driver. */
export class Publications {
  readonly #engine: Engine;
  readonly #publisher: Publisher;

  constructor(engine: Engine, host: Host) {
    this.#engine = engine;
    const trace = () => undefined;
    this.#publisher = new Publisher({ engine, host, clock: realClock, trace });
  }

  async answer(ask: PublicationOp): Promise<Told> {
    switch (ask.op) {
      case 'publish':
        return told(await this.#publish(ask.request));
      case 'mounts':
        return { kind: 'settled', value: await this.#publisher.nodeMounts() };
      case 'unpublish': {
        const volume = { vg: 'vg', name: ask.volume, uuid: (await this.#find(ask.volume))?.uuid };
        const wanted = absentPublication({ volume, targetPath: ask.path });
        return told(isBlocked(wanted) ? wanted : await this.#publisher.unpublish(wanted));
      }
      case 'grow': {
        const volume = await this.#must(ask.volume);
        const wanted = desiredGrowth({ volume, targetPath: ask.path });
        return told(isBlocked(wanted) ? wanted : await this.#publisher.grow(wanted));
      }
      case 'stats': {
        const stats = await this.#publisher.stats(await this.#must(ask.volume), ask.path);
        if (isBlocked(stats)) return told(stats);
        return { kind: 'settled', value: stats };
      }
    }
  }

  async #publish(request: PublicationAsk): Promise<Outcome<unknown>> {
    const { path: targetPath, fsType, flags = [], isReadOnly = false, zeroFirst = false } = request;
    const access =
      fsType === undefined
        ? ({ kind: 'block', zeroFirst } as const)
        : ({ kind: 'mount', fsType, flags } as const);
    const volume = await this.#must(request.volume);
    const wanted = desiredPublication({ volume, targetPath, access, isReadOnly });
    return isBlocked(wanted) ? wanted : this.#publisher.publish(wanted);
  }

  async #find(name: string): Promise<PublishedVolume | undefined> {
    const { host } = this.#engine.model.newest ?? (await this.#engine.observe());
    const lv = host.vgs.flatMap((vg) => vg.lvs).find((candidate) => candidate.name === name);
    return lv === undefined ? undefined : { vg: 'vg', name, uuid: lv.uuid };
  }

  async #must(name: string): Promise<PublishedVolume> {
    const found = await this.#find(name);
    if (found === undefined) throw new Error(`there is no volume ${name}`);
    return found;
  }
}

function told(outcome: Outcome<unknown>): Told {
  if (outcome.kind === 'settled') return { kind: 'settled', value: outcome.status };
  return { kind: 'blocked', code: outcome.code, message: outcome.message };
}
