import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clusterMutants } from './cluster-mutants-list.ts';

/** Loaded before everything else: changes the text of sources as they load. */
const root = join(import.meta.dirname, '../..');
const edits = clusterMutants[Number(process.env['QUARRY_MUTANT'])]?.edits ?? [];

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.startsWith('file:') || loaded.source === undefined) return loaded;
    const path = fileURLToPath(url);
    const own = edits.filter(({ file }) => join(root, file) === path);
    if (own.length === 0) return loaded;
    const before = Buffer.from(loaded.source as Uint8Array).toString('utf8');
    const after = own.reduce((text, edit) => text.split(edit.find).join(edit.replace), before);
    return { ...loaded, source: after };
  },
});
