import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Driver, directory } from './driver.ts';
import { clocked, type NodeRow } from './figures.ts';

type Call = { readonly what: string; readonly call: () => Promise<unknown> };

const bytes = 64 * 1024 ** 2;

/** What a pod and kubelet ask for in the life of a thin volume, in order. Only ours is called. */
export function callsOf(driver: Driver, name: string): readonly Call[] {
  const ids = { fs: '', raw: '' };
  const path = (what: string) => join(directory, 'published', `${name}-${what}`);
  mkdirSync(join(directory, 'published'), { recursive: true });
  const publish = (what: 'fs' | 'raw') => driver.publish(ids[what], path(what), what === 'fs');
  const unpublish = (what: 'fs' | 'raw') => driver.unpublish(ids[what], path(what));
  const create = async (what: 'fs' | 'raw') => {
    ids[what] = await driver.create('thin', `${name}-${what}`, bytes, what === 'fs');
  };
  return [
    { what: '', call: () => create('fs') },
    { what: 'publish ext4, the first time', call: () => publish('fs') },
    { what: 'publish again at the same path', call: () => publish('fs') },
    { what: 'stats of a file system', call: () => driver.stats(ids.fs, path('fs')) },
    { what: 'unpublish ext4', call: () => unpublish('fs') },
    { what: 'publish ext4, later', call: () => publish('fs') },
    { what: '', call: () => unpublish('fs') },
    { what: '', call: () => driver.deleteVolume(ids.fs) },
    { what: '', call: () => create('raw') },
    { what: 'publish raw, the first time', call: () => publish('raw') },
    { what: 'stats of a raw volume', call: () => driver.stats(ids.raw, path('raw')) },
    { what: 'unpublish raw', call: () => unpublish('raw') },
    { what: 'publish raw, later', call: () => publish('raw') },
    { what: '', call: () => unpublish('raw') },
    { what: '', call: () => driver.deleteVolume(ids.raw) },
  ];
}

/** The times that belong to the counts; calls without a name only lead to the next one. */
export async function timeNodeCalls(
  driver: Driver,
  counted: readonly NodeRow[],
  rounds: number,
): Promise<readonly NodeRow[]> {
  const times = new Map<string, number[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const { what, call } of callsOf(driver, `node-${round}`)) {
      times.set(what, [...(times.get(what) ?? []), await clocked(call)]);
      if (what === '' || what.endsWith('first time')) await driver.atRest();
    }
  }
  return counted
    .filter(({ what }) => what !== '')
    .map((row) => ({ ...row, ms: times.get(row.what) ?? [] }));
}
