import {
  type Area,
  type Lv,
  type Pv,
  type Segment,
  type Strand,
  strandsOf,
  type Vg,
} from './model.ts';
import { parityOf } from './volumes.ts';

/**
 * A group's metadata as LVM writes it to its devices. Nothing reads it but its length counts: it
 * decides how much room is left, and when a group is full of volumes long before it is full of
 * data.
 */
export function metadataText(vg: Vg): string {
  const pvNames = new Map(vg.pvs.map((pv, index) => [pv, `pv${index}`]));
  const pvs = vg.pvs.map((pv, index) => pvText(pv, index));
  const lvs = lvTexts(vg, pvNames);
  return [
    `${vg.name} {\nid = "${vg.uuid}"\nseqno = ${vg.sequence}\nformat = "lvm2"\n`,
    'status = ["RESIZEABLE", "READ", "WRITE"]\nflags = []\n',
    tagsText(vg.tags),
    `extent_size = ${vg.extentBytes / 512}\nmax_lv = 0\nmax_pv = 0\nmetadata_copies = 0\n\n`,
    `physical_volumes {\n${pvs.join('')}}\n`,
    lvs.length === 0 ? '' : `\nlogical_volumes {\n${lvs.join('')}}\n`,
    '\n}\n',
    footer(vg.writtenBy),
  ].join('');
}

function pvText(pv: Pv, index: number): string {
  const status = pv.isAllocatable ? '"ALLOCATABLE"' : '';
  const flags = pv.isFlaggedMissing ? '"MISSING"' : '';
  return (
    `\npv${index} {\nid = "${pv.uuid}"\ndevice = "${pv.device}"\n\nstatus = [${status}]\n` +
    `flags = [${flags}]\n${tagsText(pv.tags)}dev_size = ${pv.deviceBytes / 512}\n` +
    `pe_start = ${(pv.metadataBytes + 4096) / 512}\npe_count = ${pv.extents}\n}\n`
  );
}

type PvNames = ReadonlyMap<Pv, string>;

function lvTexts(vg: Vg, names: PvNames): readonly string[] {
  const visible = vg.lvs.map((lv) => lvText(lv, names));
  const parts = vg.lvs.flatMap((lv) =>
    strandsOf(lv)
      .filter(({ suffix }) => suffix !== '')
      .map(({ suffix, strand }) => {
        // LVM leaves the tags of a RAID on its metadata parts, which it wiped as their own volume.
        const tags = suffix.startsWith('_rmeta') ? lv.tags : [];
        return hiddenText(`${lv.name}${suffix}`, strand, tags, names);
      }),
  );
  const spare = vg.spare === undefined ? [] : [hiddenText('lvol0_pmspare', vg.spare, [], names)];
  const links = vg.lvs.filter((lv) => lv.body.kind === 'cow').map(snapshotText);
  return [...visible, ...spare, ...parts, ...links];
}

function lvText(lv: Lv, names: PvNames): string {
  const rights = lv.isReadOnly ? '"READ"' : '"READ", "WRITE"';
  const status = lv.body.kind === 'cow' ? rights : `${rights}, "VISIBLE"`;
  const flags = lv.skipsActivation ? '"ACTIVATION_SKIP"' : '';
  const segments = bodyTexts(lv, names);
  const { name, tags, hostName } = lv;
  return frame(name, { status, flags, tags, hostName, segments });
}

function hiddenText(name: string, strand: Strand, tags: readonly string[], names: PvNames): string {
  const segments = strand.segments.map((segment) => stripedText(segment, 0, names));
  const { hostName } = strand;
  return frame(name, { status: '"READ", "WRITE"', flags: '', tags, hostName, segments });
}

function frame(
  name: string,
  parts: {
    readonly status: string;
    readonly flags: string;
    readonly tags: readonly string[];
    readonly hostName: string;
    readonly segments: readonly string[];
  },
): string {
  const { status, flags, tags, hostName, segments } = parts;
  const numbered = segments.map((text, index) => `\nsegment${index + 1} {\n${text}}\n`);
  return (
    `\n${name} {\nid = "${uuidSample}"\nstatus = [${status}]\nflags = [${flags}]\n` +
    `${tagsText(tags)}creation_time = 1794735026\ncreation_host = "${hostName}"\n` +
    `segment_count = ${segments.length}\n${numbered.join('')}}\n`
  );
}

