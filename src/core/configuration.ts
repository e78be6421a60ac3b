import type { DecodedLvmd, PlacedSpec } from '../api/lvmd-file/decode.ts';
import { type Finding, quote } from '../api/lvmd-file/findings.ts';
import type { LvmdDeviceClass, LvmdSpec } from '../api/lvmd-file/spec.ts';
import { showFew, showList } from '../base/show.ts';
import { recordsIn } from './catalog.ts';
import type { DeviceClass } from './device-class.ts';
import { lvmdDeviceClasses } from './lvmd.ts';
import { findLv, findVg, type ObservedHost, type ObservedLv } from './observed.ts';
import { findOwnGroup } from './own-group.ts';
import type { ObservedMount } from './publication/observed.ts';
import { isMountOf } from './publication/publishable.ts';
import { isOurs, readTag } from './tags.ts';
import { isBlocked, usableVg } from './usable-vg.ts';
import { tooFewDevices } from './volume/plan.ts';

/** A configuration that worked: what the file said, and classes it no longer has but still needs. */
export type LastGood = {
  readonly spec: LvmdSpec;
  readonly retired: readonly DeviceClass[];
};

export type RefusedClass = { readonly name: string; readonly reason: string };

/** What is in force. */
export type Configuration = LastGood & {
  /** What the file says now, only the classes that are right in it, or what it said before. */
  readonly source: 'file' | 'sound-part' | 'last-good';
  /** Everything that volumes can be in, retired classes among them. */
  readonly classes: readonly DeviceClass[];
  /** Classes in which nothing new can be made, and why. */
  readonly refused: readonly RefusedClass[];
  /** What is wrong with the file as it is. */
  readonly problems: readonly Finding[];
  /** What stops nothing and should be known. */
  readonly advice: readonly string[];
};

type Serve = Configuration & { readonly kind: 'serve' };

export type ConfigurationDecision =
  | Serve
  | { readonly kind: 'refuse'; readonly problems: readonly Finding[] };

export type ConfigurationView = {
  readonly file: string;
  readonly decoded: DecodedLvmd;
  readonly last: LastGood | undefined;
  readonly host: ObservedHost;
  readonly mounts: readonly ObservedMount[];
  /** Are sockets open? Then nothing that happens to the file may close them. */
  readonly isServing: boolean;
  /** Groups that were made here as an LVMCluster asks: what they lack is being made, or lost. */
  readonly made?: ReadonlyMap<string, string>;
  /** Groups that an administrator gave up, and that were not made anew since. */
  readonly givenUp?: ReadonlySet<string>;
};

type Known = Pick<ConfigurationView, 'made' | 'givenUp'>;

/**
 * Where nothing depends on us yet a bad file is told in full and nothing is begun. Where volumes
 * are in use the last good configuration stays in force, and of it only what cannot work on this
 * host is refused. A file is taken as a whole: half of an edit is something nobody wrote. It is
 * none the worse for a disk that is away since one of its classes was in force.
 */
export function decideConfiguration(view: ConfigurationView): ConfigurationDecision {
  const { decoded, last } = view;
  const problems = problemsOf(view);
  const isGood = problems.length === 0 || problemsOf(view, last?.spec).length === 0;
  if (decoded.kind === 'lvmd' && isGood) return { ...inForce(view, decoded.spec), problems };
  if (last !== undefined && (view.isServing || isInUse(view, last))) {
    return { ...inForce(view, last.spec), source: 'last-good', problems };
  }
  const usable = decoded.kind === 'lvmd' ? decoded : decoded.sound;
  const hasVolumes = recordsIn(view.host, groupsOf(view.host)).length > 0;
  if (last === undefined && hasVolumes && usable !== undefined) {
    const source = decoded.kind === 'lvmd' ? 'file' : 'sound-part';
    const refused = faultyClasses(view, usable);
    return { ...inForce(view, usable.spec), source, refused, problems };
  }
  return { kind: 'refuse', problems };
}

function inForce(view: ConfigurationView, spec: LvmdSpec): Serve {
  const classes = lvmdDeviceClasses(spec)
    .map((each) => withPoolZeroing(each, view.host))
    .map((each) => withOwnGroup(each, view));
  const retired = retiredClasses(view, classes);
  const kept = retired.map((each) => withKnown(each, view));
  const missing = classes.flatMap((deviceClass) => {
    const reason = lackOf(deviceClass, view.host);
    return reason === undefined ? [] : [{ name: deviceClass.name, reason }];
  });
  const gone = retired.map(({ name, refusal = '' }) => ({ name, reason: refusal }));
  return {
    ...{ kind: 'serve', source: 'file', spec, retired, classes: [...classes, ...kept] },
    ...{ refused: [...missing, ...gone], problems: [], advice: adviceFor(classes, view.host) },
  };
}

