import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import type { ClusterEvent } from '../../api/objects/workload.ts';
import { conditionOf } from '../cluster/health.ts';
import { idOf, isGoing, kindOf } from '../cluster/logical-volume.ts';
import { isInUse, lostMessage } from '../cluster/lost-volume.ts';
import { decideOrphan, type Owners, snapshotOwners } from '../cluster/orphans.ts';
import { toldStrays } from '../cluster/strays.ts';
import { selectedNodeAnnotation } from '../cluster/topology.ts';
import { type Finding, finding, parted } from './finding.ts';
import { type ClusterPicture, isSettled } from './picture.ts';
import { type Rule, refTo } from './rule.ts';

/** Volumes, and those who wait for them. */
export const volumeRules: readonly Rule[] = [
  { needs: ['claims', 'classes', 'events'], judge: claimWaits },
  { needs: ['logicalVolumes'], judge: volumeRefused },
  { needs: ['logicalVolumes', 'reports'], judge: volumeUnwell },
  { needs: ['logicalVolumes', 'nodes'], judge: volumeStranded },
  { needs: ['logicalVolumes', 'volumes', 'nodes'], judge: volumeLost },
  { needs: ['nodes'], judge: volumesStray },
  { needs: ['logicalVolumes', 'claims', 'volumes'], judge: volumeOrphaned },
  {
    needs: ['logicalVolumes', 'volumes', 'snapshotContents', 'groupContents'],
    judge: snapshotOrphaned,
  },
];

function claimWaits(picture: ClusterPicture): readonly Finding[] {
  return waitingClaims(picture).flatMap((claim) => {
    const text = whyWaits(claim, picture);
    if (text === undefined) return [];
    const object = refTo('PersistentVolumeClaim', claim);
    return [finding('ClaimWaits', { object, ...parted(text) })];
  });
}

/** Claims of our classes that have no volume yet. */
export function waitingClaims({
  claims,
  classes,
  names,
}: Pick<ClusterPicture, 'claims' | 'classes' | 'names'>): readonly PersistentVolumeClaim[] {
  const ours = new Set(
    classes
      .filter(({ provisioner }) => provisioner === names.driver)
      .map(({ metadata }) => metadata.name),
  );
  return claims.filter(
    ({ spec, status }) =>
      ours.has(spec.storageClassName ?? '') && (status?.phase ?? 'Pending') === 'Pending',
  );
}

/** Undefined for one that only waits for its first pod, or has just been made. */
export function whyWaits(
  claim: PersistentVolumeClaim,
  picture: Pick<ClusterPicture, 'events' | 'names' | 'classes' | 'settledBefore'>,
): string | undefined {
  const { uid, annotations = {}, creationTimestamp } = claim.metadata;
  const told = picture.events
    .filter(({ involvedObject }) => involvedObject.uid === uid)
    .toSorted((one, other) => (timeOf(one) < timeOf(other) ? 1 : -1));
  const isOurs = ({ source, reportingComponent }: ClusterEvent) =>
    `${source?.component ?? ''} ${reportingComponent ?? ''}`.includes(picture.names.driver);
  const last = told.find(isOurs) ?? told.find(({ type }) => type === 'Warning');
  if (last?.type === 'Warning') return eventText(last);
  if (!isSettled(picture, creationTimestamp)) return undefined;
  const unplaced = told.find(({ reason }) => reason === 'WaitForPodScheduled');
  const isPlaced = annotations[selectedNodeAnnotation] !== undefined;
  if (!isPlaced && unplaced !== undefined) return eventText(unplaced);
  const storageClass = picture.classes.find(
    ({ metadata }) => metadata.name === claim.spec.storageClassName,
  );
  const waitsForPod = storageClass?.volumeBindingMode === 'WaitForFirstConsumer' && !isPlaced;
  return waitsForPod ? undefined : `it waits since ${creationTimestamp}, and nobody said why`;
}

function eventText({ reason = '', message = '' }: ClusterEvent): string {
  return `${reason}: ${message}`;
}

function timeOf({ lastTimestamp, eventTime, metadata }: ClusterEvent): string {
  return lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '';
}

function volumeRefused({ logicalVolumes }: ClusterPicture): readonly Finding[] {
  return logicalVolumes.filter(isRefused).map((volume) => {
    const { code, message = '' } = volume.status ?? {};
    const what = `code ${code}: ${message === '' ? 'its node said no more' : message}`;
    return of('VolumeRefused', volume, what);
  });
}

export function isRefused({ status }: LogicalVolume): boolean {
  return (status?.code ?? 0) !== 0;
}

const onItsWay = /^(its copies are in step for|it is still being copied)/;
const ofPool = /^its thin pool (\S+): (.*(?:out_of_data|% full).*)$/;

