import type { Call } from './history.ts';
import type { WireCall } from './requests.ts';

/** How a call ended: gRPC's word, and what came back of interest. */
export type Ending = {
  readonly code: string;
  readonly message: string;
  readonly id?: string;
  readonly sizeBytes?: bigint;
  readonly ids?: readonly string[];
};

type Known = {
  readonly kind: 'volume' | 'snapshot';
  readonly name: string;
  state: 'absent' | 'present' | 'doubt';
  id: string | undefined;
  sizeBytes: bigint;
  /** The request that made it, or may have, with the ids it named. */
  made: { readonly call: Call; readonly wire: WireCall | undefined } | undefined;
  /** Paths at which it is shown, or may be. */
  readonly shown: Map<string, 'yes' | 'maybe'>;
};

const MiB = 1024n ** 2n;

/**
 * What a user may conclude from the answers, and nothing else: every answer must agree with all
 * answers before it. Where a call was cut off both outcomes are possible until another call tells.
 */
export class Checker {
  readonly violations: string[] = [];
  readonly #known = new Map<string, Known>();
  readonly #usedIds = new Set<string>();

  say(text: string): void {
    this.violations.push(text);
  }

  /** The id by which a name is called from now on; one that never was where there is none. */
  idOf(kind: Known['kind'], name: string): string {
    return this.#get(kind, name).id ?? `no-${kind}-${name}`;
  }

  all(kind: Known['kind']): readonly Known[] {
    return [...this.#known.values()].filter((one) => one.kind === kind);
  }

  shownAt(path: string): readonly Known[] {
    return this.all('volume').filter((one) => one.shown.has(path));
  }

  check(call: Call, ending: Ending, wire?: WireCall): void {
    if (call.op === 'write') return;
    if (call.op === 'list') {
      this.#list(ending);
      return;
    }
    const isCut = ending.code === 'CANCELLED' || ending.code === 'DEAD';
    const isSnapshot = call.op === 'snapshot' || call.op === 'delete-snapshot';
    const one = this.#get(isSnapshot ? 'snapshot' : 'volume', call.name);
    if (call.op === 'create' || call.op === 'snapshot') {
      this.#creation(one, { call, wire }, ending, isCut);
    } else if (call.op === 'expand') this.#expansion(one, call.mib, ending, isCut);
    else if (call.op === 'publish') this.#publication(one, call.path, ending, isCut);
    else if (call.op === 'unpublish') this.#unpublication(one, call.path, ending, isCut);
    else if (call.op === 'stats') this.#stats(one, call.path, ending);
    else this.#deletion(one, ending, isCut);
  }

  #creation(one: Known, made: NonNullable<Known['made']>, ending: Ending, isCut: boolean): void {
    const { code, id } = ending;
    const isSame = textOf(one.made) === textOf(made);
    if (isCut) {
      if (one.state === 'absent') Object.assign(one, { state: 'doubt', made });
      return;
    }
    if (code === 'OK') {
      if (id === undefined) {
        this.say(`${one.name}: made, and has no id`);
        return;
      }
      if (one.state === 'present' && id !== one.id) {
        this.say(`${one.name} was ${one.id} and is ${id} now`);
      }
      if (one.state === 'absent' && this.#usedIds.has(id)) this.say(`${id} is used twice`);
      this.#usedIds.add(id);
      if (id !== one.id) Object.assign(one, { sizeBytes: 0n, made: undefined });
      const isFirst = one.state !== 'present';
      Object.assign(one, { state: 'present', id });
      if (isFirst) one.made = made;
      this.#checkSize(one, made.call, ending);
      return;
    }
    if (one.state === 'present' && isSame && code !== 'OK' && !isTroubled(one, code)) {
      this.say(`${one.name} is there, and asking for it again gave ${code}: ${ending.message}`);
    }
    if (code === 'ALREADY_EXISTS' && (one.state === 'absent' || isSame)) {
      this.say(`${one.name} is not there, or is the same: ${ending.message}`);
    }
    if (!creationCodes.has(code)) this.say(`${one.name}: ${code}: ${ending.message}`);
  }

  #checkSize(one: Known, call: Call, { sizeBytes = 0n }: Ending): void {
    const asked = call.op === 'create' ? BigInt(call.mib) * MiB : 0n;
    if (sizeBytes < asked) this.say(`${one.name} has ${sizeBytes} of ${asked} bytes`);
    if (sizeBytes < one.sizeBytes && one.kind === 'volume') this.say(`${one.name} shrank`);
    one.sizeBytes = sizeBytes;
  }

