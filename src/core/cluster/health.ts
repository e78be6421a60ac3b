import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import type { PersistentVolume } from '../../api/objects/persistent-volume.ts';
import type { Node } from '../../api/objects/storage.ts';
import { limits } from '../../base/limits.ts';
import type { VolumeCondition } from '../publication/status.ts';
import type { ClaimEvent } from './conditions.ts';
import { conditionAnnotation, toldConditionAnnotation, toldNodeAnnotation } from './names.ts';

/**
 * The channel from agents to the operator: an annotation of the LogicalVolume has what is wrong
 * with the LV. What is well has none, so a cluster without trouble costs no write.
 */
export function conditionText({ isAbnormal, message }: VolumeCondition): string | undefined {
  return isAbnormal ? message.slice(0, limits.messageBytesMax) : undefined;
}

/** For whoever shows a volume: what its agent said last. */
export function conditionOf({ metadata }: LogicalVolume): VolumeCondition {
  const text = metadata.annotations?.[conditionAnnotation];
  if (text === undefined) return { isAbnormal: false, message: 'the volume is healthy' };
  return { isAbnormal: true, message: text };
}

export type ConditionWrite =
  | { readonly kind: 'keep' }
  /** The value of the annotation; null takes it off. */
  | { readonly kind: 'write'; readonly value: string | null };

/** What an agent has to write. A pool that fills, percent by percent, is written once. */
export function conditionWrite(volume: LogicalVolume, condition: VolumeCondition): ConditionWrite {
  const before = volume.metadata.annotations?.[conditionAnnotation];
  const now = conditionText(condition);
  if (isSameText(before, now)) return { kind: 'keep' };
  return { kind: 'write', value: now ?? null };
}

/** What keeps a node from showing its volumes; undefined: nothing that we know of. */
export type NodeTrouble = 'gone' | 'unreachable' | 'not ready';

/** The control plane taints whom it no longer hears: a smaller field than a Node's conditions. */
export function nodeTrouble(node: Node | undefined): NodeTrouble | undefined {
  if (node === undefined) return 'gone';
  const keys = (node.spec?.taints ?? []).flatMap(({ key, effect }) =>
    effect === 'NoExecute' ? [key] : [],
  );
  if (keys.includes('node.kubernetes.io/unreachable')) return 'unreachable';
  return keys.includes('node.kubernetes.io/not-ready') ? 'not ready' : undefined;
}

export type HealthView = {
  readonly logicalVolume: LogicalVolume;
  /** Who has the volume, if anybody has. Asked only when there is something to tell. */
  readonly findClaim: () => PersistentVolumeClaim | undefined;
  readonly trouble: NodeTrouble | undefined;
  /** Since when the trouble has been seen. */
  readonly troubleSinceMs: number;
  readonly nowMs: number;
};

export type HealthDecision =
  | { readonly kind: 'rest' }
  | { readonly kind: 'wait'; readonly afterMs: number }
  | {
      readonly kind: 'tell';
      readonly claim: PersistentVolumeClaim;
      readonly events: readonly ClaimEvent[];
      /** The same for the same news, whatever else changed. */
      readonly newsKey: string;
      /** Merged into the LogicalVolume: what was told, so that nobody is told twice. */
      readonly patch: object;
    };

/** What the user of a volume should hear that he has not heard yet. */
export function decideHealth(view: HealthView): HealthDecision {
  const { logicalVolume, findClaim } = view;
  if (logicalVolume.metadata.deletionTimestamp !== undefined) return { kind: 'rest' };
  const node = nodeNews(view);
  const condition = conditionNews(logicalVolume);
  const news = [node, condition].filter((item) => item.kind === 'news');
  if (news.length === 0) return node.kind === 'wait' ? node : { kind: 'rest' };
  const claim = findClaim();
  if (claim === undefined) return { kind: 'rest' };
  const annotations = Object.fromEntries(news.map(({ mark, value }) => [mark, value]));
  const { resourceVersion } = logicalVolume.metadata;
  return {
    ...{ kind: 'tell', claim, events: news.map(({ event }) => event) },
    newsKey: JSON.stringify(annotations),
    patch: { metadata: { resourceVersion, annotations } },
  };
}

type News =
  | { readonly kind: 'rest' }
  | { readonly kind: 'wait'; readonly afterMs: number }
  | {
      readonly kind: 'news';
      readonly event: ClaimEvent;
      readonly mark: string;
      readonly value: string | null;
    };

function nodeNews({ logicalVolume, trouble, troubleSinceMs, nowMs }: HealthView): News {
  const told = logicalVolume.metadata.annotations?.[toldNodeAnnotation];
  const mark = toldNodeAnnotation;
  const { nodeName } = logicalVolume.spec;
  if (trouble === undefined) {
    if (told === undefined) return { kind: 'rest' };
    const message = `The node ${nodeName}, which has the volume, is back.`;
    const event = { type: 'Normal', reason: 'NodeRecovered', message } as const;
    return { kind: 'news', event, mark, value: null };
  }
  if (told !== undefined) return { kind: 'rest' };
  const leftMs = troubleSinceMs + limits.nodeFailedMs - nowMs;
  if (leftMs > 0) return { kind: 'wait', afterMs: leftMs };
  const minutes = Math.floor((nowMs - troubleSinceMs) / 60_000);
  const who = `The node ${nodeName}, which has the volume,`;
  const what = `${who} has been ${trouble} for at least ${minutes} minutes`;
  const remedy = 'bring the node back: the data is on its disks and nowhere else';
  const message = `${what}. Remedy: ${remedy}.`;
  return {
    ...{ kind: 'news', mark, value: 'true' },
    event: { type: 'Warning', reason: 'NodeFailed', message },
  };
}

function conditionNews(logicalVolume: LogicalVolume): News {
  const annotations = logicalVolume.metadata.annotations ?? {};
  const told = annotations[toldConditionAnnotation];
  const now = annotations[conditionAnnotation];
  if (isSameText(told, now)) return { kind: 'rest' };
  const mark = toldConditionAnnotation;
  const event: ClaimEvent =
    now === undefined
      ? { type: 'Normal', reason: 'VolumeConditionNormal', message: 'The volume is healthy again.' }
      : { type: 'Warning', reason: 'VolumeConditionAbnormal', message: sentence(now) };
  return { kind: 'news', event, mark, value: now ?? null };
}

/** How full something is changes all the time, and is no news. */
function isSameText(a: string | undefined, b: string | undefined): boolean {
  return a?.replace(percents, '') === b?.replace(percents, '');
}

const percents = /\d+(?:\.\d+)? %/g;

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** The claim that a volume belongs to now, whoever it was made for. */
export function isClaimOf(claim: PersistentVolumeClaim, volume: PersistentVolume): boolean {
  const { claimRef } = volume.spec;
  return (
    claimRef?.uid === claim.metadata.uid &&
    claimRef.namespace === claim.metadata.namespace &&
    claim.spec.volumeName === volume.metadata.name
  );
}
