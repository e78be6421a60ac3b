import { dmName } from '../../src/api/lv-name.ts';
import { bytes } from '../../src/base/bytes.ts';
import type { Layout } from '../../src/core/layouts.ts';
import type {
  ObservedDevice,
  ObservedHost,
  ObservedLv,
  ObservedVg,
} from '../../src/core/observed.ts';
import { permitFor } from '../../src/core/permit.ts';
import type { ChangeTags, Step } from '../../src/core/step.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';
import { commandOfAll, commandsOf } from '../../src/lvm/argv.ts';
import type { Command } from '../../src/lvm/command.ts';
import type { Chance } from './chance.ts';

/**
 * Random things to do to LVM, the same for the fake and the real one: they are chosen from what
 * a look showed, never from identities, so two hosts that agree are asked the same questions.
 */
export type Move =
  | { readonly kind: 'step'; readonly step: Step }
  | { readonly kind: 'retag'; readonly steps: readonly [ChangeTags, ...ChangeTags[]] }
  | { readonly kind: 'write'; readonly lv: Target; readonly megabytes: number; readonly at: number }
  | { readonly kind: 'deactivate'; readonly lv: Target };

type Target = { readonly vg: string; readonly lv: string };

export function commandsOfMove(move: Move): readonly Command[] {
  switch (move.kind) {
    case 'step':
      return commandsOf(move.step);
    case 'retag':
      return [commandOfAll(move.steps)];
    case 'deactivate':
      return [change(['lvm', 'lvchange', '--activate', 'n', `${move.lv.vg}/${move.lv.lv}`])];
    case 'write':
      return [
        change([
          'dd',
          'if=/dev/zero',
          `of=/dev/mapper/${dmName(move.lv.vg, move.lv.lv)}`,
          'bs=1M',
          'oflag=direct',
          `seek=${move.at}`,
          `count=${move.megabytes}`,
          'conv=nocreat,notrunc,fsync',
          'status=none',
        ]),
      ];
  }
}

function change(argv: Command['argv']): Command {
  return { argv, effect: 'changes', timeoutMs: 120_000 };
}

const mib = 1024n ** 2n;
const metadataBytes = bytes(16n * mib);

/**
 * The next thing to do. `devices` are the disks the sequence may use; sizes are multiplied by
 * `scale`, so that groups become full sooner.
 */
export function randomMove(
  chance: Chance,
  host: ObservedHost,
  devices: readonly string[],
  scale = 1,
): Move {
  for (;;) {
    const maker = weighted(chance);
    const move = maker({ chance, host, devices, scale });
    if (move !== undefined) return move;
  }
}

type View = {
  readonly chance: Chance;
  readonly host: ObservedHost;
  readonly devices: readonly string[];
  readonly scale: number;
};
type Maker = (view: View) => Move | undefined;

const makers: readonly (readonly [number, Maker])[] = [
  [30, createLv],
  [8, createPool],
  [16, createThin],
  [8, createThinSnapshot],
  [8, createCowSnapshot],
  [16, extendLv],
  [4, extendPoolMetadata],
  [14, removeLv],
  [6, changeTags],
  [4, retagSeveral],
  [5, write],
  [3, deactivate],
  [4, activate],
  [3, extendVg],
  [1, evacuatePv],
  [2, reduceVg],
  [1, removePv],
  [1, removeVg],
  [2, createVg],
];
const total = makers.reduce((sum, [weight]) => sum + weight, 0);

function weighted(chance: Chance): Maker {
  let left = chance.below(total);
  for (const [weight, maker] of makers) {
    if (left < weight) return maker;
    left -= weight;
  }
  return createLv;
}

function createVg({ chance, host, devices }: View): Move | undefined {
  const free = freeDevices(host, devices);
  if (host.vgs.length >= 2 || free.length === 0) return undefined;
  const vg = host.vgs.some(({ name }) => name === 'vg1') ? 'vg2' : 'vg1';
  const count = Math.min(free.length, vg === 'vg1' ? chance.between(2, 5) : chance.between(1, 2));
  const taken = chance.shuffle(free).slice(0, count);
  return step({ kind: 'create-vg', vg, devices: taken, tags: ['lvms'], metadataBytes });
}

function extendVg({ chance, host, devices }: View): Move | undefined {
  const vg = anyVg(chance, host);
  const device = chance.pick(freeDevices(host, devices));
  if (vg === undefined || device === undefined) return undefined;
  return step({ kind: 'extend-vg', ...ofVg(vg), devices: [device], metadataBytes });
}

