import type { Chance } from '../world/chance.ts';
import type { FaultRates } from '../world/faults.ts';
import type { StoryEvent } from './story.ts';

/**
 * What goes wrong only when several things meet within moments, and random events hardly ever do:
 * writes while a copy runs, a snapshot that overflows, a source that changes hands while snapshots
 * of it are taken, a process that dies between a mishap and its rescue.
 */
export type Drama = { readonly events: readonly StoryEvent[]; readonly rates: FaultRates };

type Play = (chance: Chance, className: string, startMs: number) => Drama;

export function dramaOf(chance: Chance, className: string): Drama {
  const play = chance.pick([copyRace, overflow, changingHands, deaths] as const);
  return play(chance, className, chance.between(20_000, 90_000));
}

const copyRace: Play = (chance, className, startMs) => {
  const events: StoryEvent[] = [
    { atMs: startMs, kind: 'create', name: 'x0', className, mib: 600 },
    { atMs: startMs + 20_000, kind: 'write', name: 'x0', mib: 20, at: 0.3 },
    { atMs: startMs + 20_001, kind: 'clone', name: 'x1', source: 'x0', mib: 600 },
  ];
  let atMs = startMs + 20_001;
  for (let round = 0; round < 6; round += 1) {
    atMs += chance.between(100, 2_500);
    events.push({ atMs, kind: 'write', name: 'x0', mib: 1, at: 0 });
    atMs += chance.between(1, 300);
    events.push({ atMs, kind: 'write', name: 'x0', mib: 1, at: 0.9 });
  }
  return { events, rates: {} };
};

const overflow: Play = (chance, className, startMs) => {
  const later = startMs + 20_000 + chance.between(0, 90_000);
  const events: StoryEvent[] = [
    { atMs: startMs, kind: 'create', name: 'x0', className, mib: 400 },
    { atMs: startMs + 9_000, kind: 'write', name: 'x0', mib: 1, at: 0 },
    { atMs: startMs + 10_000, kind: 'snapshot', name: 'x1', source: 'x0' },
    { atMs: later, kind: 'write', name: 'x0', mib: 150, at: 0 },
    { atMs: later + 1, kind: 'write', name: 'x0', mib: 150, at: 0.6 },
    { atMs: later + chance.between(1, 100_000), kind: 'clone', name: 'x2', source: 'x1', mib: 400 },
  ];
  return { events, rates: {} };
};

const changingHands: Play = (chance, className, startMs) => {
  const thenMs = startMs + 20_000;
  const events: StoryEvent[] = [
    { atMs: startMs, kind: 'create', name: 'x0', className, mib: 64 },
    { atMs: thenMs - 1, kind: 'write', name: 'x0', mib: 20, at: 0.3 },
  ];
  for (let index = 1; index <= 4; index += 1) {
    events.push({ atMs: thenMs, kind: 'snapshot', name: `x${index}`, source: 'x0' });
  }
  events.push({ atMs: thenMs + chance.between(1, 900), kind: 'admin-replace', name: 'x0' });
  // Names that change hands before anybody was told of the volume, which is then given up.
  for (let index = 5; index <= 8; index += 1) {
    const name = `x${index}`;
    const takenMs = thenMs + chance.between(50, 1_500);
    events.push({ atMs: thenMs, kind: 'create', name, className, mib: 8 });
    events.push({ atMs: takenMs, kind: 'admin-replace', name });
    events.push({ atMs: takenMs + chance.between(1, 300), kind: 'delete', name });
  }
  return { events, rates: {} };
};

const deaths: Play = (chance, className, startMs) => {
  const events: StoryEvent[] = [];
  for (let index = 0; index < 3; index += 1) {
    events.push({ atMs: startMs, kind: 'create', name: `x${index}`, className, mib: 8 });
  }
  let atMs = startMs + 15_000;
  for (let round = 1; round <= 8; round += 1) {
    atMs += chance.between(500, 8_000);
    const name = `x${chance.below(3)}`;
    events.push({ atMs, kind: 'expand', name, mib: 8 + 8 * round });
  }
  // Whatever fails after it mends it by the way: this one is the last.
  events.push({ atMs: atMs + 20_000, kind: 'death' });
  events.push({ atMs: atMs + 20_001, kind: 'expand', name: 'x0', mib: 200 });
  return { events, rates: { mishap: 0.2, killed: 0.1, crash: 0.1 } };
};

/**
 * All disks of a group are away, and one that nobody has used comes meanwhile. Without the power
 * cut what the kernel has of the group would keep lvm from making another one.
 */
export function lostGroup(chance: Chance, paths: readonly string[]): readonly StoryEvent[] {
  const [bare = '', ...taken] = paths;
  const awayMs = chance.between(300_000, 600_000);
  const event = (kind: 'pull' | 'insert', device: string, atMs: number) =>
    ({ atMs, kind, device }) as const;
  return [
    event('pull', bare, 0),
    ...taken.map((device) => event('pull', device, awayMs)),
    { atMs: awayMs + 500, kind: 'power', autoActivate: true },
    event('insert', bare, awayMs + 1_000),
    ...taken.map((device) => event('insert', device, awayMs + 200_000)),
  ];
}
