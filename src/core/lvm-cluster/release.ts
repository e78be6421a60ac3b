import { pathsOf } from '../../api/lvm-cluster/paths.ts';
import type { LvmVolumeGroup, LvmVolumeGroupSpec } from '../../api/objects/lvm-volume-group.ts';
import type { ObservedNode } from '../observed.ts';
import type { DesiredVg } from '../volume-group/desired.ts';
import { isMoving, isWanted, pathsOfPv, planReleasedLabel } from '../volume-group/plan.ts';
import { groupFinalizerPrefix } from './marks.ts';

/**
 * Devices that shall leave the group of one node: the path that named each of them, and the PV that
 * the agent found there, '' before it has looked. From then on the PV counts, and not what is found
 * at the path. Whatever has left is struck out, and so is what was never in the group.
 */
export type ReleaseNote = Readonly<Record<string, string>>;

/** One for each node that may have the group. The operator begins it, the agent ends it. */
export function releaseAnnotation(node: string): string {
  return `release.devices.quarry.io/${node}`;
}

/** What cannot be read lets nothing leave. */
export function releaseNote({ metadata }: LvmVolumeGroup, node: string): ReleaseNote {
  try {
    const text = metadata.annotations?.[releaseAnnotation(node)] ?? '{}';
    const entries = Object.entries((JSON.parse(text) ?? {}) as object);
    return Object.fromEntries(entries.filter(([, pv]) => typeof pv === 'string'));
  } catch {
    return {};
  }
}

/** As it stands in the annotation; undefined for one that has ended. */
export function noteText(note: ReleaseNote): string | undefined {
  const entries = Object.entries(note).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return entries.length === 0 ? undefined : JSON.stringify(Object.fromEntries(entries));
}

/** Annotations that differ once a group has another spec; undefined for those that go. */
export function noteChanges(
  group: LvmVolumeGroup,
  spec: LvmVolumeGroupSpec,
): readonly (readonly [key: string, text: string | undefined])[] {
  const { finalizers = [], annotations = {} } = group.metadata;
  const marked = endingsOf(finalizers, groupFinalizerPrefix);
  const noted = endingsOf(Object.keys(annotations), releaseAnnotation(''));
  return [...new Set([...marked, ...noted])].toSorted().flatMap((node) => {
    const key = releaseAnnotation(node);
    const text = marked.includes(node) ? noteText(noteFor(group, spec, node)) : undefined;
    return text === annotations[key] ? [] : [[key, text] as const];
  });
}

/**
 * Devices leave a group only when they were named in it once and are not any more: a name that
 * cannot be found today says nothing.
 */
function noteFor(group: LvmVolumeGroup, spec: LvmVolumeGroupSpec, node: string): ReleaseNote {
  const named = new Set(pathsOf(spec).map(({ path }) => path));
  const before = pathsOf(group.spec ?? {}).map(({ path }) => [path, ''] as const);
  const all = [...before, ...Object.entries(releaseNote(group, node))];
  // What was found there may be on its way already: only who sees it can strike it out.
  return Object.fromEntries(all.filter(([path, pv]) => pv !== '' || !named.has(path)));
}

function endingsOf(keys: readonly string[], prefix: string): readonly string[] {
  return keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
}

/** The same note after a look. A group that is away, or may be another one, says nothing. */
export function noteAfterLook(
  note: ReleaseNote,
  desired: DesiredVg,
  node: ObservedNode,
): ReleaseNote {
  const [vg, twin] = node.vgs.filter(({ name }) => name === desired.name);
  const isKnown = desired.uuid !== undefined;
  if (vg === undefined) return isKnown ? note : {};
  if (twin !== undefined || (isKnown && vg.uuid !== desired.uuid)) return note;
  const left = Object.entries(note).flatMap(([path, uuid]) => {
    const pv = vg.pvs.find((each) =>
      uuid === '' ? !each.isMissing && pathsOfPv(each, node).includes(path) : each.uuid === uuid,
    );
    // By another name, or named again: it is wanted after all, and stays when nothing is moved.
    const isLeaving =
      pv !== undefined &&
      (!isWanted(desired.selector, pathsOfPv(pv, node)) || (uuid !== '' && isMoving(vg, node)));
    if (isLeaving) return [[path, pv.uuid] as const];
    const isLabelled = planReleasedLabel({ ...desired, release: [uuid] }, node) !== undefined;
    return pv === undefined && isLabelled ? [[path, uuid] as const] : [];
  });
  return Object.fromEntries(left);
}