function createLv({ chance, host, scale }: View): Move | undefined {
  const vg = anyVg(chance, host);
  if (vg === undefined) return undefined;
  return step({
    kind: 'create-lv',
    ...ofVg(vg),
    lv: chance.happens(0.9) ? freshName(chance, vg, 'v') : `v${chance.below(20)}`,
    layout: randomLayout(chance),
    sizeBytes: randomSize(chance, scale),
    tags: ['quarry', 'quarry.pending'],
    options: [],
  });
}

function randomLayout(chance: Chance): Layout {
  const stripes = chance.between(2, 3);
  const layout = chance.pick<Layout>([
    { kind: 'linear' },
    { kind: 'linear' },
    { kind: 'linear' },
    { kind: 'striped', stripes: chance.between(1, 3) },
    { kind: 'striped', stripes, stripeSizeBytes: 131_072n },
    { kind: 'raid1', mirrors: chance.between(1, 2) },
    { kind: 'raid5', stripes },
    { kind: 'raid4', stripes: 2 },
    { kind: 'raid6', stripes: 3 },
    { kind: 'raid10', stripes: 2, mirrors: 1 },
  ]);
  return layout;
}

function createPool({ chance, host, scale }: View): Move | undefined {
  const vg = anyVg(chance, host);
  if (vg === undefined || poolsOf(vg).length >= 3) return undefined;
  return step({
    kind: 'create-thin-pool',
    ...ofVg(vg),
    pool: freshName(chance, vg, 'p'),
    sizeBytes: randomSize(chance, scale),
    chunkSizeBytes: bytes(chance.pick([65_536n, 131_072n, 262_144n])),
    metadataBytes: bytes(chance.pick([4n, 8n, 12n, 16n]) * mib),
    tags: ['quarry'],
  });
}

function createThin({ chance, host, scale }: View): Move | undefined {
  const vg = anyVg(chance, host);
  if (vg === undefined) return undefined;
  const pool = chance.pick(poolsOf(vg))?.name ?? (chance.happens(0.05) ? 'nopool' : undefined);
  if (pool === undefined) return undefined;
  return step({
    kind: 'create-lv',
    ...ofVg(vg),
    lv: freshName(chance, vg, 't'),
    layout: { kind: 'thin', pool },
    sizeBytes: randomSize(chance, scale),
    tags: ['quarry'],
    options: [],
  });
}

function createThinSnapshot({ chance, host }: View): Move | undefined {
  const vg = anyVg(chance, host);
  const origin = chance.pick(lvsOf(vg).filter((lv) => lv.kind === 'thin'));
  if (vg === undefined || origin === undefined) return undefined;
  return step({
    kind: 'create-thin-snapshot',
    ...ofVg(vg),
    lv: freshName(chance, vg, 's'),
    origin: origin.name,
    originUuid: origin.uuid,
    isReadOnly: chance.happens(0.5),
    tags: ['quarry'],
  });
}

function createCowSnapshot({ chance, host, scale }: View): Move | undefined {
  const vg = anyVg(chance, host);
  const origin = chance.pick(lvsOf(vg));
  if (vg === undefined || origin === undefined) return undefined;
  return step({
    kind: 'create-cow-snapshot',
    ...ofVg(vg),
    lv: freshName(chance, vg, 's'),
    origin: origin.name,
    originUuid: origin.uuid,
    reserveBytes: randomSize(chance, scale),
    tags: ['quarry'],
  });
}

function extendLv({ chance, host, scale }: View): Move | undefined {
  const vg = anyVg(chance, host);
  const lv = chance.pick(lvsOf(vg));
  if (vg === undefined || lv === undefined) return undefined;
  const more = chance.happens(0.1) ? bytes(0n) : randomSize(chance, scale);
  const less = chance.happens(0.05);
  const sizeBytes = bytes(less ? randomSize(chance, scale) : lv.ownSizeBytes + more);
  return step({ kind: 'extend-lv', ...ofVg(vg), lv: lv.name, lvUuid: lv.uuid, sizeBytes });
}

function extendPoolMetadata({ chance, host }: View): Move | undefined {
  const vg = anyVg(chance, host);
  const pool = chance.pick(lvsOf(vg).filter((lv) => lv.kind === 'thin-pool'));
  if (vg === undefined || pool === undefined) return undefined;
  const more = chance.pick([-4n, 0n, 4n, 4n, 8n, 40n]) * mib;
  return step({
    kind: 'extend-thin-pool-metadata',
    ...ofVg(vg),
    lv: pool.name,
    lvUuid: pool.uuid,
    metadataBytes: bytes((pool.metadataSizeBytes ?? 0n) + more),
  });
}

