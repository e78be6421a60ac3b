import assert from 'node:assert/strict';
import type { Snapshots } from './snapshots.ts';
import type { E2eStage } from './stage.ts';

type FsType = 'xfs' | 'btrfs';
const deviceClasses = ['thin', 'thick'] as const;
const size = '320Mi';
const larger = '400Mi';

/**
 * What was restored, as large as it was and larger, and what was cloned, beside their source on one
 * node: who writes to one of them changes none of the others.
 */
export async function areTheirOwn(
  stage: E2eStage,
  snapshots: Snapshots,
  fsType: FsType,
): Promise<void> {
  for (const deviceClass of deviceClasses) {
    await stage.storageClass(`${fsType}-${deviceClass}`, { deviceClass, fsType });
  }
  const families = deviceClasses.map((deviceClass) => familyOf(`${fsType}-${deviceClass}`));
  const sources = families.map(({ source }) => source);
  for (const source of sources) await stage.claim(source, { className: source, size });
  const origin = `${fsType}-origin`;
  await stage.pod(origin, sources, 'n1');
  for (const name of sources) await write(stage, origin, name, 'monday');
  for (const name of sources) await snapshots.take(name, name);
  for (const name of sources) await write(stage, origin, name, 'tuesday');
  for (const family of families) await copy(stage, snapshots, family);
  const copies = families.flatMap(({ equal, more, clone }) => [equal, more, clone]);
  const reader = `${fsType}-copies`;
  await stage.pod(reader, copies, 'n1');
  for (const { source, equal, more, clone } of families) {
    assert.deepEqual(await read(stage, reader, [equal, more]), ['monday', 'monday']);
    assert.deepEqual(await read(stage, reader, [clone]), ['tuesday']);
    const mounts = await stage.exec(reader, `grep " /data/" /proc/mounts`);
    const count = mounts.split('\n').filter((line) => line.includes(` ${fsType} `)).length;
    assert.equal(count, copies.length, mounts);
    for (const name of [equal, more, clone]) await write(stage, reader, name, `into ${name}`);
    assert.deepEqual(await read(stage, origin, [source]), ['tuesday']);
    await write(stage, origin, source, 'friday');
    const own = [equal, more, clone].map((name) => `into ${name}`);
    assert.deepEqual(await read(stage, reader, [equal, more, clone]), own);
  }
  await stage.auditBeside();
  await withoutOrigin(stage, snapshots, { origin, sources, reader, copies });
  await stage.remove('storageclass', ...sources);
}

type Family = Readonly<Record<'source' | 'equal' | 'more' | 'clone', string>>;

function familyOf(source: string): Family {
  return { source, equal: `${source}-equal`, more: `${source}-more`, clone: `${source}-clone` };
}

async function copy(stage: E2eStage, snapshots: Snapshots, family: Family): Promise<void> {
  const { source: className, equal, more, clone } = family;
  const dataSource = snapshots.source(className);
  await stage.claim(equal, { className, size, dataSource });
  await stage.claim(more, { className, size: larger, dataSource });
  const ofClaim = { kind: 'PersistentVolumeClaim', name: className };
  await stage.claim(clone, { className, size, dataSource: ofClaim });
}

type Left = {
  readonly origin: string;
  readonly reader: string;
  readonly sources: readonly string[];
  readonly copies: readonly string[];
};

/** Copies need nothing of what they were made from, and are mounted anew. */
async function withoutOrigin(
  stage: E2eStage,
  snapshots: Snapshots,
  { origin, sources, reader, copies }: Left,
): Promise<void> {
  await stage.remove('pod', origin, reader);
  await snapshots.remove(...sources);
  await stage.remove('pvc', ...sources);
  await stage.pod(reader, copies, 'n1');
  const own = copies.map((name) => `into ${name}`);
  assert.deepEqual(await read(stage, reader, copies), own);
  await stage.remove('pod', reader);
  await stage.remove('pvc', ...copies);
}

async function write(stage: E2eStage, pod: string, claim: string, word: string): Promise<void> {
  const file = `/data/${claim}/word`;
  await stage.exec(pod, `echo '${word}' > ${file} && sync`);
}

async function read(
  stage: E2eStage,
  pod: string,
  claims: readonly string[],
): Promise<readonly string[]> {
  const files = claims.map((claim) => `/data/${claim}/word`);
  return (await stage.exec(pod, `cat ${files.join(' ')}`)).trim().split('\n');
}
