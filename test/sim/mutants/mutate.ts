import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mutants } from './list.ts';

/** Loaded before everything else: changes the text of the sources of one mutant as they load. */
const root = join(import.meta.dirname, '../../..');
const mutant = mutants[Number(process.env['QUARRY_MUTANT'])];
const left = new Set(mutant?.edits ?? []);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (mutant === undefined || !url.startsWith('file:') || loaded.source === undefined)
      return loaded;
    const path = fileURLToPath(url);
    let text = Buffer.from(loaded.source as Uint8Array).toString('utf8');
    for (const edit of mutant.edits) {
      if (path !== join(root, edit.file)) continue;
      const parts = text.split(edit.find);
      if (parts.length !== 2) throw new Error(`"${edit.find}" must stand once in ${edit.file}`);
      text = parts.join(edit.replace);
      left.delete(edit);
    }
    return { ...loaded, source: text };
  },
});

/** For the one who runs it: an edit of a file that was never loaded proves nothing. */
export function unusedEdits(): readonly string[] {
  return [...left].map((edit) => edit.file);
}
