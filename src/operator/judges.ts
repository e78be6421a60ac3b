import {
  type AdmissionRequest,
  fillInCluster,
  judgeCluster,
  judgeVolumeGroup,
  type Verdict,
} from '../api/lvm-cluster/admission.ts';
import type { LvmCluster } from '../api/objects/lvm-cluster.ts';
import type { LvmVolumeGroup } from '../api/objects/lvm-volume-group.ts';
import { foreseeCluster } from '../core/lvm-cluster/foresee.ts';
import { heldBy } from '../core/lvm-cluster/gate.ts';
import { byAge } from '../core/lvm-cluster/objects.ts';
import { planLines } from '../core/lvm-cluster/plan-lines.ts';
import { KubeError } from '../kube/errors.ts';
import type { Stores } from './duty.ts';
import type { LvmsKinds } from './lvm-clusters-kinds.ts';
import { unsynced } from './stores.ts';
import type { Judge, Question } from './webhook.ts';

export type JudgesParts = {
  readonly stores: Stores;
  readonly kinds: LvmsKinds;
  /** Where the operator is, and where alone it looks. */
  readonly namespace: string;
  readonly driver: string;
  readonly isMicroShift: () => boolean;
  /** As the API server has them now. */
  readonly newestClusters: () => readonly LvmCluster[] | Promise<readonly LvmCluster[]>;
};

/** LVMS' paths: what is registered there is answered here. */
export const judgePaths = {
  fillIn: '/mutate-lvm-topolvm-io-v1alpha1-lvmcluster',
  cluster: '/validate-lvm-topolvm-io-v1alpha1-lvmcluster',
  group: '/validate-lvm-topolvm-io-v1alpha1-lvmvolumegroup',
} as const;

export function judgesOf(parts: JudgesParts): ReadonlyMap<string, Judge> {
  const { isMicroShift } = parts;
  const known =
    (judge: Judge): Judge =>
    (question) => {
      const missing = missingFor(parts);
      return missing.length === 0 ? judge(question) : notYet(missing);
    };
  return new Map<string, Judge>([
    [
      judgePaths.fillIn,
      (one) => fillInCluster(about<LvmCluster>(one), { isMicroShift: isMicroShift() }),
    ],
    [
      judgePaths.cluster,
      known((question) => {
        const request = about<LvmCluster>(question);
        if (isNobodys(request, parts)) return allowed;
        const verdict = judgeCluster(request, viewFor(request.object ?? request.oldObject, parts));
        if (question.dryRun !== true || !verdict.isAllowed) return verdict;
        return { ...verdict, warnings: [...verdict.warnings, ...foreseenFor(request, parts)] };
      }),
    ],
    [
      judgePaths.group,
      known((question) => {
        const request = about<LvmVolumeGroup>(question);
        const { namespace } = (request.object ?? request.oldObject)?.metadata ?? {};
        if (namespace !== parts.namespace) return allowed;
        return judgeGroup(request, parts);
      }),
    ],
  ]);
}

function about<T>({ operation, object, oldObject }: Question) {
  return { operation, object: object as T | null, oldObject: oldObject as T | null };
}

function viewFor(cluster: LvmCluster | null | undefined, parts: JudgesParts) {
  const { stores, kinds, namespace, driver, isMicroShift } = parts;
  const volumes = {
    driver,
    claims: [...stores.claims.values()],
    volumes: [...stores.volumes.values()],
    logicalVolumes: [...stores.logicalVolumes.values()],
  };
  return {
    ...{ namespace, isMicroShift: isMicroShift() },
    others: [...kinds.clusters.values()]
      .map(({ metadata }) => metadata.name)
      .filter((name) => name !== cluster?.metadata.name),
    nodes: [...stores.nodes.values()],
    reports: [...kinds.reports.values()],
    inTheWay: (classes: readonly string[]) => [
      ...new Set(classes.flatMap((name) => heldBy(name, volumes))),
    ],
  };
}

/** Who only asks what would happen is told. */
function foreseenFor(
  { operation, object, oldObject }: AdmissionRequest<LvmCluster>,
  { stores, kinds, driver }: JudgesParts,
): readonly string[] {
  const cluster = operation === 'DELETE' ? going(oldObject) : object;
  if (cluster === null || cluster === undefined) return [];
  return planLines(
    foreseeCluster({
      ...{ cluster, driver, snapshotClasses: undefined },
      nodes: [...stores.nodes.values()],
      groups: [...kinds.groups.values()],
      reports: [...kinds.reports.values()],
      classes: [...stores.classes.values()],
      claims: [...stores.claims.values()],
      volumes: [...stores.volumes.values()],
      logicalVolumes: [...stores.logicalVolumes.values()],
    }),
  );
}

function going(cluster: LvmCluster | null | undefined): LvmCluster | undefined {
  if (cluster === null || cluster === undefined) return undefined;
  return { ...cluster, metadata: { ...cluster.metadata, deletionTimestamp: 'asked for' } };
}

/** One that is never acted upon may go at any time: no volume is its own. */
function isNobodys(
  { operation, oldObject }: AdmissionRequest<LvmCluster>,
  { kinds, namespace }: JudgesParts,
): boolean {
  if (operation !== 'DELETE' || oldObject === undefined || oldObject === null) return false;
  if (oldObject.metadata.namespace !== namespace) return true;
  const [oldest] = [...kinds.clusters.values()].toSorted(byAge);
  return oldest !== undefined && oldest.metadata.uid !== oldObject.metadata.uid;
}

/** Whoever wrote it may know of an LVMCluster that we have not heard of: then the server is asked. */
function judgeGroup(
  request: AdmissionRequest<LvmVolumeGroup>,
  { kinds, newestClusters }: JudgesParts,
): Verdict | Promise<Verdict> {
  const by = (clusters: Iterable<LvmCluster>) => {
    const [oldest] = [...clusters].toSorted(byAge);
    return judgeVolumeGroup(request, oldest);
  };
  const verdict = by(kinds.clusters.values());
  if (verdict.isAllowed) return verdict;
  const newest = newestClusters();
  if (!(newest instanceof Promise)) return by(newest);
  return newest.then(by, (error: unknown) => {
    if (!(error instanceof KubeError)) throw error;
    return verdict;
  });
}

const allowed: Verdict = { isAllowed: true, message: '', warnings: [], patch: [] };

/** Nobody is judged by half of what there is. */
function missingFor({ stores, kinds }: JudgesParts): readonly string[] {
  const watched = Object.entries(kinds).flatMap(([name, { isKnown }]) => (isKnown ? [] : [name]));
  return [...unsynced(stores), ...watched];
}

function notYet(missing: readonly string[]): Verdict {
  const message = `${missing.join(', ')} have not been read yet: try again in a moment`;
  return { isAllowed: false, message, warnings: [], patch: [] };
}
