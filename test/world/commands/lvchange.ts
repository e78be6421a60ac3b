import { type Arguments, isOutcome, option, values } from '../argv.ts';
import type { Mishap } from '../faults.ts';
import { hasDuplicates, type Machine, refuseDuplicates, vgToChange } from '../machine.ts';
import { cowSnapshotsOf, type Lv, type Strand, thinVolumesOf, type Vg } from '../model.ts';
import { mountUser } from '../mount-table.ts';
import { selects } from '../select.ts';
import { type Outcome, Voice } from '../text.ts';

export const lvchangeOptions = {
  activate: 'value',
  ignoreactivationskip: 'flag',
  refresh: 'flag',
  addtag: 'value',
  deltag: 'value',
  permission: 'value',
  zero: 'value',
  select: 'value',
  yes: 'flag',
  config: 'value',
} as const;

export function lvchange(machine: Machine, parsed: Arguments, mishap?: Mishap): Outcome {
  const voice = new Voice();
  const [vgName = '', lvName = ''] = (parsed.words[0] ?? '').split('/');
  const vg = vgToChange(machine, vgName, voice, { mayBePartial: true });
  if (isOutcome(vg)) return vg;
  if (parsed.words.length > 1) return changeSeveral(machine, vg, parsed, voice);
  const lv = machine.findLv(vg, lvName);
  if (lv === undefined) return voice.fail(`Failed to find logical volume "${vgName}/${lvName}"`);
  const selection = option(parsed, 'select');
  if (selection !== undefined && !selects(machine, selection, lv)) return voice.end();
  const activate = option(parsed, 'activate');
  if (activate !== undefined) {
    const question = parsed.options.has('yes') ? undefined : askAboutOrigin(lv, voice);
    if (question !== undefined) return question;
    const wanted = activate.includes('y');
    const leaking = wanted ? leakingPool(machine, lv) : undefined;
    if (leaking !== undefined) {
      if (!(option(parsed, 'config') ?? '').includes('--auto-repair')) {
        const name = `${vg.name}/${leaking.name}`;
        return voice.fail(`Check of pool ${name} failed (status:64). Manual repair required!`);
      }
      machine.leaking.delete(leaking);
    }
    return changeActivation(machine, lv, wanted, { voice, mishap });
  }
  if (parsed.options.has('refresh')) {
    if (mishap === 'left-suspended') {
      lv.isSuspended = lv.isActive;
      return voice.fail(`Failed to resume logical volume ${vgName}/${lvName}.`);
    }
    if (lv.isActive) reload(lv);
    return voice.end();
  }
  const zero = option(parsed, 'zero');
  if (zero !== undefined && lv.body.kind === 'pool') lv.body.zeroes = zero === 'y';
  return changeTags(machine, lv, parsed, voice);
}

/** Those of the group that are named come in its own order, and then what is not there is told. */
function changeSeveral(machine: Machine, vg: Vg, parsed: Arguments, voice: Voice): Outcome {
  const names = new Set(parsed.words.map((word) => word.split('/')[1] ?? ''));
  const selection = option(parsed, 'select') ?? '';
  let exitCode: number | undefined = 0;
  for (const lv of vg.lvs.filter(({ name }) => names.delete(name))) {
    if (!selects(machine, selection, lv)) continue;
    ({ exitCode } = changeTags(machine, lv, parsed, voice));
    if (exitCode !== 0) return voice.end(exitCode);
  }
  for (const name of names) voice.complain(`Failed to find logical volume "${vg.name}/${name}"`);
  return voice.end(names.size > 0 ? 5 : 0);
}

/** The pool that would have to be checked, and has blocks in its books that nobody has. */
function leakingPool(machine: Machine, lv: Lv): Lv | undefined {
  const pool = lv.body.kind === 'thin' ? lv.body.pool : lv;
  return machine.leaking.has(pool) ? pool : undefined;
}

/** Nobody answers the question, so the answer is no. */
function askAboutOrigin(lv: Lv, voice: Voice): Outcome | undefined {
  if (lv.body.kind !== 'cow') return undefined;
  const name = `${lv.vg.name}/${lv.name}`;
  const others = cowSnapshotsOf(lv.body.origin).length - 1;
  const also = others > 0 ? ` and ${others} other snapshot(s)` : '';
  voice.err(
    `Change of snapshot ${name} will also change its origin ` +
      `${lv.vg.name}/${lv.body.origin.name}${also}. Proceed? [y/n]: [n]`,
  );
  return voice.fail(`Logical volume ${name} not changed.`);
}

