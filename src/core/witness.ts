import type { Bytes } from '../base/bytes.ts';
import type { ObservedHost } from './observed.ts';
import { foreseen, predict } from './predict.ts';
import type { VolumeDevice } from './publication/observed.ts';
import type { Step } from './step.ts';

/**
 * Steps that need no report to be believed. lvm ended well, and the kernel, or what lvm said,
 * shows that it was this very volume, with this size. Whatever is not shown is looked up.
 */
export type WitnessedStep = Extract<Step, { kind: WitnessedKind }>;

type WitnessedKind =
  | 'create-lv'
  | 'extend-lv'
  | 'remove-lv'
  | 'create-thin-snapshot'
  | 'create-cow-snapshot'
  | 'change-tags';

export function canBeWitnessed(step: Step): step is WitnessedStep {
  switch (step.kind) {
    case 'create-lv':
    case 'extend-lv':
    case 'remove-lv':
    case 'create-thin-snapshot':
    case 'create-cow-snapshot':
      return true;
    case 'change-tags':
      // Whether it can still be written to is nothing that lvm says.
      return step.isReadOnly !== true;
    default:
      return false;
  }
}

/** What was to be seen right after a step. */
export type Sight = {
  /** lvm's own words on stdout. */
  readonly said: string;
  /** The kernel's device of the volume that was made, grown or removed. */
  readonly device: VolumeDevice | undefined;
  /** The kernel's device of the volume that a snapshot was taken of. */
  readonly origin: VolumeDevice | undefined;
};

/** The identity of the volume that the step was about, if the step is shown to have come true. */
export function witnessed(step: WitnessedStep, sight: Sight): string | undefined {
  const { device, origin } = sight;
  switch (step.kind) {
    case 'remove-lv': {
      const isGone = isSaid(sight, `Logical volume "${step.lv}" successfully removed.`);
      return isGone && device === undefined ? step.lvUuid : undefined;
    }
    case 'change-tags':
      return isSaid(sight, `Logical volume ${step.vg}/${step.lv} changed.`)
        ? step.lvUuid
        : undefined;
    case 'extend-lv': {
      const uuid = identityOf(device, step.vgUuid, step.sizeBytes);
      return uuid === step.lvUuid ? uuid : undefined;
    }
    case 'create-lv':
      return identityOf(device, step.vgUuid, step.sizeBytes);
    case 'create-thin-snapshot':
    case 'create-cow-snapshot': {
      // lvm takes the origin by its name: was it still the one that was meant?
      const isMeant = identityOf(origin, step.vgUuid) === step.originUuid;
      return isMeant ? identityOf(device, step.vgUuid, origin?.sizeBytes) : undefined;
    }
  }
}

/** A selection that matches nothing ends well too, but then lvm says nothing. */
function isSaid({ said }: Sight, words: string): boolean {
  return said.split('\n').some((line) => line.trim() === words);
}

/** LVM's dm UUIDs: the group's and the volume's, without hyphens. Parts of volumes have more. */
const dmUuid = /^LVM-(?<vg>[A-Za-z0-9]{32})(?<lv>[A-Za-z0-9]{32})$/;
const groups = /^(.{6})(.{4})(.{4})(.{4})(.{4})(.{4})(.{6})$/;

function identityOf(
  device: VolumeDevice | undefined,
  vgUuid: string,
  sizeBytes: Bytes | undefined = device?.sizeBytes,
): string | undefined {
  const { vg, lv } = dmUuid.exec(device?.dmUuid ?? '')?.groups ?? {};
  if (device === undefined || lv === undefined || vg !== vgUuid.replaceAll('-', '')) {
    return undefined;
  }
  if (device.isSuspended || device.sizeBytes !== sizeBytes) return undefined;
  return lv.replace(groups, '$1-$2-$3-$4-$5-$6-$7');
}

/**
 * The host after a step that was witnessed: as foreseen, with the identity that was seen. A look
 * that was under way meanwhile may have shown the effect already.
 */
export function afterWitnessed<H extends ObservedHost>(
  host: H,
  step: WitnessedStep,
  uuid: string,
): H {
  if (shows(host, step, uuid)) return host;
  const after = predict(host, step);
  return {
    ...after,
    vgs: after.vgs.map((vg) => ({
      ...vg,
      lvs: vg.lvs.map((lv) =>
        vg.uuid === step.vgUuid && lv.uuid === foreseen(step.lv) ? { ...lv, uuid } : lv,
      ),
    })),
  };
}

function shows(host: ObservedHost, step: WitnessedStep, uuid: string): boolean {
  const lvs = host.vgs.filter((vg) => vg.uuid === step.vgUuid).flatMap((vg) => vg.lvs);
  const lv = lvs.find((candidate) => candidate.uuid === uuid);
  if (step.kind === 'remove-lv') return lv === undefined;
  // Tags can be written over themselves.
  if (step.kind === 'change-tags') return false;
  if (step.kind === 'extend-lv') return lv === undefined || lv.sizeBytes >= step.sizeBytes;
  return lv !== undefined;
}
