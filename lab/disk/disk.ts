import { type DiskFault, type DiskRequest, failsRequest } from './fault.ts';
import type { DiskStore } from './store.ts';

export type ServedRequest = DiskRequest & {
  readonly payload: Buffer;
  /** Must not stay in the cache. */
  readonly through: boolean;
  /** Whoever asked may be gone by the time a held-back request could be served. */
  readonly alive: () => boolean;
};

export type Outcome = 'done' | 'io-error' | 'no-space' | 'out-of-range';

export type Answer = (outcome: Outcome, data?: Buffer) => void;

/** What a disk says about itself. */
export type Identity = {
  readonly vendor: string;
  readonly model: string;
  readonly serial: string;
};

/** A store with clients and, at times, a fault. */
export class Disk {
  readonly store: DiskStore;
  readonly identity: Identity;
  #fault: DiskFault = { kind: 'none' };
  #waiting: (() => void)[] = [];

  constructor(store: DiskStore, identity: Identity) {
    this.store = store;
    this.identity = identity;
  }

  setFault(fault: DiskFault): void {
    this.#fault = fault;
    if (fault.kind === 'stuck') return;
    // What was held back goes on, under the new conditions.
    for (const serve of this.#waiting.splice(0)) serve();
  }

  serve(request: ServedRequest, answer: Answer): void {
    const fault = this.#fault;
    switch (fault.kind) {
      case 'stuck':
        this.#waiting.push(() => this.serve(request, answer));
        return;
      case 'slow':
        setTimeout(() => this.#carryOut(request, answer), fault.delayMs);
        return;
      case 'failing':
        if (failsRequest(fault, request)) answer('io-error');
        else this.#carryOut(request, answer);
        return;
      case 'full':
        if (this.#needsSpace(request)) answer('no-space');
        else this.#carryOut(request, answer);
        return;
      case 'none':
        this.#carryOut(request, answer);
        return;
    }
  }

  #needsSpace(request: ServedRequest): boolean {
    return request.kind === 'write' && this.store.needsSpace(request.offset, request.length);
  }

  #carryOut(request: ServedRequest, answer: Answer): void {
    const { store } = this;
    if (!request.alive()) return;
    if (request.offset + request.length > store.sizeBytes) {
      answer('out-of-range');
      return;
    }
    switch (request.kind) {
      case 'read':
        answer('done', store.read(request.offset, request.length));
        return;
      case 'write':
        store.write(request.offset, request.payload, { through: request.through });
        break;
      case 'zero':
        store.zero(request.offset, request.length);
        break;
      case 'flush':
        store.flush();
        break;
    }
    answer('done');
  }
}
