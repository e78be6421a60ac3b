import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Guest, MiB, startLab } from '../../lab/index.ts';
import { Chance } from '../world/chance.ts';
import { type Use, unparted, uses } from './device-uses.ts';
import { Remote } from './remote.ts';

const rounds = 2;
const disks = uses.map((_, index) => ({ name: `d${index}`, sizeBytes: 320n * MiB }));
const seed = Number(process.env['QUARRY_SEED'] ?? '1');

/** Real disks in all the ways in which somebody may have them, shuffled anew in each round. */
describe('no device that somebody uses is taken, wiped or called free', {
  timeout: 1_200_000,
}, () => {
  test(`${uses.length} disks, each used in another way`, async (t) => {
    const lab = await startLab({ guests: [{ name: 'n1', disks }] });
    t.after(() => lab.stop());
    const guest = lab.guest('n1');
    const chance = new Chance(seed);
    const paths = await Promise.all(disks.map(({ name }) => guest.devicePath(name)));
    for (let round = 0; round < rounds; round += 1) {
      const arranged = chance
        .shuffle(uses)
        .map((use, index) => ({ use, path: paths[index] ?? '' }));
      for (const one of arranged) await arrange(guest, one);
      const remote = new Remote(guest);
      try {
        await takesWhatIsFree(guest, remote, arranged);
        await wipesNothingInUse(guest, remote, arranged);
      } finally {
        await remote.close();
      }
      for (const one of arranged) await clear(guest, one);
    }
    t.diagnostic(`${rounds} rounds with the seed ${seed}, ${uses.length} uses in each`);
  });
});

type Arranged = { readonly use: Use; readonly path: string };

async function arrange(guest: Guest, { use, path }: Arranged): Promise<void> {
  const name = path.slice('/dev/'.length);
  await guest.sh(`set -e; d=${path}; n=${name}; ${use.begin}; udevadm settle`).catch((cause) => {
    throw new Error(`${use.name} on ${path}: ${String(cause)}`, { cause });
  });
}

function deviceOf({ use: { device = '$d' }, path }: Arranged): string {
  return device.replace('$d', path);
}

async function clear(guest: Guest, { use, path }: Arranged): Promise<void> {
  const name = path.slice('/dev/'.length);
  const end = `d=${path}; n=${name}; ${use.end ?? ':'}`;
  // Partitions first: they vanish with the table on their disk.
  await guest.sh(`set -e; ${end}
    for one in ${path}?* ${path}; do
      [ ! -b $one ] || wipefs --all --force --quiet $one
    done
    [ ! -b ${path}1 ] || ${unparted}
    udevadm settle`);
}

/** A group that takes any device has all that are free, and nothing else has changed. */
async function takesWhatIsFree(guest: Guest, remote: Remote, arranged: readonly Arranged[]) {
  const node = { volumeGroups: [{ name: 'vg', devices: 'any' }], deviceClasses: [] };
  const left = arranged.filter(({ use }) => use.kind !== 'free');
  const before = await fingerprints(guest, left);
  await remote.must({ op: 'apply', node });
  const free = arranged.filter(({ use }) => use.kind === 'free');
  const expected = free.map(deviceOf).toSorted();
  assert.deepEqual(await devicesOf(guest, 'vg'), expected, describeAll(arranged));
  assert.deepEqual(await fingerprints(guest, left), before);
  await remote.must({ op: 'remove-vg', node });
}

/** The same where everything may be wiped: whoever uses a device still has it as it was. */
async function wipesNothingInUse(guest: Guest, remote: Remote, arranged: readonly Arranged[]) {
  const inUse = arranged.filter(({ use }) => use.kind === 'in use');
  const optionalPaths = inUse.map(({ path }) => path);
  const devices = { optionalPaths, forceWipe: true };
  const node = { volumeGroups: [{ name: 'vg', devices }], deviceClasses: [] };
  const before = await fingerprints(guest, inUse);
  const { ran } = await remote.ask({ op: 'apply', node });
  const changes = ran.filter(({ effect }) => effect === 'changes');
  assert.deepEqual(
    changes.map(({ argv }) => argv.join(' ')),
    [],
    describeAll(inUse),
  );
  assert.deepEqual(await devicesOf(guest, 'vg'), []);
  assert.deepEqual(await fingerprints(guest, inUse), before);
}

function describeAll(arranged: readonly Arranged[]): string {
  return arranged.map(({ use, path }) => `${path}: ${use.name}`).join('; ');
}

async function devicesOf(guest: Guest, group: string): Promise<readonly string[]> {
  const words = `lvm pvs --noheadings --options pv_name --select vg_name=${group}`;
  const lines = (await guest.sh(words)).split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').toSorted();
}

/** Of the first and last MiB, where all signatures are, and of a MiB between. */
async function fingerprints(
  guest: Guest,
  arranged: readonly Arranged[],
): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for (const { use, path } of arranged) {
    const parts = [0, 8, 319].map(
      (at) => `dd if=${path} bs=1M skip=${at} count=1 iflag=direct status=none`,
    );
    const sum = await guest.sh(`sync; { ${parts.join('; ')}; } | sha1sum`);
    found[`${use.name} on ${path}`] = sum.trim();
  }
  return found;
}