function changeActivation(
  machine: Machine,
  lv: Lv,
  wanted: boolean,
  { voice, mishap }: { readonly voice: Voice; readonly mishap: Mishap | undefined },
): Outcome {
  const name = `${lv.vg.name}/${lv.name}`;
  if (!wanted) {
    const use = useOf(lv);
    if (use !== undefined) return voice.fail(use);
    deactivate(lv);
    return voice.end();
  }
  if (hasDuplicates(machine, lv.vg)) {
    return voice.fail(
      `Cannot activate LVs in VG ${lv.vg.name} while PVs appear on duplicate devices.`,
    );
  }
  if (isUnusable(machine, lv)) {
    return voice.fail(
      `Refusing activation of partial LV ${name}.  Use '--activationmode partial' to override.`,
    );
  }
  for (const whole of lv.body.kind === 'thin' ? [lv.body.pool, lv] : [lv]) {
    for (const suffix of machine.strayParts.get(whole) ?? []) {
      const part = `logical volume ${whole.vg.name}/${whole.name}${suffix}`;
      return voice.fail(
        `Activation of logical volume ${name} is prohibited while ${part} is active.`,
      );
    }
  }
  if (mishap === 'activation-fails') {
    return voice.fail(`Failed to activate ${name}.`);
  }
  noteSuspension(lv, voice);
  activate(lv);
  return voice.end();
}

/**
 * A CoW snapshot and its origin are awake or asleep together. A thin volume needs only the hidden
 * part of its pool: the pool itself stays as it was.
 */
export function activate(lv: Lv): void {
  const together = family(lv);
  for (const member of together) {
    // LVM leaves what is awake as the kernel has it.
    if (member.isActive && !member.isSuspended) continue;
    member.isActive = true;
    if (member.body.kind === 'raid') member.body.failed.clear();
    load(member);
  }
}

export function reload(lv: Lv): void {
  for (const member of family(lv)) load(member);
}

function load(lv: Lv): void {
  lv.isSuspended = false;
  lv.activeExtents = lv.extents;
}

export function deactivate(lv: Lv): void {
  for (const member of family(lv)) {
    member.isActive = false;
    member.isSuspended = false;
  }
}

function family(lv: Lv): readonly Lv[] {
  const origin = lv.body.kind === 'cow' ? lv.body.origin : lv;
  return [origin, ...cowSnapshotsOf(origin)];
}

function changeTags(machine: Machine, lv: Lv, parsed: Arguments, voice: Voice): Outcome {
  const duplicates = refuseDuplicates(machine, lv.vg, voice);
  if (duplicates !== undefined) return duplicates;
  const removed = new Set(values(parsed, 'deltag'));
  const kept = lv.tags.filter((tag) => !removed.has(tag));
  const before = lv.tags;
  if (option(parsed, 'permission') === 'r') lv.isReadOnly = true;
  lv.tags = [...new Set([...kept, ...values(parsed, 'addtag')])];
  const refusal = machine.metadataRefusal(lv.vg, voice);
  if (refusal !== undefined) {
    lv.tags = before;
    return voice.fail(`Failed to update metadata of ${lv.vg.name}/${lv.name} on disk.`);
  }
  machine.commit(lv.vg);
  return voice.say(`Logical volume ${lv.vg.name}/${lv.name} changed.`).end();
}

/** What LVM says of a volume that somebody has open. */
export function useOf(lv: Lv): string | undefined {
  if (lv.users.size === 0) return undefined;
  const isMounted = [...lv.users].some(
    (user) => user.startsWith('/') || user.startsWith(mountUser),
  );
  const name = `Logical volume ${lv.vg.name}/${lv.name}`;
  return isMounted ? `${name} contains a filesystem in use.` : `${name} in use.`;
}

/** LVM resumes what it did not suspend, and wonders. */
export function noteSuspension(lv: Lv, voice: Voice): void {
  if (lv.isSuspended) voice.complain('Attempted to decrement suspended device counter below zero.');
}

/** Is data lost with the devices that are away? RAIDs live on as long as they can. */
export function isUnusable(machine: Machine, lv: Lv): boolean {
  const { body } = lv;
  const isLost = (strand: Strand) =>
    strand.segments.some((segment) => segment.areas.some((area) => machine.isMissing(area.pv)));
  const isCowLost = ({ body: cow }: Lv) => cow.kind === 'cow' && isLost(cow.strand);
  switch (body.kind) {
    case 'plain':
      return isLost(body.strand) || cowSnapshotsOf(lv).some((snapshot) => isCowLost(snapshot));
    case 'cow':
      return isLost(body.strand) || isUnusable(machine, body.origin);
    case 'pool':
      return isLost(body.data) || isLost(body.metadata);
    case 'thin':
      return isUnusable(machine, body.pool);
    case 'raid': {
      const lost = body.images.filter((image) => isLost(image)).length;
      return lost > spareImages(lv);
    }
  }
}

export function spareImages(lv: Lv): number {
  switch (lv.type) {
    case 'raid1':
      return lv.copies - 1;
    case 'raid4':
    case 'raid5':
    case 'raid10':
      return 1;
    case 'raid6':
      return 2;
    default:
      return 0;
  }
}

export function hasActiveThins(pool: Lv): boolean {
  return thinVolumesOf(pool).some((thin) => thin.isActive);
}
