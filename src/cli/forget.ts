import { access } from 'node:fs/promises';
import { vgName } from '../api/node-file/decode.ts';
import { showList } from '../base/show.ts';
import { type KnownGroups, readKnownGroups, writeKnownGroups } from '../host/known-groups.ts';
import { UsageError } from './context.ts';

/**
 * The administrator's word that the disks of a group never come back. Of one that is known nowhere
 * here the cluster may tell still, so that is noted, too: what is returned says so.
 */
export async function forget(
  directory: string,
  names: readonly string[],
): Promise<string | undefined> {
  const [name, ...more] = names;
  if (name === undefined || more.length > 0) throw new UsageError('forget takes one group');
  if (!vgName.test(name)) throw new UsageError(`GROUP is ${JSON.stringify(name)}: name a group`);
  const known = await readKnownGroups(directory);
  const begun = await readKnownGroups(directory, 'begun.json');
  const forgotten = await readKnownGroups(directory, 'forgotten.json');
  const isKnown = [known, begun, forgotten].some((groups) => groups.has(name));
  const all = new Set([...known.keys(), ...begun.keys()]);
  const list = all.size === 0 ? 'none' : showList([...all]);
  // In a directory that no agent knows nobody would ever read it.
  if (!isKnown && !(await isThere(directory))) {
    const remedy = `there is no ${directory}: name the agent's with --state-dir`;
    throw new UsageError(`no volume group ${name} is known here (known: ${list}): ${remedy}`);
  }
  const identity = known.get(name) ?? forgotten.get(name) ?? '';
  // Before the rest: an agent that is at work may write of what it knew once more.
  await writeKnownGroups(directory, new Map([...forgotten, [name, identity]]), 'forgotten.json');
  const others = (groups: KnownGroups) => new Map([...groups].filter(([group]) => group !== name));
  if (known.has(name)) await writeKnownGroups(directory, others(known));
  if (begun.has(name)) await writeKnownGroups(directory, others(begun), 'begun.json');
  if (isKnown) return undefined;
  return `${name} was not known here (known: ${list}): if the cluster tells of it, it is given up`;
}

function isThere(directory: string): Promise<boolean> {
  return access(directory).then(
    () => true,
    () => false,
  );
}
