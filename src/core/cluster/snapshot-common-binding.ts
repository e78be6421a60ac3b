import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { PersistentVolume } from '../../api/objects/persistent-volume.ts';
import type {
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from '../../api/objects/snapshot.ts';
import { type SnapshotNews, snapshotNews } from './snapshot-common-status.ts';
import {
  boundFinalizer,
  claimFinalizer,
  contentName,
  defaultClassAnnotation,
  deletionSecretName,
  deletionSecretNamespace,
  memberFinalizer,
  snapshotGroup,
  snapshotMarks,
  sourceFinalizer,
} from './snapshot-content-marks.ts';

/** Everything that a VolumeSnapshot is decided from. */
export type SnapshotView = {
  readonly snapshot: VolumeSnapshot;
  readonly contentOf: (name: string) => VolumeSnapshotContent | undefined;
  /** The claim that it is taken of, and the volume that this is bound to. */
  readonly claim: PersistentVolumeClaim | undefined;
  readonly volume: PersistentVolume | undefined;
  readonly classes: Iterable<VolumeSnapshotClass>;
  /** Claims that are being made from it. */
  readonly restores: readonly PersistentVolumeClaim[];
};

/** One thing to do for a VolumeSnapshot. */
export type SnapshotStep =
  | { readonly kind: 'rest' }
  | { readonly kind: 'finalizers'; readonly finalizers: readonly string[] }
  | { readonly kind: 'choose-class'; readonly className: string }
  | { readonly kind: 'protect-claim'; readonly claim: PersistentVolumeClaim }
  | { readonly kind: 'create-content'; readonly content: NewContent }
  | { readonly kind: 'bind-content'; readonly content: VolumeSnapshotContent }
  | { readonly kind: 'tell'; readonly news: SnapshotNews }
  /** Tell the driver that it may remove what the content stands for. */
  | { readonly kind: 'mark-content'; readonly content: VolumeSnapshotContent }
  | { readonly kind: 'delete-content'; readonly content: VolumeSnapshotContent }
  /** Something of others has to happen first. */
  | { readonly kind: 'wait'; readonly reason: string; readonly message: string }
  | { readonly kind: 'fail'; readonly reason: string; readonly message: string };

export type NewContent = {
  readonly metadata: {
    readonly name: string;
    readonly finalizers: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: VolumeSnapshotContent['spec'];
};

const rest = { kind: 'rest' } as const;

export function snapshotStep(view: SnapshotView): SnapshotStep {
  const { snapshot } = view;
  if (snapshot.metadata.deletionTimestamp !== undefined) return endingStep(view);
  const { persistentVolumeClaimName, volumeSnapshotContentName } = snapshot.spec.source;
  if ((persistentVolumeClaimName === undefined) === (volumeSnapshotContentName === undefined)) {
    const message = 'its source must be a claim or a content, and one of them only';
    return fail('SnapshotValidationError', message);
  }
  const finalizers = wantedFinalizers(view);
  if (finalizers !== undefined) return { kind: 'finalizers', finalizers };
  const { boundVolumeSnapshotContentName: bound, readyToUse } = snapshot.status ?? {};
  if (bound !== undefined && readyToUse === true) return readyStep(view, bound);
  return volumeSnapshotContentName === undefined
    ? madeStep(view, persistentVolumeClaimName ?? '')
    : givenStep(view, volumeSnapshotContentName);
}

/** A content is of a snapshot only if both name each other, by UID. */
export function isBoundTo(content: VolumeSnapshotContent, snapshot: VolumeSnapshot): boolean {
  return (
    refersTo(content, snapshot) && content.spec.volumeSnapshotRef.uid === snapshot.metadata.uid
  );
}

function refersTo({ spec }: VolumeSnapshotContent, { metadata }: VolumeSnapshot): boolean {
  const { namespace, name } = spec.volumeSnapshotRef;
  return namespace === metadata.namespace && name === metadata.name;
}

/** Undefined: they are there. */
function wantedFinalizers({ snapshot, contentOf }: SnapshotView): readonly string[] | undefined {
  const has = snapshot.metadata.finalizers ?? [];
  const bound = snapshot.status?.boundVolumeSnapshotContentName;
  const content = bound === undefined ? undefined : contentOf(bound);
  const isDeleting = content !== undefined && content.spec.deletionPolicy === 'Delete';
  const isBound = isDeleting && isBoundTo(content, snapshot);
  const wanted = [sourceFinalizer, ...(isBound ? [boundFinalizer] : [])];
  const missing = wanted.filter((finalizer) => !has.includes(finalizer));
  return missing.length === 0 ? undefined : [...has, ...missing];
}

/** What is ready stays so, unless what it lives by is gone. */
function readyStep({ snapshot, contentOf }: SnapshotView, bound: string): SnapshotStep {
  const content = contentOf(bound);
  if (content === undefined) {
    return fail('SnapshotContentMissing', `the VolumeSnapshotContent ${bound} is missing`);
  }
  if (isBoundTo(content, snapshot)) return rest;
  return fail('SnapshotMisbound', `the VolumeSnapshotContent ${bound} is another snapshot's`);
}

function givenStep({ snapshot, contentOf }: SnapshotView, name: string): SnapshotStep {
  const content = contentOf(name);
  if (content === undefined) {
    return fail('SnapshotContentMissing', `the VolumeSnapshotContent ${name} is missing`);
  }
  const { uid = '' } = content.spec.volumeSnapshotRef;
  if (!refersTo(content, snapshot) || (uid !== '' && uid !== snapshot.metadata.uid)) {
    const { namespace, name: other } = content.spec.volumeSnapshotRef;
    const message = `the VolumeSnapshotContent ${name} is bound to ${namespace}/${other} ${uid}`;
    return fail('SnapshotContentMisbound', message.trim());
  }
  if (content.spec.source.snapshotHandle === undefined) {
    const message = `the VolumeSnapshotContent ${name} names no snapshot that exists`;
    return fail('SnapshotContentMismatch', `${message}: it has no snapshotHandle`);
  }
  if (uid === '') return { kind: 'bind-content', content };
  return tellStep(snapshot, content);
}

function madeStep(view: SnapshotView, claimName: string): SnapshotStep {
  const { snapshot, contentOf } = view;
  const name = contentName(snapshot.metadata.uid);
  const content = contentOf(name);
  if (content === undefined) {
    // Another one would show another moment under the same name.
    const isLost = snapshot.status?.boundVolumeSnapshotContentName !== undefined;
    if (!isLost) return creationStep(view, claimName, name);
    const message = `the VolumeSnapshotContent ${name} is missing`;
    return fail('SnapshotContentMissing', `${message}. Make another snapshot`);
  }
  if (!isBoundTo(content, snapshot)) {
    return fail('SnapshotContentMisbound', `the VolumeSnapshotContent ${name} is another's`);
  }
  if (content.spec.source.volumeHandle === undefined) {
    const message = `the VolumeSnapshotContent ${name} has no volumeHandle`;
    return fail('SnapshotContentMismatch', `${message}, and the snapshot is of a claim`);
  }
  return tellStep(snapshot, content);
}

function tellStep(snapshot: VolumeSnapshot, content: VolumeSnapshotContent): SnapshotStep {
  const news = snapshotNews(snapshot, content);
  return news === undefined ? rest : { kind: 'tell', news };
}

/** The claim is held before its volume is named anywhere. */
function creationStep(view: SnapshotView, claimName: string, name: string): SnapshotStep {
  const { snapshot, claim, volume, classes } = view;
  const problem = (message: string) => fail('SnapshotContentCreationFailed', message);
  if (claim === undefined) return problem(`there is no claim ${claimName}`);
  if (claim.status?.phase !== 'Bound' || volume === undefined) {
    return problem(`the claim ${claimName} is not bound to a volume yet`);
  }
  if (volume.spec.claimRef?.uid !== claim.metadata.uid) {
    return problem(`the volume ${volume.metadata.name} is not bound to the claim ${claimName}`);
  }
  const { csi } = volume.spec;
  if (csi === undefined) return problem(`the volume ${volume.metadata.name} is no CSI volume`);
  const chosen = chooseClass(snapshot.spec.volumeSnapshotClassName, csi.driver, [...classes]);
  if ('kind' in chosen) return chosen;
  if (snapshot.spec.volumeSnapshotClassName === undefined) {
    return { kind: 'choose-class', className: chosen.metadata.name };
  }
  if (claim.metadata.finalizers?.includes(claimFinalizer) !== true) {
    if (claim.metadata.deletionTimestamp === undefined) return { kind: 'protect-claim', claim };
    return problem(`the claim ${claimName} is being deleted`);
  }
  const content = newContent(snapshot, { name, chosen, volume, handle: csi.volumeHandle });
  return 'kind' in content ? content : { kind: 'create-content', content };
}

function chooseClass(
  name: string | undefined,
  driver: string,
  classes: readonly VolumeSnapshotClass[],
): VolumeSnapshotClass | (SnapshotStep & { kind: 'fail' }) {
  const named = classes.find(({ metadata }) => metadata.name === name);
  if (name !== undefined) {
    if (named === undefined) {
      return fail('GetSnapshotClassFailed', `there is no VolumeSnapshotClass ${name}. Create it`);
    }
    if (named.driver === driver) return named;
    const message = `the VolumeSnapshotClass ${name} is of ${named.driver}`;
    return fail('SnapshotContentCreationFailed', `${message}, and the volume is of ${driver}`);
  }
  const defaults = classes.filter(
    (one) => one.driver === driver && one.metadata.annotations?.[defaultClassAnnotation] === 'true',
  );
  const [only] = defaults;
  if (only !== undefined && defaults.length === 1) return only;
  const message = `${defaults.length} classes of ${driver} are the default one`;
  return fail('SetDefaultSnapshotClassFailed', `${message}. Name a class, or mark exactly one`);
}

const secretName = 'csi.storage.k8s.io/snapshotter-secret-name';
const secretNamespace = 'csi.storage.k8s.io/snapshotter-secret-namespace';

/** It is held from its first moment on: nobody can delete it past its driver. */
function newContent(
  snapshot: VolumeSnapshot,
  parts: {
    readonly name: string;
    readonly chosen: VolumeSnapshotClass;
    readonly volume: PersistentVolume;
    readonly handle: string;
  },
): NewContent | (SnapshotStep & { kind: 'fail' }) {
  const { chosen, volume } = parts;
  const { namespace = '', name, uid } = snapshot.metadata;
  const secret = [chosen.parameters?.[secretName], chosen.parameters?.[secretNamespace]];
  if ((secret[0] === undefined) !== (secret[1] === undefined)) {
    const message = `the VolumeSnapshotClass ${chosen.metadata.name} names half a secret`;
    return fail('SnapshotContentCreationFailed', `${message}. Give its name and its namespace`);
  }
  const filled = secret.map((text) =>
    filledIn(text ?? '', { namespace, name, content: parts.name }),
  );
  const annotations = {
    [deletionSecretName]: filled[0] ?? '',
    [deletionSecretNamespace]: filled[1] ?? '',
  };
  const { volumeMode } = volume.spec;
  return {
    metadata: {
      name: parts.name,
      finalizers: [snapshotMarks.finalizer],
      ...(secret[0] === undefined ? {} : { annotations }),
    },
    spec: {
      ...{ driver: chosen.driver, deletionPolicy: chosen.deletionPolicy },
      source: { volumeHandle: parts.handle },
      volumeSnapshotClassName: chosen.metadata.name,
      volumeSnapshotRef: {
        ...{ kind: 'VolumeSnapshot', apiVersion: `${snapshotGroup}/v1` },
        ...{ namespace, name, uid },
      },
      ...(volumeMode === undefined ? {} : { sourceVolumeMode: volumeMode }),
    },
  };
}

function filledIn(
  template: string,
  known: { readonly namespace: string; readonly name: string; readonly content: string },
): string {
  return template
    .replaceAll(token('volumesnapshotcontent.name'), known.content)
    .replaceAll(token('volumesnapshot.namespace'), known.namespace)
    .replaceAll(token('volumesnapshot.name'), known.name);
}

function token(what: string): string {
  return ['$', `{${what}}`].join('');
}

/** It goes after its content, and that only by the word of both. */
function endingStep(view: SnapshotView): SnapshotStep {
  const { snapshot, restores } = view;
  const { namespace, name, finalizers = [] } = snapshot.metadata;
  const group = snapshot.status?.volumeGroupSnapshotName;
  if (group !== undefined || finalizers.includes(memberFinalizer)) {
    const message = `${namespace}/${name} goes with its group snapshot ${group ?? ''}`.trim();
    return wait(`${message}. Delete that`);
  }
  const content = ownContent(view);
  if (content !== undefined) {
    const [restore] = restores;
    if (restore !== undefined) {
      const message = `the claim ${restore.metadata.name} is being made from ${namespace}/${name}`;
      return wait(`${message}. It goes when that is done or deleted`);
    }
    const step = contentEnding(content);
    if (step !== undefined) return step;
  }
  const ours = [sourceFinalizer, boundFinalizer];
  const left = finalizers.filter((finalizer) => !ours.includes(finalizer));
  return left.length === finalizers.length ? rest : { kind: 'finalizers', finalizers: left };
}

/** Undefined: the snapshot need not wait for it. */
function contentEnding(content: VolumeSnapshotContent): SnapshotStep | undefined {
  if (content.metadata.annotations?.[snapshotMarks.beingDeleted] === undefined) {
    return { kind: 'mark-content', content };
  }
  if (content.spec.deletionPolicy !== 'Delete') return undefined;
  return content.metadata.deletionTimestamp === undefined
    ? { kind: 'delete-content', content }
    : rest;
}

/** Also one whose name was not written down any more when somebody died. */
function ownContent({ snapshot, contentOf }: SnapshotView): VolumeSnapshotContent | undefined {
  const content = contentOf(contentNameOf(snapshot));
  return content !== undefined && isBoundTo(content, snapshot) ? content : undefined;
}

/** The content that a snapshot has, if it has one. */
export function contentNameOf({ spec, status, metadata }: VolumeSnapshot): string {
  return (
    status?.boundVolumeSnapshotContentName ??
    spec.source.volumeSnapshotContentName ??
    contentName(metadata.uid)
  );
}

function fail(reason: string, message: string): SnapshotStep & { kind: 'fail' } {
  return { kind: 'fail', reason, message };
}

function wait(message: string): SnapshotStep {
  return { kind: 'wait', reason: 'SnapshotDeletePending', message };
}