function removeLv({ chance, host }: View): Move | undefined {
  const vg = anyVg(chance, host);
  const lv = chance.pick(lvsOf(vg));
  if (vg === undefined || lv === undefined) return undefined;
  const permit = permitFor({ deed: 'remove-lv', vg: withoutOthers(vg, lv), lv });
  if (isBlocked(permit)) return undefined;
  const dependents = lv.kind === 'thin-pool' ? 'thin-volumes' : 'cow-snapshots';
  const target = { lv: lv.name, lvUuid: lv.uuid, dependents } as const;
  return step({ kind: 'remove-lv', ...ofVg(vg), ...target, permit });
}

/** So that removing a volume with snapshots is tried as well: lvm's own guard is compared. */
function withoutOthers(vg: ObservedVg, lv: ObservedLv): ObservedVg {
  return { ...vg, lvs: [lv] };
}

function changeTags({ chance, host }: View): Move | undefined {
  const vg = anyVg(chance, host);
  const lv = chance.pick(lvsOf(vg));
  if (vg === undefined || lv === undefined) return undefined;
  const uuid = chance.happens(0.1) ? 'zzzzzz-zzzz-zzzz-zzzz-zzzz-zzzz-zzzzzz' : lv.uuid;
  const add = [`b.tag=${chance.below(3)}`, 'a+tag'];
  const remove = chance.happens(0.5) ? ['quarry.pending'] : [];
  return step({ kind: 'change-tags', ...ofVg(vg), lv: lv.name, lvUuid: uuid, add, remove });
}

/** Of one that is not there lvm complains, and one that is another by now is left as it is. */
function retagSeveral({ chance, host }: View): Move | undefined {
  const vg = anyVg(chance, host);
  if (vg === undefined) return undefined;
  const steps = chance
    .shuffle(lvsOf(vg))
    .slice(0, chance.between(2, 4))
    .map((lv): ChangeTags => {
      const lvUuid = chance.happens(0.2) ? 'zzzzzz-zzzz-zzzz-zzzz-zzzz-zzzz-zzzzzz' : lv.uuid;
      const name = chance.happens(0.1) ? 'nothing' : lv.name;
      const tags = { add: ['c+tag'], remove: ['quarry.pending'] };
      return { kind: 'change-tags', ...ofVg(vg), lv: name, lvUuid, ...tags };
    });
  const [first, ...others] = steps;
  return first === undefined ? undefined : { kind: 'retag', steps: [first, ...others] };
}

function write({ chance, host }: View): Move | undefined {
  const vg = anyVg(chance, host);
  const lv = chance.pick(lvsOf(vg).filter((one) => one.kind !== 'thin-pool' && !one.isReadOnly));
  if (vg === undefined || lv === undefined || !lv.isActive || lv.isInvalid) return undefined;
  if (lv.isSuspended) return undefined;
  const room = roomToWrite(vg, lv);
  if (room < 1) return undefined;
  const megabytes = chance.between(1, Math.min(16, room));
  const at = chance.below(Math.max(1, Number(lv.sizeBytes / mib) - megabytes));
  return { kind: 'write', lv: { vg: vg.name, lv: lv.name }, megabytes, at };
}

/** A write that fills a pool hangs for a minute on a real host: it is left out. */
function roomToWrite(vg: ObservedVg, lv: ObservedLv): number {
  const size = Number(lv.sizeBytes / mib);
  if (lv.kind !== 'thin') return size;
  const pool = vg.lvs.find((one) => one.name === lv.pool);
  if (pool === undefined) return 0;
  const free = (Number(pool.sizeBytes / mib) * (100 - (pool.dataPercent ?? 100))) / 100;
  return Math.min(size, Math.floor(free) - 2);
}

function deactivate({ chance, host }: View): Move | undefined {
  const vg = anyVg(chance, host);
  const lv = chance.pick(lvsOf(vg));
  if (vg === undefined || lv === undefined) return undefined;
  return { kind: 'deactivate', lv: { vg: vg.name, lv: lv.name } };
}

function activate({ chance, host }: View): Move | undefined {
  const vg = anyVg(chance, host);
  const lv = chance.pick(lvsOf(vg));
  if (vg === undefined || lv === undefined) return undefined;
  return step({ kind: 'activate-lv', ...ofVg(vg), lv: lv.name, lvUuid: lv.uuid });
}

