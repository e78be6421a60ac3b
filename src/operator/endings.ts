import {
  type Blocked,
  type FailureCode,
  type Fault,
  failures,
  OperationError,
} from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { type Status, StatusError } from '../csi/status.ts';
import { KubeError } from '../kube/errors.ts';
import type { Clock } from '../kube/ports.ts';
import { asOperationError } from './logical-volumes-errors.ts';

/** Somebody wrote first, it goes on elsewhere, or it is under way: that is tried again at once. */
const noEndings: readonly FailureCode[] = [
  'NotLeading',
  'Cancelled',
  'StaleView',
  'GrowthUnfinished',
  'CopyUnfinished',
];

/** As the calls are named that the sidecars made for the same. */
export const operations = {
  create: 'csi.v1.Controller/CreateVolume',
  remove: 'csi.v1.Controller/DeleteVolume',
  expand: 'csi.v1.Controller/ControllerExpandVolume',
  snapshot: 'csi.v1.Controller/CreateSnapshot',
  removeSnapshot: 'csi.v1.Controller/DeleteSnapshot',
  snapshotGroup: 'csi.v1.GroupController/CreateVolumeGroupSnapshot',
  removeSnapshotGroup: 'csi.v1.GroupController/DeleteVolumeGroupSnapshot',
} as const;

export type Operation = keyof typeof operations;

/** How one try ended. */
export type Ended = {
  readonly method: string;
  readonly code: Status;
  /** Missing when it ended well. */
  readonly fault?: Fault;
  /** Of what ended well: since it was asked for. */
  readonly seconds?: number;
};

/** What is asked for, and of what: the same key until it is done. */
export type Asked = {
  readonly operation: Operation;
  readonly key: string;
  /** It copies data, which takes as long as there is of it. */
  readonly isCopy?: boolean;
};

/**
 * Counts how what the duties do ends. The seconds of what is done at last go on through tries that
 * failed by our fault; they begin anew after one that somebody else has to answer for.
 */
export class Endings {
  readonly #clock: Clock;
  readonly #tell: (ended: Ended) => void;
  readonly #sinceMs = new Map<string, number>();

  constructor(clock: Clock, tell: (ended: Ended) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** One try of what is answered for as a whole. */
  async of<T>(asked: Asked, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    this.begun(asked);
    try {
      const done = await work();
      this.done(asked);
      return done;
    } catch (error) {
      if (!signal.aborted) this.failed(asked, error);
      throw error;
    }
  }

  begun(asked: Asked): void {
    const key = keyOf(asked);
    if (this.#sinceMs.has(key)) return;
    this.#sinceMs.set(key, this.#clock.nowMs());
    if (this.#sinceMs.size <= limits.queueLengthMax) return;
    for (const oldest of this.#sinceMs.keys()) {
      this.#sinceMs.delete(oldest);
      return;
    }
  }

  done(asked: Asked): void {
    const method = operations[asked.operation];
    const sinceMs = this.#sinceMs.get(keyOf(asked));
    this.forget(asked);
    const isTimed = sinceMs !== undefined && asked.isCopy !== true;
    const seconds = isTimed ? { seconds: (this.#clock.nowMs() - sinceMs) / 1000 } : {};
    this.#tell({ method, code: 'OK', ...seconds });
  }

  failed(asked: Asked, error: unknown): void {
    const ending = endingOf(error);
    if (ending === undefined) return;
    if (ending.fault !== 'system') this.forget(asked);
    this.#tell({ method: operations[asked.operation], ...ending });
  }

  /** Nobody asks for it any more. */
  forget(asked: Asked): void {
    this.#sinceMs.delete(keyOf(asked));
  }
}

/** Undefined for what ends with our own turn. What nobody expected is a bug, and ours. */
function endingOf(error: unknown): { readonly code: Status; readonly fault: Fault } | undefined {
  const known = error instanceof KubeError ? asOperationError('the cluster', error) : error;
  if (known instanceof OperationError || isBlocked(known)) {
    if (noEndings.includes(known.code)) return undefined;
    const { grpc, fault } = failures[known.code];
    return { code: grpc, fault };
  }
  if (known instanceof StatusError) return { code: known.status, fault: 'system' };
  return { code: 'UNKNOWN', fault: 'system' };
}

function isBlocked(value: unknown): value is Blocked {
  return (value as Partial<Blocked> | undefined)?.kind === 'blocked';
}

function keyOf({ operation, key }: Asked): string {
  return `${operation} ${key}`;
}
