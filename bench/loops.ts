import { type Driver, runsBetween } from './driver.ts';
import { clocked, type LoopRow } from './figures.ts';
import type { Lvmd } from './lvmd.ts';
import { group, lvm, runBare, sizeBytes } from './peers.ts';

/** Long enough for the looks that the driver takes between changes. */
const chunk = 25;

type Serial = { readonly countOfEach: number; readonly stay: boolean };

/** Thick volumes made one after the other, some by us and some by bare lvcreates in turn. */
export async function measureSerial(
  driver: Driver,
  existing: number,
  { countOfEach, stay }: Serial,
): Promise<LoopRow> {
  const began = await driver.runs();
  const quarry = { count: countOfEach, ms: 0, restMs: 0 };
  const bare = { count: countOfEach, ms: 0 };
  const made: string[] = [];
  for (let from = 0; from < countOfEach; from += chunk) {
    const names = namesOf(`s${existing}-${from}`, Math.min(chunk, countOfEach - from));
    quarry.ms += await clocked(async () => {
      for (const name of names) made.push(await driver.create('thick', name, sizeBytes));
    });
    quarry.restMs += await driver.atRest();
    bare.ms += await clocked(async () => made.push(...(await bareCreates(names))));
  }
  const runs = runsBetween(began, await driver.runs());
  if (!stay) await removeAll(made);
  return { what: 'serial', existing, quarry, runs, bare };
}

type Parallel = { readonly count: number; readonly lvmd?: Lvmd };

/**
 * So many creates asked for at once, between the halves of as many bare lvcreates one after the
 * other, and then as many asked of lvmd at once. Each begins with the same volumes: nothing stays.
 */
export async function measureParallel(
  driver: Driver,
  existing: number,
  { count, lvmd }: Parallel,
): Promise<LoopRow> {
  const half = Math.ceil(count / 2);
  const first = await cleared(() => bareCreates(namesOf(`p${existing}`, half)));
  const before = await driver.runs();
  let restMs = 0;
  const quarryMs = await cleared(
    () =>
      Promise.all(
        namesOf(`q${existing}`, count).map((name) => driver.create('thick', name, sizeBytes)),
      ),
    async () => {
      restMs = await driver.atRest();
    },
  );
  const runs = runsBetween(before, await driver.runs());
  const second = await cleared(() => bareCreates(namesOf(`p${existing}`, count - half)));
  const theirs = namesOf(`r${existing}`, count);
  const lvmdMs =
    lvmd &&
    (await cleared(
      () => lvmdCreates(lvmd, theirs),
      () => lvmd.atRest(),
    ));
  return {
    ...{ what: 'parallel', existing, runs },
    quarry: { count, ms: quarryMs, restMs },
    bare: { count, ms: first + second },
    ...(lvmdMs === undefined ? {} : { lvmd: { count, ms: lvmdMs } }),
  };
}

/** How long it took to make them, before they are removed. */
async function cleared(
  make: () => Promise<readonly string[]>,
  rest: () => Promise<void> = () => Promise.resolve(),
): Promise<number> {
  let made: readonly string[] = [];
  const ms = await clocked(async () => {
    made = await make();
  });
  await rest();
  await removeAll(made);
  return ms;
}

async function bareCreates(names: readonly string[]): Promise<readonly string[]> {
  const made = names.map((name) => `bare-${name}`);
  for (const name of made) await runBare('thick', 'create', name);
  return made;
}

async function lvmdCreates(lvmd: Lvmd, names: readonly string[]): Promise<readonly string[]> {
  await Promise.all(names.map((name) => lvmd.run('thick', 'create', name)));
  return names;
}

async function removeAll(names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await lvm(['lvremove', '--yes', ...names.map((name) => `${group}/${name}`)]);
}

function namesOf(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}
