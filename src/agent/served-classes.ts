import { lvmdTextFor, type ServedGroup } from '../api/lvm-cluster/lvmd-text.ts';
import { decodeLvmdFile } from '../api/lvmd-file/decode.ts';
import { showFinding } from '../api/lvmd-file/findings.ts';
import type { Log } from './log.ts';
import type { NodeFiles } from './node-files.ts';

type Classes = {
  readonly groups: readonly ServedGroup[];
  /** Classes that came from an LVMCluster: of those, the ones without a group are taken out. */
  readonly owned: readonly string[];
};

/** Writes lvmd.yaml so that these classes are served, or says why it is left as it is. */
export async function serveClasses(
  files: NodeFiles,
  { groups, owned }: Classes,
  log: Log,
): Promise<string | undefined> {
  const before = await files.readLvmd();
  const after = lvmdTextFor(before, groups, owned);
  if (after.kind === 'unreadable') {
    return `lvmd.yaml is left as it is, because it cannot be read: ${after.message}`;
  }
  const { text } = after;
  if (text === undefined || text === before) return undefined;
  const decoded = decodeLvmdFile({ file: 'lvmd.yaml', text, mayBeEmpty: true });
  if (decoded.kind === 'problems') {
    const why = decoded.problems.map(showFinding).join('; ');
    return `lvmd.yaml is left as it is, because with these classes it would be wrong: ${why}`;
  }
  await files.writeLvmd(text, before);
  const classes = groups.map(({ name }) => name);
  log({ level: 'info', message: 'lvmd.yaml was written', classes });
  return undefined;
}