  #deletion(one: Known, { code, message }: Ending, isCut: boolean): void {
    if (isCut) {
      if (one.state === 'present') one.state = 'doubt';
      return;
    }
    if (code === 'OK') {
      if ([...one.shown.values()].includes('yes'))
        this.say(`${one.name} is gone while it is shown`);
      // What was cut off before it had an id cannot be meant by this call.
      if (one.id === undefined && one.state === 'doubt') return;
      Object.assign(one, { state: 'absent', id: undefined, made: undefined, sizeBytes: 0n });
      one.shown.clear();
      return;
    }
    if (code !== 'FAILED_PRECONDITION') this.say(`${one.name}: deleting: ${code}: ${message}`);
    if (one.state === 'absent') this.say(`${one.name} is gone, and deleting it gave ${code}`);
  }

  #expansion(one: Known, mib: number, ending: Ending, isCut: boolean): void {
    const { code, sizeBytes = 0n } = ending;
    if (isCut) return;
    if (code === 'OK') {
      if (sizeBytes < BigInt(mib) * MiB) this.say(`${one.name} grew to ${sizeBytes} only`);
      if (sizeBytes < one.sizeBytes) this.say(`${one.name} shrank by growing`);
      one.sizeBytes = sizeBytes;
      if (one.state === 'absent') this.say(`${one.name} is not there and grew`);
      return;
    }
    const isKnown = one.state === 'present';
    if (code === 'NOT_FOUND' && isKnown) this.say(`${one.name} is there and was not found`);
    if (!expansionCodes.has(code)) this.say(`${one.name}: growing: ${code}: ${ending.message}`);
  }

  #publication(one: Known, path: string, { code, message }: Ending, isCut: boolean): void {
    if (isCut) {
      if (one.state !== 'absent' && !one.shown.has(path)) one.shown.set(path, 'maybe');
      return;
    }
    if (code === 'OK') {
      if (one.state === 'absent') this.say(`${one.name} is not there and is shown`);
      const other = this.shownAt(path).find(
        (each) => each !== one && each.shown.get(path) === 'yes',
      );
      if (other !== undefined) this.say(`${path} shows ${other.name} and ${one.name}`);
      one.shown.set(path, 'yes');
      return;
    }
    if (code === 'NOT_FOUND' && one.state === 'present') {
      this.say(`${one.name} is there and was not found: ${message}`);
    }
    if (!publicationCodes.has(code)) this.say(`${one.name}: showing: ${code}: ${message}`);
  }

  #unpublication(one: Known, path: string, { code, message }: Ending, isCut: boolean): void {
    if (isCut) {
      if (one.shown.has(path)) one.shown.set(path, 'maybe');
      return;
    }
    if (code === 'OK') {
      one.shown.delete(path);
      return;
    }
    const isOthers = this.shownAt(path).some((other) => other !== one);
    if (code === 'FAILED_PRECONDITION' && isOthers) return;
    this.say(`${one.name}: taking away: ${code}: ${message}`);
  }

  #stats(one: Known, path: string, { code, message }: Ending): void {
    const shown = one.shown.get(path);
    if (code === 'OK') {
      if (shown === undefined) this.say(`${one.name} is not shown at ${path} and has stats`);
      return;
    }
    if (code === 'CANCELLED' || code === 'DEAD') return;
    if (code !== 'NOT_FOUND' || shown === 'yes')
      this.say(`${one.name}: stats: ${code}: ${message}`);
  }

  #list({ code, ids = [], message }: Ending): void {
    if (code === 'CANCELLED' || code === 'DEAD') return;
    if (code !== 'OK') this.say(`list: ${code}: ${message}`);
    const volumes = this.all('volume');
    for (const { state, id, name } of volumes) {
      const isListed = id !== undefined && ids.includes(id);
      if (state === 'present' && !isListed) this.say(`${name} is there and not listed`);
      if (state === 'absent' && isListed) this.say(`${name} is gone and listed`);
    }
    const doubts = volumes.filter(({ state }) => state === 'doubt').length;
    const strangers = ids.filter((id) => !volumes.some((one) => one.id === id));
    if (strangers.length > doubts) this.say(`listed, and nobody's: ${strangers.join(' ')}`);
  }

  #get(kind: Known['kind'], name: string): Known {
    const key = `${kind} ${name}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const fresh: Known = {
      ...{ kind, name, state: 'absent', id: undefined, sizeBytes: 0n, made: undefined },
      shown: new Map(),
    };
    this.#known.set(key, fresh);
    return fresh;
  }
}

function textOf(made: Known['made']): string {
  return JSON.stringify(made?.wire?.request, (_key, value: unknown) => {
    if (typeof value === 'bigint') return String(value);
    return value instanceof Map ? [...value] : value;
  });
}

/** A snapshot may have overflowed since. */
function isTroubled(one: Known, code: string): boolean {
  return one.kind === 'snapshot' && code === 'FAILED_PRECONDITION';
}

const creationCodes = new Set([
  ...['ALREADY_EXISTS', 'RESOURCE_EXHAUSTED', 'NOT_FOUND', 'OUT_OF_RANGE', 'INVALID_ARGUMENT'],
  ...['FAILED_PRECONDITION', 'ABORTED'],
]);
const expansionCodes = new Set(['NOT_FOUND', 'OUT_OF_RANGE', 'FAILED_PRECONDITION', 'ABORTED']);
const publicationCodes = new Set([
  ...['NOT_FOUND', 'ALREADY_EXISTS', 'FAILED_PRECONDITION', 'ABORTED', 'INVALID_ARGUMENT'],
]);
