import { lvmdTextFor, type ServedGroup } from '../api/lvm-cluster/lvmd-text.ts';
import { decodeLvmdFile } from '../api/lvmd-file/decode.ts';
import { type Finding, showFinding } from '../api/lvmd-file/findings.ts';
import type { Log } from './log.ts';
import type { NodeFiles } from './node-files.ts';

type Classes = {
  readonly groups: readonly ServedGroup[];
  /** Classes that came from an LVMCluster: of those, the ones without a group are taken out. */
  readonly owned: readonly string[];
};

/**
 * Why lvmd.yaml does not say of a class what it should, by its name. One that shall go is in it
 * only while it stands in the file. '' has what keeps all of the file as it is.
 */
export type Unserved = ReadonlyMap<string, string>;

/**
 * Writes lvmd.yaml so that these classes are served. A class that would make the file wrong is
 * left out alone: whoever waits for another one has nothing to do with it.
 */
export async function serveClasses(
  files: NodeFiles,
  { groups, owned }: Classes,
  log: Log,
): Promise<Unserved> {
  const before = await files.readLvmd();
  const faults = faultsOf(before, { groups, owned });
  const sound = groups.filter(({ name }) => !faults.has(name));
  const after = lvmdTextFor(before, sound, owned);
  if (after.kind === 'unreadable') {
    const why = `lvmd.yaml is left as it is, because it cannot be read: ${after.message}`;
    return new Map([...faults, ...leftAsItIs(before, owned, why)]);
  }
  const { text } = after;
  if (text === undefined || text === before) return faults;
  const problems = problemsIn(text);
  if (problems.length > 0) {
    const wrong = problems.map(showFinding).join('; ');
    const why = `lvmd.yaml is left as it is, because with these classes it would be wrong: \
${wrong}`;
    return new Map([...faults, ...leftAsItIs(before, owned, why)]);
  }
  await files.writeLvmd(text, before);
  const classes = sound.map(({ name }) => name);
  log({ level: 'info', message: 'lvmd.yaml was written', classes });
  return faults;
}

/** Of our classes, those that the file is wrong with, and what is wrong with each. */
function faultsOf(before: string | undefined, { groups, owned }: Classes): Unserved {
  const wanted = lvmdTextFor(before, groups, owned);
  if (wanted.kind === 'unreadable' || wanted.text === undefined || wanted.text === before) {
    return new Map();
  }
  const problems = problemsIn(wanted.text);
  const faults = new Map<string, string>();
  for (const { name } of groups) {
    const own = problems.filter((problem) => wanted.classes[placeOf(problem)] === name);
    if (own.length === 0) continue;
    const where = isIn(before, name) ? 'stays as it was in' : 'is left out of';
    const wrong = own.map(showFinding).join('; ');
    const why = `${name} ${where} lvmd.yaml, because with this class it would be wrong: ${wrong}`;
    faults.set(name, why);
  }
  return faults;
}

function problemsIn(text: string): readonly Finding[] {
  const decoded = decodeLvmdFile({ file: 'lvmd.yaml', text, mayBeEmpty: true });
  return decoded.kind === 'problems' ? decoded.problems : [];
}

/** Where in the list the class is that it is about. */
function placeOf({ field }: Finding): number {
  return Number(/^device-?classes\[(\d+)\]/i.exec(field)?.[1] ?? -1);
}

/** Nothing is taken out either: what is in there is served. */
function leftAsItIs(
  before: string | undefined,
  owned: readonly string[],
  why: string,
): readonly (readonly [string, string])[] {
  const staying = owned.filter((name) => isIn(before, name));
  return ['', ...staying].map((name) => [name, why]);
}

/** In a file that cannot be read it may be. */
function isIn(text: string | undefined, name: string): boolean {
  const without = lvmdTextFor(text, [], [name]);
  return without.kind === 'unreadable' || without.text !== text;
}
