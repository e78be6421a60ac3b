import { type Arguments, isOutcome, sizeOption } from '../argv.ts';
import { givenOut } from '../content.ts';
import type { Mishap } from '../faults.ts';
import { type Machine, refuseDuplicates, vgToChange } from '../machine.ts';
import {
  cowSnapshotsOf,
  type Lv,
  type Strand,
  sizeBytes,
  strandExtents,
  type Vg,
} from '../model.ts';
import { displaySize, type Outcome, Voice } from '../text.ts';
import { columnsOf, findRoom, growPlain, growRaid, isShortage, type Shape } from '../volumes.ts';
import { cowUsefulExtents } from './cow.ts';
import { noteSuspension } from './lvchange.ts';
import { refuseShared, roundToStripes } from './lvcreate.ts';
import { lockedPart } from './pvmove.ts';
import { growSpare } from './thin.ts';
import { warnOfPromises } from './thin-warnings.ts';

export const lvextendOptions = { size: 'value', poolmetadatasize: 'value', yes: 'flag' } as const;

type Growth = {
  readonly machine: Machine;
  readonly voice: Voice;
  readonly vg: Vg;
  readonly lv: Lv;
  readonly mishap: Mishap | undefined;
};

export function lvextend(machine: Machine, parsed: Arguments, mishap?: Mishap): Outcome {
  const voice = new Voice();
  const size = sizeOption(parsed, 'size');
  const metadataSize = sizeOption(parsed, 'poolmetadatasize');
  if (typeof size === 'object') return size;
  if (typeof metadataSize === 'object') return metadataSize;
  const [vgName = '', lvName = ''] = (parsed.words[0] ?? '').split('/');
  const vg = vgToChange(machine, vgName, voice);
  if (isOutcome(vg)) return vg;
  const lv = machine.findLv(vg, lvName);
  if (lv === undefined) return voice.fail(`Failed to find logical volume "${vgName}/${lvName}"`);
  if (size === 0 || metadataSize === 0) return voice.fail('New size of 0 not permitted.');
  const growth: Growth = { machine, voice, vg, lv, mishap };
  if (metadataSize !== undefined) return growPoolMetadata(growth, metadataSize);
  return growLv(growth, size ?? 0);
}

function growLv(growth: Growth, bytes: number): Outcome {
  const { machine, voice, vg, lv } = growth;
  const extents = roundUp(voice, vg, bytes);
  const locked = lockedPart(lv);
  if (locked !== undefined) {
    return voice.fail(`Can't resize locked logical volume ${vg.name}/${lv.name}${locked}.`);
  }
  const refusal = refuseOrigin(growth);
  if (refusal !== undefined) return refusal;
  switch (lv.body.kind) {
    case 'plain':
    case 'raid':
      return growThick(growth, extents);
    case 'pool':
      return growPoolData(growth, extents);
    case 'cow':
      return growCow(growth, extents, lv.body.origin);
    case 'thin': {
      const same = refuseSame(voice, extents, lv.extents);
      if (same !== undefined) return same;
      const duplicates = refuseDuplicates(machine, vg, voice);
      if (duplicates !== undefined) return duplicates;
      return finish(growth, `${vg.name}/${lv.name}`, extents, () => undefined);
    }
  }
}

function growThick(growth: Growth, wanted: number): Outcome {
  const { machine, voice, vg, lv } = growth;
  const columns = columnsOf(lv);
  announceShape(voice, lv);
  const extents = roundToStripes(voice, vg, wanted, columns);
  const same = refuseSame(voice, extents, lv.extents);
  if (same !== undefined) return same;
  const { body } = lv;
  const strands = body.kind === 'raid' ? body.images : body.kind === 'plain' ? [body.strand] : [];
  const duplicates = refuseDuplicates(machine, vg, voice);
  if (duplicates !== undefined) return duplicates;
  const found = findRoom(vg, lv.name, lv, extents - lv.extents, strands);
  if (isShortage(found)) return voice.fail(found.message);
  const shared = body.kind === 'raid' ? refuseShared(lv, body.images, found, voice) : undefined;
  if (shared !== undefined) return shared;
  return finish(growth, `${vg.name}/${lv.name}`, extents, () => {
    if (body.kind === 'raid') growRaid(body.images, body.metas, found, columns);
    else if (body.kind === 'plain') growPlain(body.strand, found);
    if (body.kind === 'raid') {
      const fromMs = machine.clock.nowMs();
      const gib = ((extents - lv.extents) * vg.extentBytes) / 1024 ** 3;
      body.sync = { fromMs, untilMs: fromMs + gib * machine.syncMsPerGiB };
    }
  });
}

function announceShape(voice: Voice, lv: Lv): void {
  if (lv.type === 'raid1' || lv.type === 'raid10') {
    voice.say(`Extending ${lv.copies} mirror images.`);
  } else if (lv.stripes > 1) {
    voice.say(`Using stripesize of last segment ${displaySize(lv.stripeBytes)}`);
  }
}

function growPoolData(growth: Growth, extents: number): Outcome {
  const { machine, voice, vg, lv } = growth;
  const same = refuseSame(voice, extents, lv.extents);
  if (same !== undefined) return same;
  const duplicates = refuseDuplicates(machine, vg, voice);
  if (duplicates !== undefined) return duplicates;
  const { body } = lv;
  if (body.kind !== 'pool') return voice.end(5);
  const found = roomFor(vg, `${lv.name}_tdata`, body.data, extents - lv.extents);
  if (isShortage(found)) return voice.fail(found.message);
  return finish(growth, `${vg.name}/${lv.name}_tdata`, extents, () => {
    growPlain(body.data, found);
    body.isOutOfData = false;
  });
}

