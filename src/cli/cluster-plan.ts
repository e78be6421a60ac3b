import { readFile } from 'node:fs/promises';
import { loadAll } from 'js-yaml';
import type { LvmCluster } from '../api/objects/lvm-cluster.ts';
import { OperationError } from '../base/failures.ts';
import { showList } from '../base/show.ts';
import type { ClusterPicture } from '../core/doctor/picture.ts';
import { foreseeCluster } from '../core/lvm-cluster/foresee.ts';
import { byAge } from '../core/lvm-cluster/objects.ts';
import type { ClusterView } from '../core/lvm-cluster/plan.ts';
import type { KubeClient } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { lvmClusterKind } from '../kube/lvms-kinds.ts';
import { type ClusterFlags, withCluster } from './cluster-door.ts';
import { lookAtCluster } from './cluster-look.ts';
import { clusterPlanText } from './cluster-plan-text.ts';
import { type Environment, exitCodes, UsageError } from './context.ts';
import { formatOf } from './output.ts';

type Flags = ClusterFlags & {
  readonly file?: string | undefined;
  readonly output?: string | undefined;
};

/** What an LVMCluster would do: that of a file, or the one that there is. Nothing is changed. */
export async function planOfCluster(environment: Environment, flags: Flags): Promise<number> {
  const { file, namespace } = flags;
  const format = formatOf(flags.output);
  const draft = file === undefined ? undefined : await draftIn(file);
  return withCluster(environment, flags, async (client) => {
    const picture = await lookAtCluster(client, { namespace, nowMs: Date.now() });
    const cluster = draft === undefined ? living(picture) : await asTaken(client, draft, picture);
    for (const { part, message } of picture.unseen) {
      environment.warn(`quarry: ${part} could not be read, so the plan may be wrong: ${message}`);
    }
    const foreseen = foreseeCluster(viewOf(picture, cluster));
    const { text, isClear } = clusterPlanText(foreseen, { format, unseen: picture.unseen });
    environment.print(text);
    if (picture.unseen.length > 0) return exitCodes.retryLater;
    return isClear ? exitCodes.done : exitCodes.failed;
  });
}

type Draft = {
  readonly kind?: unknown;
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
};

/** Is it about a cluster? A node file has no kind. */
export async function isLvmClusterFile(file: string): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch(() => '');
  try {
    return (loadAll(text) as readonly (Draft | null)[]).some((one) => one?.kind === 'LVMCluster');
  } catch {
    return false; // whoever reads it as a node file tells what is wrong with it
  }
}

async function draftIn(file: string): Promise<Draft> {
  const documents = loadAll(await readFile(file, 'utf8')) as readonly (Draft | null)[];
  const [draft, second] = documents.filter((one) => one?.kind === 'LVMCluster');
  if (second !== undefined) throw new UsageError(`${file} has two LVMClusters: there can be one`);
  if (draft === undefined || draft === null) throw new UsageError(`${file} has no LVMCluster`);
  return draft;
}

function living({ clusters }: ClusterPicture): LvmCluster {
  const [first] = clusters.toSorted(byAge);
  if (first !== undefined) return first;
  throw new UsageError('there is no LVMCluster: name the file of one with --file');
}

/** The server is asked what it would take: with its defaults, and judged by the webhook. */
async function asTaken(
  client: KubeClient,
  draft: Draft,
  picture: ClusterPicture,
): Promise<LvmCluster> {
  const { name = '', namespace = picture.namespace ?? 'default' } = draft.metadata ?? {};
  const patch = { type: 'apply', fieldManager: 'quarry-plan', force: true, body: draft } as const;
  try {
    return await client.patch(lvmClusterKind, { name, namespace }, patch, { isDryRun: true });
  } catch (error) {
    if (!isKubeError(error, 'Invalid')) throw error;
    const message = `this LVMCluster would not be taken: ${(error as Error).message}`;
    throw new OperationError('InvalidConfiguration', message, { cause: error });
  }
}

function viewOf(picture: ClusterPicture, cluster: LvmCluster): ClusterView {
  const others = picture.clusters.filter(({ metadata }) => metadata.uid !== cluster.metadata.uid);
  if (others.length > 0) {
    const names = showList(others.map(({ metadata }) => metadata.name));
    throw new UsageError(`${names} is there already: there can be one LVMCluster only`);
  }
  const { nodes, groups, reports, classes, claims, volumes, logicalVolumes, names } = picture;
  return {
    ...{ cluster, nodes, groups, reports, classes, claims, volumes, logicalVolumes },
    ...{ driver: names.driver, snapshotClasses: undefined },
  };
}
