import type { ObservedHost, ObservedVg } from './observed.ts';
import { isForeseen } from './predict.ts';
import type { Step } from './step.ts';

/**
 * Is what a step aims at still what it believed? Names are reused, identities are not: a step
 * whose target has gone or changed hands is dropped and planned again, never run on a guess.
 */
export function staleReason(step: Step, host: ObservedHost): string | undefined {
  if (!('vgUuid' in step)) {
    const isTaken = step.kind === 'create-vg' && host.vgs.some((vg) => vg.name === step.vg);
    return isTaken ? `a volume group ${step.vg} exists by now` : undefined;
  }
  const vg = host.vgs.find((candidate) => candidate.name === step.vg);
  if (vg === undefined || vg.uuid !== step.vgUuid) {
    return `the volume group ${step.vg} is no longer ${step.vgUuid}`;
  }
  if ('pvUuid' in step && !vg.pvs.some((pv) => pv.uuid === step.pvUuid)) {
    return `the device ${step.device} is no longer in ${step.vg}`;
  }
  for (const [name, uuid] of lvsOf(step)) {
    if (lvUuid(vg, name) !== uuid) return `${step.vg}/${name} is no longer ${uuid}`;
  }
  const made = newLvName(step);
  if (made !== undefined && lvUuid(vg, made) !== undefined) {
    return `${step.vg}/${made} exists by now`;
  }
  return undefined;
}

/** A step on something that only a prediction has shown: look first, then plan again. */
export function needsLook(step: Step): boolean {
  const uuids = 'vgUuid' in step ? [step.vgUuid, ...lvsOf(step).map(([, uuid]) => uuid)] : [];
  return uuids.some(isForeseen);
}

function lvsOf(step: Step): readonly (readonly [name: string, uuid: string])[] {
  const lvs: (readonly [string, string])[] = [];
  if ('lvUuid' in step) lvs.push([step.lv, step.lvUuid]);
  if ('originUuid' in step) lvs.push([step.origin, step.originUuid]);
  if ('fromUuid' in step) lvs.push([step.from, step.fromUuid]);
  return lvs;
}

function newLvName(step: Step): string | undefined {
  switch (step.kind) {
    case 'create-lv':
    case 'create-thin-snapshot':
    case 'create-cow-snapshot':
      return step.lv;
    case 'create-thin-pool':
      return step.pool;
    default:
      return undefined;
  }
}

function lvUuid(vg: ObservedVg, name: string): string | undefined {
  return vg.lvs.find((lv) => lv.name === name)?.uuid;
}
