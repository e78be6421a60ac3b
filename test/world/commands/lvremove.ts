import { releaseSegments } from '../allocate.ts';
import { type Arguments, isOutcome, option } from '../argv.ts';
import type { Mishap } from '../faults.ts';
import { type Machine, refuseDuplicates, vgToChange } from '../machine.ts';
import { cowSnapshotsOf, type Lv, thinVolumesOf, type Vg } from '../model.ts';
import { selects } from '../select.ts';
import { type Outcome, Voice } from '../text.ts';

export const lvremoveOptions = { yes: 'flag', select: 'value' } as const;

export function lvremove(machine: Machine, parsed: Arguments, mishap?: Mishap): Outcome {
  const voice = new Voice();
  const [vgName = '', lvName = ''] = (parsed.words[0] ?? '').split('/');
  const vg = vgToChange(machine, vgName, voice, { mayBePartial: true });
  if (isOutcome(vg)) return vg;
  const lv = machine.findLv(vg, lvName);
  if (lv === undefined) return voice.fail(`Failed to find logical volume "${vgName}/${lvName}"`);
  const selection = option(parsed, 'select');
  if (selection !== undefined && !selects(machine, selection, lv)) return voice.end();
  const duplicates = refuseDuplicates(machine, vg, voice);
  if (duplicates !== undefined) return duplicates;
  const doomed = [...dependentsOf(lv), lv];
  const used = doomed.find((candidate) => candidate.users.size > 0);
  if (used !== undefined) {
    return voice.fail(`Logical volume ${vgName}/${used.name} contains a filesystem in use.`);
  }
  if (mishap === 'left-suspended') {
    lv.isSuspended = lv.isActive;
    return voice.end(5);
  }
  for (const candidate of doomed) {
    remove(machine, candidate);
    voice.say(`Logical volume "${candidate.name}" successfully removed.`);
  }
  return voice.end();
}

/** What lvremove takes along unasked. */
function dependentsOf(lv: Lv): readonly Lv[] {
  if (lv.body.kind === 'pool') return thinVolumesOf(lv);
  return cowSnapshotsOf(lv);
}

export function remove(machine: Machine, lv: Lv): void {
  const { vg } = lv;
  machine.recordLv('lvremove', lv);
  machine.drop(lv);
  dropSpare(vg);
  const commits = lv.body.kind === 'cow' || lv.body.kind === 'thin' ? 2 : 1;
  machine.commit(vg, commits);
}

function dropSpare(vg: Vg): void {
  if (vg.spare === undefined || vg.lvs.some((lv) => lv.body.kind === 'pool')) return;
  releaseSegments(vg.spare.segments);
  vg.spare = undefined;
}
