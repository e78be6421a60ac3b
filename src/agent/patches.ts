import type { LogicalVolume, LogicalVolumeStatus } from '../api/objects/logical-volume.ts';
import type { KubeObject } from '../api/objects/metadata.ts';
import { conditionAnnotation } from '../core/cluster/names.ts';
import { type JsonOperation, type Patch, pointer } from '../kube/patch.ts';

/** Only this very object: a new one may have its name by now. */
function sameObject({ metadata }: KubeObject): JsonOperation {
  return { op: 'test', path: pointer('metadata', 'uid'), value: metadata.uid };
}

/** A list or a map that is not there is added as a whole: nobody may have added one since. */
function sameVersion({ metadata }: KubeObject): JsonOperation {
  const path = pointer('metadata', 'resourceVersion');
  return { op: 'test', path, value: metadata.resourceVersion };
}

/** What others put into the list since is not lost: then nothing is written. */
function finalizersPatch(object: KubeObject, value: readonly string[]): JsonOperation[] {
  const path = pointer('metadata', 'finalizers');
  const { finalizers = [] } = object.metadata;
  if (finalizers.length === 0) return [{ op: 'add', path, value }];
  return [
    { op: 'test', path, value: finalizers },
    { op: 'replace', path, value },
  ];
}

export function releasePatch(object: LogicalVolume, finalizers: readonly string[]): Patch {
  return { type: 'json', operations: [sameObject(object), ...finalizersPatch(object, finalizers)] };
}

export function markPatch(
  object: LogicalVolume,
  marks: {
    readonly finalizers: readonly string[];
    readonly labels: Readonly<Record<string, string>>;
  },
): Patch {
  const { labels, finalizers = [] } = object.metadata;
  const isMarked = marks.finalizers.length === finalizers.length;
  const each = Object.entries(marks.labels).map(([key, value]): JsonOperation => {
    return { op: 'add', path: pointer('metadata', 'labels', key), value };
  });
  const all: JsonOperation = {
    op: 'add',
    path: pointer('metadata', 'labels'),
    value: marks.labels,
  };
  return {
    type: 'json',
    operations: [
      sameObject(object),
      sameVersion(object),
      ...(isMarked ? [] : finalizersPatch(object, marks.finalizers)),
      ...(labels === undefined ? [all] : each),
    ],
  };
}

/** Merged, because nobody else writes this key; the uid is compared by the server. */
export function conditionPatch({ metadata }: LogicalVolume, value: string | null): Patch {
  const annotations = { [conditionAnnotation]: value };
  return { type: 'merge', body: { metadata: { uid: metadata.uid, annotations } } };
}

/** Fields that we do not know stay as they are. */
export function statusPatch(object: LogicalVolume, status: LogicalVolumeStatus): Patch {
  const fields = Object.entries(status).map(([key, value]): JsonOperation => {
    return { op: 'add', path: pointer('status', key), value };
  });
  const whole: JsonOperation = { op: 'add', path: pointer('status'), value: status };
  const isThere = object.status !== undefined;
  return { type: 'json', operations: [sameObject(object), ...(isThere ? fields : [whole])] };
}

/** Keys that are null are taken off; `finalizers` are all of them, where they change. */
export function nodePatch(
  node: KubeObject,
  change: {
    readonly annotations: Readonly<Record<string, string | null>>;
    readonly finalizers: readonly string[] | undefined;
  },
): Patch {
  const { annotations, finalizers = [] } = node.metadata;
  const isFirst = change.finalizers !== undefined && finalizers.length === 0;
  const root = pointer('metadata', 'annotations');
  const each = Object.entries(change.annotations).map(([key, value]): JsonOperation => {
    const path = pointer('metadata', 'annotations', key);
    return value === null ? { op: 'remove', path } : { op: 'add', path, value };
  });
  return {
    type: 'json',
    operations: [
      sameObject(node),
      ...(annotations === undefined || isFirst ? [sameVersion(node)] : []),
      ...(change.finalizers === undefined ? [] : finalizersPatch(node, change.finalizers)),
      ...(annotations === undefined ? [{ op: 'add', path: root, value: {} } as const] : []),
      ...each,
    ],
  };
}