/** Nothing is put into a group that took the name of the one that was made here. */
function withOwnGroup(deviceClass: DeviceClass, view: ConfigurationView): DeviceClass {
  const known = withKnown(deviceClass, view);
  if (known.isGivenUp === true && findVg(view.host, known.vg) === undefined) {
    return { ...known, refusal: `${known.vg} was given up here, and no other was made since` };
  }
  const group = usableVg(view.host, known.vg);
  // Room in one of two that nobody can tell apart by name must not draw anybody here.
  if (isBlocked(group) && group.code === 'VolumeGroupAmbiguous') {
    return { ...known, refusal: group.message };
  }
  const stranger = strangers(view).find(({ name }) => name === deviceClass.vg);
  if (stranger === undefined) return known;
  const { name, uuid } = stranger;
  const refusal =
    `${name} was ${known.vgUuid} and is another volume group now: ${uuid}; ` +
    `if the first never comes back: \`quarry forget ${name}\``;
  return { ...known, refusal };
}

/** What is known of a group is looked at wherever its absence is judged. */
function withKnown(deviceClass: DeviceClass, { made, givenUp }: Known): DeviceClass {
  const vgUuid = made?.get(deviceClass.vg);
  if (vgUuid !== undefined) return { ...deviceClass, vgUuid };
  return givenUp?.has(deviceClass.vg) === true ? { ...deviceClass, isGivenUp: true } : deviceClass;
}

/** Somebody may have given up a group that is away, and one that was given up may be there again. */
export function isInDoubt({ made, givenUp }: Known, host: ObservedHost): boolean {
  const isBack = host.vgs.some(({ name }) => givenUp?.has(name) === true);
  const known = [...(made ?? [])].map(([vg, vgUuid]) => ({ vg, vgUuid }));
  return isBack || known.some((group) => findOwnGroup(host, group) === undefined);
}

function strangers({ host, made }: Pick<ConfigurationView, 'host' | 'made'>) {
  return host.vgs.filter(({ name }) => {
    const own = made?.get(name);
    // Ours may be here under the name that somebody gave it.
    return own !== undefined && !host.vgs.some((vg) => vg.name === name && vg.uuid === own);
  });
}

/** What a pool gives out unzeroed shows what others left in it: no promise of zeroes is made. */
function withPoolZeroing(deviceClass: DeviceClass, host: ObservedHost): DeviceClass {
  const pool = unzeroedPool(deviceClass, host);
  const { wipePolicy } = deviceClass;
  if (pool === undefined || (wipePolicy !== 'zero' && wipePolicy !== 'full')) return deviceClass;
  const refusal = `its wipe policy is ${wipePolicy}, and ${unzeroedText(pool)}`;
  return { ...deviceClass, refusal };
}

function adviceFor(classes: readonly DeviceClass[], host: ObservedHost): readonly string[] {
  return classes.flatMap((each) => {
    const pool = unzeroedPool(each, host);
    if (pool === undefined || each.refusal !== undefined) return [];
    return [`the class ${each.name} shows volumes what others left: ${unzeroedText(pool)}`];
  });
}

function unzeroedText(pool: string): string {
  return `the thin pool ${pool} does not zero new blocks: \`lvchange --zero y ${pool}\` makes it`;
}

function unzeroedPool({ vg: name, layout }: DeviceClass, host: ObservedHost): string | undefined {
  const vg = findVg(host, name);
  const pool = vg === undefined || layout.kind !== 'thin' ? undefined : findLv(vg, layout.pool);
  // LVM's letters tell it and no other field does; those of a pool begin with t.
  const isUnzeroed = pool !== undefined && /^t.{6}[^z]/.test(pool.attributes);
  return isUnzeroed ? `${name}/${pool.name}` : undefined;
}

/**
 * Everything that is wrong: in the file, on the host, and for volumes that are there already. What
 * the host lacks for classes of `before` is not counted.
 */
