import type { Command } from '../../src/lvm/command.ts';
import type { Chance } from './chance.ts';

/** Ways a changing command can end half done. Each is something LVM really leaves behind. */
export type Mishap =
  /** pvcreate is done, the group is not made: orphans are left. */
  | 'dies-after-labels'
  /** The metadata is written, the kernel refused: the volume is there, but inactive. */
  | 'activation-fails'
  /** A thin pool or a CoW snapshot begins as a plain volume with its name and tags: just that. */
  | 'left-plain'
  /** And the spare copy of a pool's metadata as one without name or tags: just that. */
  | 'left-unnamed'
  /** The metadata has the new size, the kernel still has the old one. */
  | 'stale-table'
  /** pvmove was killed while it copied: the move is begun and waits for the next pvmove. */
  | 'left-moving'
  /** Killed between suspend and resume: all I/O of the volume hangs until it is resumed. */
  | 'left-suspended'
  /** mkfs was killed half-way: only that of XFS leaves what a probe would know. */
  | 'half-formatted';

/** What can go wrong with one command. */
export type Fault =
  | { readonly kind: 'slow'; readonly ms: number }
  /** Ends with an error, nothing was done. */
  | { readonly kind: 'fail'; readonly exitCode?: number; readonly stderr?: string }
  /** Done in part, then an error. */
  | { readonly kind: 'mishap'; readonly mishap: Mishap }
  /** A signal ends it, before or after its effect. */
  | { readonly kind: 'killed'; readonly when: 'before' | 'after'; readonly mishap?: Mishap }
  | { readonly kind: 'locked' }
  /** There is no such program on this machine. */
  | { readonly kind: 'absent' }
  /** A report that is cut off, or that is no report at all. */
  | { readonly kind: 'garbage'; readonly stdout?: string }
  /** Never ends by itself: a disk that does not answer. `Faults.release` lets it go on. */
  | { readonly kind: 'hang' }
  /** Our own process dies; what it started goes on. */
  | { readonly kind: 'crash'; readonly when: 'before' | 'during' | 'after' };

export type FaultKind = Fault['kind'];

/** A word of the argv, a pattern for all of it, or any test. */
export type Matcher = string | RegExp | ((command: Command) => boolean);

type Rule = { readonly matches: Matcher; readonly fault: Fault; left: number };

/** How likely each kind is for each command. */
export type FaultRates = { readonly [kind in FaultKind]?: number };

export class Faults {
  readonly #chance: Chance;
  readonly #rules: Rule[] = [];
  #rates: FaultRates = {};
  #waiting: (() => void)[] = [];

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  /** The next commands that match meet the fault; the answer takes the rule back. */
  next(matches: Matcher, fault: Fault, times = 1): () => void {
    const rule = { matches, fault, left: times };
    this.#rules.push(rule);
    return () => {
      rule.left = 0;
    };
  }

  always(matches: Matcher, fault: Fault): () => void {
    return this.next(matches, fault, Number.POSITIVE_INFINITY);
  }

  /** From now on commands fail at random; `{}` ends it. */
  rates(rates: FaultRates): void {
    this.#rates = rates;
  }

  /** No more faults of any kind, and whatever hangs goes on. */
  stop(): void {
    this.#rules.length = 0;
    this.#rates = {};
    this.release();
  }

  /** Lets every command go on that hangs. */
  release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const go of waiting) go();
  }

  whenReleased(go: () => void): void {
    this.#waiting.push(go);
  }

  /** What the command meets: what a rule says, else what chance says, most often nothing. */
  draw(command: Command): Fault | undefined {
    const rule = this.#rules.find((r) => r.left > 0 && isMatch(r.matches, command));
    if (rule !== undefined) {
      rule.left -= 1;
      return rule.fault;
    }
    for (const [kind, rate] of Object.entries(this.#rates) as [FaultKind, number][]) {
      if (this.#chance.happens(rate)) {
        const fault = this.#randomFault(kind, command);
        if (fault !== undefined) return fault;
      }
    }
    return undefined;
  }

  #randomFault(kind: FaultKind, command: Command): Fault | undefined {
    const changes = command.effect === 'changes';
    switch (kind) {
      case 'slow':
        return { kind, ms: this.#chance.between(1_000, 180_000) };
      case 'fail':
        return { kind };
      case 'mishap': {
        const mishap = this.#mishapFor(command);
        return mishap === undefined ? undefined : { kind, mishap };
      }
      case 'killed': {
        const mishap = this.#mishapFor(command);
        const when = this.#chance.happens(0.5) ? 'before' : 'after';
        return mishap === undefined ? { kind, when } : { kind, when, mishap };
      }
      case 'locked':
        return command.argv[0] === 'lvm' && changes ? { kind } : undefined;
      case 'absent':
        return { kind };
      case 'garbage':
        return changes ? undefined : { kind };
      case 'hang':
        return changes ? undefined : { kind };
      case 'crash':
        return { kind, when: this.#chance.pick(['before', 'during', 'after']) };
    }
  }

  #mishapFor({ argv }: Command): Mishap | undefined {
    switch (argv[1]) {
      case 'vgcreate':
      case 'vgextend':
        return 'dies-after-labels';
      case 'lvcreate':
        if (argv.includes('thin-pool')) return this.#chance.pick(['left-plain', 'left-unnamed']);
        return isCow(argv) ? 'left-plain' : 'activation-fails';
      case 'lvchange':
        if (argv.includes('--refresh')) return 'left-suspended';
        return argv.includes('--activate') ? 'activation-fails' : undefined;
      case 'lvextend':
        return this.#chance.happens(0.5) ? 'left-suspended' : 'stale-table';
      case 'lvremove':
        return 'left-suspended';
      case 'pvmove':
        return 'left-moving';
      default:
        return undefined;
    }
  }
}

function isCow(argv: readonly string[]): boolean {
  return argv.includes('--snapshot') && argv.includes('--size');
}

function isMatch(matcher: Matcher, command: Command): boolean {
  if (typeof matcher === 'string') return command.argv.includes(matcher);
  if (typeof matcher === 'function') return matcher(command);
  return matcher.test(command.argv.join(' '));
}
