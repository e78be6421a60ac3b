import { diagnose } from '../core/doctor/diagnose.ts';
import type { ClusterPicture } from '../core/doctor/picture.ts';
import { clusterSummary } from '../core/doctor/summary.ts';
import type { KubeClient } from '../kube/client.ts';
import { type ClusterFlags, withCluster } from './cluster-door.ts';
import { lookAtCluster, timeText } from './cluster-look.ts';
import { clusterStatusText } from './cluster-status.ts';
import { type Environment, exitCodes } from './context.ts';
import { diagnosisText } from './doctor.ts';
import { gather } from './gather.ts';
import { asDocument, type Format, formatOf } from './output.ts';
import { painterFor } from './paint.ts';

/** The commands that ask a cluster. They read, and change nothing. */

export type Flags = ClusterFlags & { readonly output?: string | undefined };

export async function clusterStatus(environment: Environment, flags: Flags): Promise<number> {
  const format = formatOf(flags.output);
  const picture = await lookOnce(environment, flags);
  environment.print(statusText(picture, format, environment));
  return endOf(picture);
}

export async function doctor(environment: Environment, flags: Flags): Promise<number> {
  const format = formatOf(flags.output);
  const picture = await lookOnce(environment, flags);
  environment.print(doctorText(picture, format, environment));
  return endOf(picture);
}

/** What could not be seen may be wrong: then nobody is told that all is well. */
function endOf(picture: ClusterPicture): number {
  if (diagnose(picture).length > 0) return exitCodes.failed;
  return picture.unseen.length > 0 ? exitCodes.retryLater : exitCodes.done;
}

function lookOnce(environment: Environment, flags: Flags): Promise<ClusterPicture> {
  return withCluster(environment, flags, (client) => look(client, flags));
}

function look(client: KubeClient, { namespace }: Flags): Promise<ClusterPicture> {
  return lookAtCluster(client, { namespace, nowMs: Date.now() });
}

type Manner = Pick<Environment, 'program' | 'hasColours'>;

function statusText(picture: ClusterPicture, format: Format, manner: Manner): string {
  const summary = clusterSummary(picture);
  const findings = diagnose(picture).length;
  if (format === 'json' || format === 'yaml') {
    return asDocument('ClusterStatus', { ...summary, findings }, format);
  }
  const { program } = manner;
  const isWide = format === 'wide';
  return clusterStatusText({ summary, findings, program, isWide, paint: painterFor(manner) });
}

function doctorText(picture: ClusterPicture, format: Format, manner: Manner): string {
  const diagnosis = { findings: diagnose(picture), unseen: picture.unseen };
  if (format === 'json' || format === 'yaml') return asDocument('Diagnosis', diagnosis, format);
  return diagnosisText(diagnosis, { isWide: format === 'wide', paint: painterFor(manner) });
}

/** A directory for whoever is asked for help. */
export async function gatherBundle(environment: Environment, flags: Flags): Promise<number> {
  const madeAt = timeText(Date.now());
  const directory = flags.output ?? `quarry-gather-${madeAt.replaceAll(':', '')}`;
  const { files, notes } = await withCluster(environment, flags, async (client) => {
    const picture = await look(client, flags);
    const manner = { program: environment.program, hasColours: false };
    const about = [`version: ${environment.version}`, `time: ${madeAt}`];
    const texts = {
      'about.txt': about.join('\n'),
      'status.txt': statusText(picture, 'wide', manner),
      'status.json': statusText(picture, 'json', manner),
      'doctor.txt': doctorText(picture, 'wide', manner),
      'doctor.json': doctorText(picture, 'json', manner),
    };
    return gather(directory, { client, picture, texts });
  });
  for (const note of notes) environment.warn(`quarry: not read: ${note}`);
  environment.print(`${directory}: ${files} files`);
  return notes.length > 0 ? exitCodes.retryLater : exitCodes.done;
}
