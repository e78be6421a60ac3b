import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clusterMutants } from './cluster-mutants-list.ts';

/** Loaded before everything else: changes the text of one source as it loads. */
const root = join(import.meta.dirname, '../..');
const [edit] = clusterMutants[Number(process.env['QUARRY_MUTANT'])]?.edits ?? [];

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (edit === undefined || !url.startsWith('file:') || loaded.source === undefined) {
      return loaded;
    }
    if (fileURLToPath(url) !== join(root, edit.file)) return loaded;
    const text = Buffer.from(loaded.source as Uint8Array).toString('utf8');
    return { ...loaded, source: text.split(edit.find).join(edit.replace) };
  },
});
