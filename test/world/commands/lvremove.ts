import { releaseSegments } from '../allocate.ts';
import { type Arguments, isOutcome, option } from '../argv.ts';
import type { Mishap } from '../faults.ts';
import { hasDuplicates, type Machine, vgToChange } from '../machine.ts';
import { cowSnapshotsOf, type Lv, thinVolumesOf, type Vg } from '../model.ts';
import { selects } from '../select.ts';
import { type Outcome, Voice } from '../text.ts';
import { deactivate, isUnusable, noteSuspension, useOf } from './lvchange.ts';
import { forgetMoves, lockedPart } from './pvmove.ts';

export const lvremoveOptions = { yes: 'flag', select: 'value', config: 'value' } as const;

export function lvremove(machine: Machine, parsed: Arguments, mishap?: Mishap): Outcome {
  const voice = new Voice();
  const [vgName = '', lvName = ''] = (parsed.words[0] ?? '').split('/');
  const vg = vgToChange(machine, vgName, voice, { mayBePartial: true });
  if (isOutcome(vg)) return vg;
  const lv = machine.findLv(vg, lvName);
  if (lv === undefined) return voice.fail(`Failed to find logical volume "${vgName}/${lvName}"`);
  const selection = option(parsed, 'select');
  if (selection !== undefined && !selects(machine, selection, lv)) return voice.end();
  const doomed = [...dependentsOf(lv), lv];
  const locked = doomed.find((candidate) => lockedPart(candidate) !== undefined);
  if (locked !== undefined) {
    return voice.fail(`Can't remove locked logical volume ${vgName}/${locked.name}.`);
  }
  for (const candidate of doomed) {
    const use = useOf(candidate);
    if (use !== undefined) return voice.fail(use);
  }
  if (mishap === 'left-suspended') {
    lv.isSuspended = lv.isActive;
    return voice.end(5);
  }
  noteSuspension(lv, voice);
  if (hasDuplicates(machine, vg)) {
    // The volume is put to sleep before LVM finds that it may not write.
    deactivate(lv);
    return voice.fail(`Cannot update volume group ${vg.name} with duplicate PV devices.`);
  }
  const incomplete = refuseIncomplete(machine, lv, voice);
  if (incomplete !== undefined) return incomplete;
  if (cowSnapshotsOf(lv).length > 0) deactivate(lv);
  const isDiscarded = option(parsed, 'config') === 'devices/issue_discards=1';
  for (const candidate of doomed) {
    remove(machine, candidate, { isAlone: candidate === lv, isDiscarded });
    voice.say(`Logical volume "${candidate.name}" successfully removed.`);
  }
  return voice.end();
}

/** Removing these reloads another volume, which a missing device forbids. */
function refuseIncomplete(machine: Machine, lv: Lv, voice: Voice): Outcome | undefined {
  const { vg, body } = lv;
  const aborting = (name: string) =>
    voice.complain(
      `Aborting.  LV ${vg.name}/${name} is incomplete and --activationmode partial ` +
        'was not specified.',
    );
  if (body.kind === 'cow' && lv.isActive && isUnusable(machine, lv)) {
    aborting(lv.name);
    return voice.fail(`Failed to refresh ${body.origin.name} without snapshot.`);
  }
  if (body.kind === 'thin' && isUnusable(machine, body.pool)) {
    // The volume is gone from the metadata by the time its pool cannot be told.
    const { pool } = body;
    remove(machine, lv, { isAlone: true, isDiscarded: false });
    aborting(`${pool.name}_tmeta`);
    voice.complain(`Failed to suspend ${vg.name}/${pool.name} with queued messages.`);
    return voice.fail(`Failed to update thin pool ${vg.name}/${pool.name}.`);
  }
  return undefined;
}

/** What lvremove takes along unasked. */
function dependentsOf(lv: Lv): readonly Lv[] {
  if (lv.body.kind === 'pool') return thinVolumesOf(lv);
  return cowSnapshotsOf(lv);
}

/** A snapshot that goes alone is first taken off its origin, which is a change of its own. */
function remove(
  machine: Machine,
  lv: Lv,
  how: { readonly isAlone: boolean; readonly isDiscarded: boolean },
): void {
  const { vg } = lv;
  const isTakenOff = lv.body.kind === 'cow' && how.isAlone;
  const commits = isTakenOff || lv.body.kind === 'thin' ? 2 : 1;
  // lvm discards extents; those of a thin volume are its pool's.
  const isDiscarded = how.isDiscarded && lv.body.kind !== 'thin';
  machine.recordLv('lvremove', lv, isDiscarded ? { isDiscarded } : {});
  machine.drop(lv);
  dropSpare(vg);
  machine.commit(vg, commits);
}

function dropSpare(vg: Vg): void {
  if (vg.spare === undefined || vg.lvs.some((lv) => lv.body.kind === 'pool')) return;
  forgetMoves(vg, vg.spare);
  releaseSegments(vg.spare.segments);
  vg.spare = undefined;
}