function evacuatePv({ chance, host }: View): Move | undefined {
  const vg = anyVg(chance, host);
  const pv = chance.pick(pvsOf(vg));
  if (vg === undefined || pv === undefined) return undefined;
  return step({ kind: 'evacuate-pv', ...ofVg(vg), device: pv.device, pvUuid: pv.uuid });
}

function reduceVg({ chance, host }: View): Move | undefined {
  const vg = anyVg(chance, host);
  const pv = chance.pick(pvsOf(vg));
  if (vg === undefined || pv === undefined) return undefined;
  const empty = { ...pv, freeBytes: pv.sizeBytes };
  const permit = permitFor({ deed: 'reduce-vg', vg: { ...vg, pvs: [empty, empty] }, pv: empty });
  if (isBlocked(permit)) return undefined;
  return step({ kind: 'reduce-vg', ...ofVg(vg), device: pv.device, pvUuid: pv.uuid, permit });
}

function removePv({ chance, host }: View): Move | undefined {
  const pv = chance.pick(host.orphanPvs.toSorted((a, b) => (a.device < b.device ? -1 : 1)));
  if (pv === undefined) return undefined;
  const device = idleDisk(pv.device, pv.uuid);
  const permit = permitFor({ deed: 'remove-pv', pv, device });
  if (isBlocked(permit)) return undefined;
  return step({ kind: 'remove-pv', device: pv.device, pvUuid: pv.uuid, permit });
}

function idleDisk(path: string, pvUuid: string): ObservedDevice {
  return {
    path,
    number: '8:0',
    links: [],
    type: 'disk',
    sizeBytes: bytes(1024n * mib),
    model: '',
    serial: '',
    wwn: '',
    isReadOnly: false,
    isSuspended: false,
    mountPoints: [],
    isSwap: false,
    holders: [],
    emptied: undefined,
    partitionTable: '',
    partitionLabel: '',
    partitionType: '',
    fileSystem: 'LVM2_member',
    backingFile: '',
    signatures: { kind: 'found', types: ['LVM2_member'] },
    label: { kind: 'orphan', pvUuid },
    exclusiveOpen: 'free',
    users: [],
  };
}

function removeVg({ chance, host }: View): Move | undefined {
  const vg = anyVg(chance, host);
  if (vg === undefined) return undefined;
  const permit = permitFor({ deed: 'remove-vg', vg: { ...vg, lvs: [] }, tag: 'lvms' });
  if (isBlocked(permit)) return undefined;
  return step({ kind: 'remove-vg', ...ofVg(vg), permit });
}

function step(value: Step): Move {
  return { kind: 'step', step: value };
}

function ofVg(vg: ObservedVg) {
  return { vg: vg.name, vgUuid: vg.uuid };
}

function anyVg(chance: Chance, host: ObservedHost): ObservedVg | undefined {
  const vgs = host.vgs.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const [first] = vgs;
  return chance.happens(0.8) ? first : chance.pick(vgs);
}

function lvsOf(vg: ObservedVg | undefined): readonly ObservedLv[] {
  const lvs = (vg?.lvs ?? []).filter((lv) => !lv.isInternal);
  return lvs.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function poolsOf(vg: ObservedVg): readonly ObservedLv[] {
  return lvsOf(vg).filter((lv) => lv.kind === 'thin-pool');
}

function pvsOf(vg: ObservedVg | undefined) {
  return (vg?.pvs ?? []).toSorted((a, b) => (a.device < b.device ? -1 : 1));
}

function freeDevices(host: ObservedHost, devices: readonly string[]): readonly string[] {
  const taken = new Set(host.vgs.flatMap((vg) => vg.pvs.map((pv) => pv.device)));
  return devices.filter((device) => !taken.has(device));
}

function freshName(chance: Chance, vg: ObservedVg, letter: string): string {
  const taken = new Set(vg.lvs.map((lv) => lv.name));
  for (;;) {
    const name = `${letter}${chance.below(100)}`;
    if (!taken.has(name)) return name;
  }
}

/** Mostly small, sometimes large, rarely a whole number of extents. */
function randomSize(chance: Chance, scale: number) {
  const sectors = chance.happens(0.3)
    ? chance.between(1, 40) * 1024
    : chance.between(256, chance.happens(0.15) ? 200_000 : 30_000);
  return bytes(BigInt(Math.ceil(sectors * scale)) * 4096n);
}