function problemsOf(view: ConfigurationView, before?: LvmdSpec): readonly Finding[] {
  const { decoded } = view;
  const own = decoded.kind === 'problems' ? decoded.problems : [];
  const placed = decoded.kind === 'lvmd' ? decoded : decoded.whole;
  if (placed === undefined) return own;
  const all = [...own, ...hostProblems(view, placed, before), ...moveProblems(view, placed)];
  return all.toSorted((a, b) => a.line - b.line);
}

/** A volume group or thin pool that is not here. Whoever reads this is told what to create. */
function hostProblems(
  view: ConfigurationView,
  placed: PlacedSpec,
  before?: LvmdSpec,
): readonly Finding[] {
  const { file, host } = view;
  return placed.spec.deviceClasses.flatMap((spec, index) => {
    const places = placed.places[index];
    if (before?.deviceClasses.some((old) => isAtHome(spec, old)) === true) return [];
    // It is told already that there is no name.
    if (spec.volumeGroup === '' || isKnown(view, spec.volumeGroup)) return [];
    const isPool = findVg(host, spec.volumeGroup) !== undefined;
    const remedy = isPool ? poolRemedy(spec, host) : groupRemedy(spec, host);
    if (remedy === undefined || places === undefined) return [];
    const name = isPool && spec.target.kind === 'thin' ? spec.target.poolName : spec.volumeGroup;
    const place = isPool ? places.poolName : places.volumeGroup;
    return [{ file, ...place, value: quote(name), remedy }];
  });
}

function isAtHome(one: LvmdDeviceClass, { name, volumeGroup, target }: LvmdDeviceClass): boolean {
  const poolOf = (of: LvmdDeviceClass['target']) => (of.kind === 'thin' ? of.poolName : undefined);
  const isSamePlace = one.volumeGroup === volumeGroup && poolOf(one.target) === poolOf(target);
  return one.name === name && isSamePlace;
}

/** What such a group lacks is being made, or it is lost, or given up: no fault of the file. */
function isKnown({ made, givenUp }: Known, group: string): boolean {
  return made?.has(group) === true || givenUp?.has(group) === true;
}

function groupRemedy({ volumeGroup }: LvmdDeviceClass, host: ObservedHost): string {
  const known = showList(host.vgs.map(({ name }) => name)) || 'none';
  return (
    'there is no such volume group on this node: create it with ' +
    `\`vgcreate ${volumeGroup} DEVICE\`, or name one that is here: ${known}`
  );
}

function poolRemedy(spec: LvmdDeviceClass, host: ObservedHost): string | undefined {
  const { volumeGroup, target } = spec;
  const vg = findVg(host, volumeGroup);
  if (target.kind !== 'thin' || target.poolName === '' || vg === undefined) return undefined;
  const pool = findLv(vg, target.poolName);
  if (pool?.kind === 'thin-pool') return undefined;
  const pools = vg.lvs.filter(({ kind }) => kind === 'thin-pool').map(({ name }) => name);
  const known = `or name one that is here: ${showList(pools) || 'none'}`;
  if (pool !== undefined) {
    return `${volumeGroup} has a ${pool.kind} volume of that name: choose another, ${known}`;
  }
  return (
    `there is no such thin pool in ${volumeGroup}: create it with \`lvcreate --type thin-pool ` +
    `--size SIZE --name ${target.poolName} ${volumeGroup}\`, ${known}`
  );
}

/** A class cannot take its volumes along to another group: they would be lost from sight. */
function moveProblems(view: ConfigurationView, placed: PlacedSpec): readonly Finding[] {
  const { last } = view;
  const before = last === undefined ? [] : [...lvmdDeviceClasses(last.spec), ...last.retired];
  return placed.spec.deviceClasses.flatMap(({ name, volumeGroup }, index) => {
    const old = before.find((candidate) => candidate.name === name);
    if (old === undefined || old.vg === volumeGroup) return [];
    const volumes = volumesOf(view, old);
    const place = placed.places[index]?.volumeGroup;
    if (volumes.length === 0 || place === undefined) return [];
    const remedy =
      `volumes of this class are in ${old.vg} (${showFew(volumes, 3)}): keep ${old.vg}, ` +
      `and give ${volumeGroup} a class of another name`;
    return [{ file: view.file, ...place, value: quote(volumeGroup), remedy }];
  });
}

/**
 * Classes that the file no longer has, with volumes in them. These can still be shown, grown and
 * deleted; without the class nobody would know in which group to look for them.
 */
