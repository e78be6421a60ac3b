import { judgePaths } from '../../src/operator/judges.ts';
import type { Judge } from '../../src/operator/webhook.ts';
import { collections } from '../kube/fake-api-rules.ts';
import type { Admitted, Asked } from '../kube/judged-api.ts';
import type { Chance } from '../world/chance.ts';
import type { Life } from './life.ts';
import type { Network } from './network.ts';

type Judges = ReadonlyMap<string, Judge>;
type Endpoint = { readonly life: Life; readonly machine: string; readonly judges: Judges };

/** The Service before our operators, as an API server with failurePolicy Fail calls it. */
export class WebhookService {
  readonly #network: Network;
  readonly #chance: Chance;
  #endpoints: readonly Endpoint[] = [];

  constructor(network: Network, chance: Chance) {
    this.#network = network;
    this.#chance = chance;
  }

  serve(endpoint: Endpoint): void {
    this.#endpoints = [...this.#endpoints.filter(({ life }) => !life.isDead), endpoint];
  }

  ask(asked: Asked): Admitted {
    const paths = pathsOf(asked);
    if (paths.length === 0) return taken;
    const alive = this.#endpoints.filter(({ life }) => !life.isDead);
    const endpoint = this.#chance.pick(alive);
    if (endpoint === undefined) return refused('no endpoints available');
    if (endpoint.life.isHeldUp || this.#network.isCut(endpoint.machine)) {
      return refused('context deadline exceeded');
    }
    const { operation, object, oldObject } = asked;
    const question = { uid: '', operation, object, oldObject };
    const answers = paths.map((path) => endpoint.judges.get(path)?.(question));
    const verdicts = answers.filter((one) => one !== undefined && 'isAllowed' in one);
    const objection = verdicts.find(({ isAllowed }) => !isAllowed);
    if (objection === undefined) {
      return { kind: 'taken', patch: verdicts.flatMap(({ patch }) => patch) };
    }
    const { message } = objection;
    return { kind: 'refused', refusal: { code: 422, reason: 'Invalid', message } };
  }
}

const taken: Admitted = { kind: 'taken', patch: [] };

function refused(why: string): Admitted {
  const message = `failed calling webhook: ${why}`;
  return { kind: 'refused', refusal: { code: 500, reason: 'InternalError', message } };
}

function pathsOf({ collection, operation }: Asked): readonly string[] {
  const { fillIn, cluster, group } = judgePaths;
  if (collection === collections.lvmVolumeGroups) return [group];
  if (collection !== collections.lvmClusters) return [];
  return operation === 'CREATE' ? [fillIn, cluster] : [cluster];
}
