import type { Bytes } from '../../base/bytes.ts';
import type { FailureCode } from '../../base/failures.ts';
import { findLv, findVg, type LvKind, type ObservedHost } from '../observed.ts';
import type { Decision } from '../step.ts';
import { pendingTag } from '../tags.ts';
import type { DesiredVolume } from './desired.ts';
import { planVolume } from './plan.ts';

export type VolumeStatus = {
  readonly name: string;
  readonly vg: string;
  readonly state: VolumeState;
  readonly code: FailureCode | undefined;
  readonly reason: string;
  readonly uuid: string | undefined;
  readonly kind: LvKind | undefined;
  readonly sizeBytes: Bytes | undefined;
  readonly health: string;
  readonly syncPercent: number | undefined;
  readonly isPending: boolean;
};

export type VolumeState = 'Ready' | 'Progressing' | 'Blocked' | 'Absent';

export function volumeStatus(desired: DesiredVolume, host: ObservedHost): VolumeStatus {
  const decision = planVolume(desired, host);
  if (desired.presence === 'present') {
    return lvStatus({ vg: desired.deviceClass.vg, name: desired.name, host, decision });
  }
  const status = lvStatus({ vg: desired.vg, name: desired.name, host, decision });
  // Another volume may bear the name by now; the one that was to go is gone.
  return decision.kind === 'rest' ? { ...status, state: 'Absent', uuid: undefined } : status;
}

/** The status every noun that ends in one LV shares; read from the report, not from the plan. */
export function lvStatus(view: {
  readonly vg: string;
  readonly name: string;
  readonly host: ObservedHost;
  readonly decision: Decision;
}): VolumeStatus {
  const group = findVg(view.host, view.vg);
  const lv = group === undefined ? undefined : findLv(group, view.name);
  const { decision } = view;
  const isBlocked = decision.kind === 'blocked';
  return {
    name: view.name,
    vg: view.vg,
    state: stateOf(decision, lv !== undefined),
    code: isBlocked ? decision.code : undefined,
    reason: reasonOf(decision),
    uuid: lv?.uuid,
    kind: lv?.kind,
    sizeBytes: lv?.sizeBytes,
    health: lv?.health ?? '',
    syncPercent: lv?.syncPercent,
    isPending: lv?.tags.includes(pendingTag) ?? false,
  };
}

function reasonOf(decision: Decision): string {
  switch (decision.kind) {
    case 'rest':
      return '';
    case 'step':
      return `next: ${decision.step.kind}`;
    case 'blocked':
      return decision.message;
  }
}

function stateOf(decision: Decision, exists: boolean): VolumeState {
  if (decision.kind === 'blocked') return 'Blocked';
  if (decision.kind === 'step') return 'Progressing';
  return exists ? 'Ready' : 'Absent';
}
