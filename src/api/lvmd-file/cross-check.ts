import type { PlacedClass } from './device-class.ts';

/** What no class can get wrong alone. Names that were refused already are passed over. */
export function crossCheck(classes: readonly PlacedClass[]): void {
  const names = new Map<string, PlacedClass>();
  const homes = new Map<string, PlacedClass>();
  let chosen: PlacedClass | undefined;
  for (const entry of classes) {
    const { spec, reader } = entry;
    const namesake = remember(names, spec.name, entry);
    if (namesake !== undefined) {
      const line = namesake.reader.lineOf('name');
      reader.refuse('name', `use each name once: the class on line ${line} has it already`);
    }
    const other = remember(homes, homeOf(entry), entry);
    if (other !== undefined) refuseHome(entry, other);
    if (spec.isDefault && chosen !== undefined) {
      const line = chosen.reader.lineOf('default');
      reader.refuse('default', `let at most one class be the default: see line ${line}`);
    }
    if (spec.isDefault) chosen ??= entry;
  }
}

/** The one that was there before, if any; the first one stays. */
function remember<T>(seen: Map<string, T>, key: string, entry: T): T | undefined {
  const first = seen.get(key);
  if (first === undefined && key !== '') seen.set(key, entry);
  return first;
}

/** Where volumes of the class lie: a group for thick ones, a pool for thin ones. */
function homeOf({ spec: { volumeGroup, target } }: PlacedClass): string {
  if (volumeGroup === '' || target.kind === 'thick') return volumeGroup;
  return target.poolName === '' ? '' : `${volumeGroup}/${target.poolName}`;
}

function refuseHome(entry: PlacedClass, other: PlacedClass): void {
  const line = other.reader.lineOf('volume-group');
  const isThin = entry.spec.target.kind === 'thin';
  const remedy = isThin
    ? `give each thin class a pool of its own: ${homeOf(entry)} has the class on line ${line}`
    : `give each thick class a volume group of its own: this one has the class on line ${line}`;
  const pool = isThin ? entry.reader.child('thin-pool') : undefined;
  if (pool === undefined) entry.reader.refuse('volume-group', remedy);
  else pool.refuse('name', remedy);
}