/** A pool that is full is told once, not for each volume in it. */
function volumeUnwell({ logicalVolumes, reports }: ClusterPicture): readonly Finding[] {
  const pools = new Map<string, Finding>();
  const others: Finding[] = [];
  for (const volume of logicalVolumes) {
    const condition = conditionOf(volume);
    if (!condition.isAbnormal || isGoing(volume)) continue;
    const [, place = '', text = ''] = /^(\S+): (.*)$/s.exec(condition.message) ?? [];
    const complaints = (text === '' ? condition.message : text).split('; ');
    const full = complaints.filter((one) => ofPool.test(one));
    const rest = complaints.filter((one) => !ofPool.test(one) && !onItsWay.test(one));
    const [vg = ''] = place.split('/');
    const { nodeName } = volume.spec;
    const isReported = reports
      .find(({ metadata }) => metadata.name === nodeName)
      ?.spec?.nodeStatus?.some(({ name }) => name === vg);
    if (full.length > 0 && isReported !== true) {
      const [, pool = ''] = ofPool.exec(full[0] ?? '') ?? [];
      const what = `${vg}/${pool} on ${nodeName}: ${full.join('; ')}`;
      const key = `${nodeName} ${vg}/${pool}`;
      if (!pools.has(key)) pools.set(key, of('PoolFull', volume, what));
    }
    if (rest.length > 0) others.push(of('VolumeUnwell', volume, rest.join('; ')));
  }
  return [...pools.values(), ...others];
}

function volumeStranded({ logicalVolumes, nodes }: ClusterPicture): readonly Finding[] {
  const known = new Set(nodes.map(({ metadata }) => metadata.name));
  return logicalVolumes
    .filter(({ spec }) => !known.has(spec.nodeName))
    .map((volume) => {
      const going = isGoing(volume) ? ', and it is being deleted' : '';
      const what = `its node ${volume.spec.nodeName} is not in the cluster${going}`;
      return of('VolumeStranded', volume, what);
    });
}

function volumeLost(picture: ClusterPicture): readonly Finding[] {
  const { logicalVolumes, volumes, nodes, names, servesLogicalVolumes } = picture;
  if (!servesLogicalVolumes) return [];
  const handles = new Set(logicalVolumes.flatMap((one) => [one.metadata.uid, idOf(one)]));
  return volumes
    .filter((volume) => isInUse(volume, names.driver))
    .filter(({ metadata }) => isSettled(picture, metadata.creationTimestamp))
    .filter(({ spec }) => !handles.has(spec.csi?.volumeHandle ?? ''))
    .map((volume) => {
      const object = refTo('PersistentVolume', volume);
      return finding('LogicalVolumeMissing', { object, ...parted(lostMessage(volume, nodes)) });
    });
}

function volumesStray({ nodes }: ClusterPicture): readonly Finding[] {
  return nodes.flatMap((node) => {
    const { ours, hasMore } = toldStrays(node);
    if (ours.length === 0) return [];
    const { name } = node.metadata;
    const what = `${ours.length}${hasMore ? ' or more' : ''} LV(s) have no LogicalVolume`;
    return [
      finding('StrayVolumes', { object: refTo('Node', node), node: name, what, details: ours }),
    ];
  });
}

/** As the operator tells it: those that may be somebody's. What nobody can miss it removes. */
function volumeOrphaned(picture: ClusterPicture): readonly Finding[] {
  return orphansIn(picture, ownersIn(picture)).map(([volume, message]) =>
    of('VolumeOrphaned', volume, message),
  );
}

function snapshotOrphaned(picture: ClusterPicture): readonly Finding[] {
  const { snapshotContents, groupContents, servesSnapshots, servesGroupSnapshots } = picture;
  if (!servesSnapshots) return [];
  const groups = servesGroupSnapshots ? groupContents : undefined;
  const snapshots = snapshotOwners(snapshotContents, groups);
  return orphansIn(picture, { ...ownersIn(picture), snapshots })
    .filter(([volume]) => kindOf(volume) === 'snapshot')
    .map(([volume, message]) => of('SnapshotOrphaned', volume, message));
}

function ownersIn({ claims, volumes, names }: ClusterPicture): Owners {
  const ours = volumes.filter(({ spec }) => spec.csi?.driver === names.driver);
  return {
    claims: new Set(claims.map(({ metadata }) => metadata.uid)),
    handles: new Set(ours.map(({ spec }) => spec.csi?.volumeHandle ?? '')),
    volumes: new Set(volumes.map(({ metadata }) => metadata.name)),
  };
}

function orphansIn(picture: ClusterPicture, owners: Owners) {
  return picture.logicalVolumes.flatMap((volume): readonly (readonly [LogicalVolume, string])[] => {
    if (!isSettled(picture, volume.metadata.creationTimestamp)) return [];
    const decision = decideOrphan(volume, owners);
    return decision.kind === 'report' ? [[volume, decision.message]] : [];
  });
}

function of(code: Finding['code'], volume: LogicalVolume, what: string): Finding {
  const object = refTo('LogicalVolume', volume);
  return finding(code, { object, node: volume.spec.nodeName, ...parted(what) });
}