function bodyTexts(lv: Lv, names: PvNames): readonly string[] {
  const { body, extents } = lv;
  const whole = `start_extent = 0\nextent_count = ${extents}\n\n`;
  switch (body.kind) {
    case 'plain':
    case 'cow':
      return body.strand.segments.map((segment) => stripedText(segment, lv.stripeBytes, names));
    case 'raid':
      return [whole + raidText(lv, body.images.length)];
    case 'pool':
      return [
        `${whole}type = "thin-pool"\nmetadata = "${lv.name}_tmeta"\npool = "${lv.name}_tdata"\n` +
          `transaction_id = ${body.transaction}\nchunk_size = ${body.chunkBytes / 512}\n` +
          'discards = "passdown"\nzero_new_blocks = 1\n',
      ];
    case 'thin': {
      const origin = body.origin === undefined ? '' : `origin = "${body.origin.name}"\n`;
      return [
        `${whole}type = "thin"\nthin_pool = "${body.pool.name}"\ntransaction_id = 1\n` +
          `device_id = ${body.deviceId}\n${origin}`,
      ];
    }
  }
}

function raidText(lv: Lv, count: number): string {
  const stripe = lv.type === 'raid1' ? '' : `stripe_size = ${lv.stripeBytes / 512}\n`;
  const legs = Array.from(
    { length: count },
    (_, index) => `"${lv.name}_rmeta_${index}", "${lv.name}_rimage_${index}"`,
  );
  const copies = parityOf(lv.type) === 0 && lv.type === 'raid10' ? 'data_copies = 2\n' : '';
  return (
    `type = "${lv.type}"\ndevice_count = ${count}\n${copies}region_size = 4096\n${stripe}` +
    `\nraids = [\n${legs.join(',\n')}\n]\n`
  );
}

function stripedText(segment: Segment, stripeBytes: number, names: PvNames): string {
  const stripe = segment.areas.length > 1 ? `stripe_size = ${stripeBytes / 512}\n` : '';
  const areas = segment.areas.map((area: Area) => `"${names.get(area.pv)}", ${area.extent}`);
  return (
    `start_extent = ${segment.start}\nextent_count = ${segment.length}\n\ntype = "striped"\n` +
    `stripe_count = ${segment.areas.length}\n${stripe}\nstripes = [\n${areas.join(',\n')}\n]\n`
  );
}

/** A CoW snapshot and its origin are tied together by a third volume nobody sees. */
function snapshotText(lv: Lv, index: number): string {
  if (lv.body.kind !== 'cow') return '';
  const { origin, chunkBytes } = lv.body;
  const segment =
    `start_extent = 0\nextent_count = ${origin.extents}\n\ntype = "snapshot"\n` +
    `chunk_size = ${chunkBytes / 512}\norigin = "${origin.name}"\ncow_store = "${lv.name}"\n`;
  const status = '"READ", "WRITE", "VISIBLE"';
  const { hostName } = lv;
  return frame(`snapshot${index}`, { status, flags: '', tags: [], hostName, segments: [segment] });
}

function tagsText(tags: readonly string[]): string {
  return tags.length === 0 ? '' : `tags = [${tags.map((tag) => `"${tag}"`).join(', ')}]\n`;
}

/** LVM notes which command wrote the metadata, so a long command line takes room too. */
function footer(commandLine: string): string {
  return (
    '# Generated by LVM2 version 2.03.31(2) (2025-02-27): Sun Nov 15 09:30:26 2026\n\n' +
    'contents = "Text Format Volume Group"\nversion = 1\n\n' +
    `description = "Write from ${commandLine}."\n\n` +
    'creation_host = "n1"\t# Linux n1 7.2.7 #1 Fri Sep 25 16:07:24 UTC 2026 x86_64\n' +
    'creation_time = 1794735026\t# Sun Nov 15 09:30:26 2026\n\n\n\0'
  );
}

const uuidSample = '0'.repeat(38);

/** Every device has a copy; the smallest area counts. */
export function metadataAreaOf(vg: Vg): number {
  return Math.min(...vg.pvs.map((pv) => pv.metadataBytes));
}

/** Bytes of text that fit: LVM keeps the old text while it writes the new one. */
export function metadataRoomOf(vg: Vg): number {
  // The header takes a sector, and LVM keeps one more between the two texts.
  return (metadataAreaOf(vg) - 512) / 2 - 512;
}

export function metadataFreeOf(vg: Vg): number {
  const used = Math.ceil(writtenLength(vg) / 512) * 512;
  return Math.max(0, Math.floor((metadataRoomOf(vg) - used) / 512) * 512);
}

const written = new WeakMap<Vg, { readonly sequence: number; readonly length: number }>();

/** Nothing changes without a new sequence number, and looks are far more frequent than changes. */
function writtenLength(vg: Vg): number {
  const known = written.get(vg);
  if (known?.sequence === vg.sequence) return known.length;
  const { length } = metadataText(vg);
  written.set(vg, { sequence: vg.sequence, length });
  return length;
}