function growPoolMetadata(growth: Growth, bytes: number): Outcome {
  const { machine, voice, vg, lv } = growth;
  const { body } = lv;
  if (body.kind !== 'pool') {
    return voice.fail('--poolmetadatasize can be used only with thin pools.');
  }
  const extents = roundUp(voice, vg, bytes);
  const present = strandExtents(body.metadata);
  const name = `${vg.name}/${lv.name}_tmeta`;
  if (extents < present) {
    return voice.fail(
      `New size given (${extents} extents) not larger than existing size (${present} extents)`,
    );
  }
  if (extents > present) {
    const found = roomFor(vg, `${lv.name}_tmeta`, body.metadata, extents - present);
    if (isShortage(found)) return voice.fail(found.message);
    growPlain(body.metadata, found);
    growSpare(growth, extents);
    machine.commit(vg);
  }
  voice.say(changed(name, vg, present, extents));
  warnOfPromises(lv, voice);
  return voice.say(`Logical volume ${vg.name}/${lv.name} successfully resized.`).end();
}

function growCow(growth: Growth, wanted: number, origin: Lv): Outcome {
  const { machine, voice, vg, lv } = growth;
  const name = `${vg.name}/${lv.name}`;
  const useful = cowUsefulExtents(origin, vg);
  const extents = Math.min(wanted, useful);
  if (wanted > useful) {
    voice.say(
      `Reached maximum COW size ${displaySize(useful * vg.extentBytes)} (${useful} extents).`,
    );
  } else {
    const same = refuseSame(voice, extents, lv.extents);
    if (same !== undefined) return same;
  }
  if (extents <= lv.extents) {
    machine.commit(vg);
    voice.say(changed(name, vg, lv.extents, lv.extents));
    return voice.say(`Logical volume ${name} successfully resized.`).end();
  }
  const duplicates = refuseDuplicates(machine, vg, voice);
  if (duplicates !== undefined) return duplicates;
  if (lv.body.kind !== 'cow') return voice.end(5);
  const { strand } = lv.body;
  const found = roomFor(vg, lv.name, strand, extents - lv.extents);
  if (isShortage(found)) return voice.fail(found.message);
  return finish(growth, name, extents, () => growPlain(strand, found));
}

function finish(growth: Growth, name: string, extents: number, grow: () => void): Outcome {
  const { machine, voice, vg, lv, mishap } = growth;
  grow();
  voice.say(changed(name, vg, lv.extents, extents));
  if (lv.body.kind === 'plain' || lv.body.kind === 'raid') {
    lv.content = givenOut(lv.content, sizeBytes(lv), extents * vg.extentBytes);
  }
  lv.extents = extents;
  machine.commit(vg);
  if (lv.body.kind === 'thin' || lv.body.kind === 'pool') warnOfPromises(lv, voice);
  noteSuspension(lv, voice);
  if (mishap === 'stale-table') {
    return voice.fail(`Failed to reload logical volume ${vg.name}/${lv.name}.`);
  }
  if (mishap === 'left-suspended') {
    lv.isSuspended = lv.isActive;
    voice.complain(`Failed to resume logical volume ${vg.name}/${lv.name}.`);
    return voice.end(5);
  }
  lv.isSuspended = false;
  lv.activeExtents = extents;
  return voice.say(`Logical volume ${vg.name}/${lv.name} successfully resized.`).end();
}

function roomFor(vg: Vg, name: string, strand: Strand, extents: number) {
  const shape: Shape = { type: 'linear', stripes: 1, copies: 1, stripeBytes: 0 };
  return findRoom(vg, name, shape, extents, [strand]);
}

function changed(name: string, vg: Vg, from: number, to: number): string {
  const shown = (count: number) => `${displaySize(count * vg.extentBytes)} (${count} extents)`;
  if (from === to) return `Size of logical volume ${name} unchanged from ${shown(from)}.`;
  return `Size of logical volume ${name} changed from ${shown(from)} to ${shown(to)}.`;
}

function roundUp(voice: Voice, vg: Vg, bytes: number): number {
  const extents = Math.ceil(bytes / vg.extentBytes);
  if (bytes % vg.extentBytes !== 0) {
    const size = displaySize(extents * vg.extentBytes);
    voice.say(`Rounding size to boundary between physical extents: ${size}.`);
  }
  return extents;
}

function refuseSame(voice: Voice, wanted: number, present: number): Outcome | undefined {
  if (wanted > present) return undefined;
  if (wanted === present) {
    voice.say(`New size (${wanted} extents) matches existing size (${present} extents).`);
    return voice.fail('No size change.');
  }
  return voice.fail(
    `New size given (${wanted} extents) not larger than existing size (${present} extents)`,
  );
}

function refuseOrigin({ voice, lv }: Growth): Outcome | undefined {
  if (cowSnapshotsOf(lv).length === 0 || !lv.isActive) return undefined;
  return voice.fail(
    'Snapshot origin volumes can be resized only while inactive: try lvchange -an.',
  );
}
