import { type Lv, type Segment, strandsOf, type Vg } from './model.ts';

/**
 * How many bytes a group's metadata takes as text. LVM keeps the old and the new text side by
 * side, so half of the area counts. The numbers follow the text format closely enough that the
 * free space differs from a real group's by a few hundred bytes.
 */
export function metadataBytesOf(vg: Vg): number {
  const pvs = vg.pvs.reduce((total, pv) => total + 255 + tagBytes(pv.tags), 0);
  const lvs = vg.lvs.reduce((total, lv) => total + lvBytes(lv), 0);
  const spare = vg.spare === undefined ? 0 : 190 + segmentsBytes(vg.spare.segments, 'lvol0');
  return 480 + vg.name.length + tagBytes(vg.tags) + pvs + lvs + spare;
}

/** Bytes of text that fit. */
export function metadataRoomOf(vg: Vg): number {
  const area = vg.pvs[0]?.metadataBytes ?? 0;
  return Math.floor((area - 512) / 2 / 512) * 512;
}

export function metadataFreeOf(vg: Vg): number {
  const used = Math.ceil(metadataBytesOf(vg) / 512) * 512;
  return Math.max(0, metadataRoomOf(vg) - used);
}

function lvBytes(lv: Lv): number {
  const own = 215 + lv.name.length + tagBytes(lv.tags);
  const parts = strandsOf(lv).reduce(
    (total, { suffix, strand }) =>
      total +
      (suffix === '' ? 0 : 190 + lv.name.length + suffix.length) +
      segmentsBytes(strand.segments, ''),
    0,
  );
  return own + parts + bodyBytes(lv);
}

function bodyBytes(lv: Lv): number {
  switch (lv.body.kind) {
    case 'plain':
      return 0;
    case 'raid':
      return 160 + lv.body.images.length * (lv.name.length * 2 + 28);
    case 'pool':
      return 260 + lv.name.length * 2;
    case 'thin':
      return 190 + lv.body.pool.name.length + (lv.body.origin?.name.length ?? 0);
    case 'cow':
      return 330 + lv.name.length + lv.body.origin.name.length;
  }
}

function segmentsBytes(segments: readonly Segment[], name: string): number {
  return segments.reduce(
    (total, segment) => total + 125 + name.length + segment.areas.length * 14,
    0,
  );
}

function tagBytes(tags: readonly string[]): number {
  return tags.length === 0 ? 0 : 11 + tags.reduce((total, tag) => total + tag.length + 4, 0);
}