function retiredClasses(
  view: ConfigurationView,
  classes: readonly DeviceClass[],
): readonly DeviceClass[] {
  const { last, file } = view;
  if (last === undefined) return [];
  const before = [...lvmdDeviceClasses(last.spec), ...last.retired];
  return before.flatMap((old) => {
    if (classes.some(({ name }) => name === old.name)) return [];
    const { isGivenUp = false, ...known } = withKnown(old, view);
    if (findOwnGroup(view.host, known) === undefined) {
      const isRetired = last.retired.includes(old);
      if (isRetired && (isGivenUp || !wasTakenOut(old, view))) return [old];
      // A group that is away may come back with its volumes.
      const isAway = !isRetired && view.made?.has(old.vg) === true;
      const why = `it is no longer in ${file}, and its volume group ${old.vg} is away`;
      return isAway ? [{ ...known, isDefault: false, refusal: why }] : [];
    }
    const volumes = volumesOf(view, old, classes);
    if (volumes.length === 0) return [];
    const named = showFew(volumes, 3);
    const refusal = `it is no longer in ${file}, and kept for the volumes in it: ${named}`;
    return [{ ...known, isDefault: false, refusal }];
  });
}

/** Of a group that was made here, and is not known here any more, nothing comes back. */
function wasTakenOut({ vg, vgUuid }: DeviceClass, { made }: Known): boolean {
  return vgUuid !== undefined && made !== undefined && made.get(vg) !== vgUuid;
}

/** Volumes that a class made; and in a group that no other class speaks for, all that are used. */
function volumesOf(
  view: ConfigurationView,
  deviceClass: DeviceClass,
  others: readonly DeviceClass[] = [],
): readonly string[] {
  const { name, vg: vgName } = deviceClass;
  const vg = findOwnGroup(view.host, withKnown(deviceClass, view));
  if (vg === undefined) return [];
  const isOnly = others.every((other) => other.vg !== vgName);
  const isIts = (lv: ObservedLv) => isOurs(lv.tags) && readTag(lv.tags, 'class') === name;
  return vg.lvs
    .filter(isVolume)
    .filter((lv) => isIts(lv) || (isOnly && isUsed(lv, vgName, view.mounts)))
    .map((lv) => lv.name);
}

function isInUse({ host, mounts }: ConfigurationView, last: LastGood): boolean {
  const groups = new Set([...lvmdDeviceClasses(last.spec), ...last.retired].map(({ vg }) => vg));
  return host.vgs
    .filter(({ name }) => groups.has(name))
    .some((vg) => vg.lvs.some((lv) => isVolume(lv) && isUsed(lv, vg.name, mounts)));
}

function isUsed(lv: ObservedLv, vg: string, mounts: readonly ObservedMount[]): boolean {
  const volume = { vg, name: lv.name, uuid: lv.uuid };
  return isOurs(lv.tags) || lv.isOpen || mounts.some(({ owner }) => isMountOf(volume, owner));
}

function isVolume(lv: ObservedLv): boolean {
  return !lv.isInternal && lv.kind !== 'thin-pool' && lv.kind !== 'pvmove';
}

/** Why nothing can be made in a class on this host, in a few words. */
function lackOf(deviceClass: DeviceClass, host: ObservedHost): string | undefined {
  const { vg: name, layout, refusal } = deviceClass;
  if (refusal !== undefined) return refusal;
  const vg = findVg(host, name);
  if (vg === undefined) return `there is no volume group ${name}`;
  if (layout.kind !== 'thin') return tooFewDevices(layout, vg)?.message;
  if (findLv(vg, layout.pool)?.kind === 'thin-pool') return undefined;
  return `there is no thin pool ${name}/${layout.pool}`;
}

/** Without a last good configuration: the sound classes are served, the others cannot be. */
function faultyClasses(view: ConfigurationView, usable: PlacedSpec): readonly RefusedClass[] {
  const lacking = inForce(view, usable.spec).refused;
  if (view.decoded.kind === 'lvmd') return lacking;
  const fields = view.decoded.problems.map(({ field }) => /^[^.]*/.exec(field)?.[0] ?? field);
  const broken = [...new Set(fields)].map((name) => ({ name, reason: 'it cannot be read' }));
  return [...lacking, ...broken];
}

function groupsOf(host: ObservedHost): ReadonlySet<string> {
  return new Set(host.vgs.map(({ name }) => name));
}
