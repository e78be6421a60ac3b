import { type DecodedLvmd, decodeLvmdFile } from '../../api/lvmd-file/decode.ts';
import { showFinding } from '../../api/lvmd-file/findings.ts';
import type { LvmdSpec } from '../../api/lvmd-file/spec.ts';
import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import type { LvmCluster } from '../../api/objects/lvm-cluster.ts';
import { showFew } from '../../base/show.ts';
import { decideConfiguration, type LastGood } from '../configuration.ts';
import { findVg, type ObservedHost } from '../observed.ts';

/** What the only node of a cluster shall serve, by the file of its administrator. */
export type DesiredEdge =
  | {
      readonly kind: 'lvmd';
      /** As it stands in the file, or the default. */
      readonly text: string;
      readonly source: 'file' | 'default';
      readonly spec: LvmdSpec;
      /** What stops nothing and should be known. */
      readonly warnings: readonly string[];
    }
  /** An LVMCluster has the classes: lvmd.yaml is on the host, and agents write it. */
  | { readonly kind: 'cluster'; readonly name: string }
  /** There is no storage here. */
  | { readonly kind: 'nothing'; readonly why: string }
  | {
      readonly kind: 'refused';
      /** The file, or the LVMCluster. */
      readonly what: string;
      readonly problems: readonly string[];
    };

export type EdgeView = {
  readonly file: string;
  /** Undefined where there is no file. */
  readonly text: string | undefined;
  /** The volume group that counts where there is no file. */
  readonly defaultGroup: string;
  readonly host: ObservedHost;
  /** What the cluster was told before, if pods are to read it. */
  readonly before: string | undefined;
  /** Those in the namespace. */
  readonly clusters: readonly LvmCluster[];
  readonly volumes: readonly LogicalVolume[];
};

/**
 * MicroShift's rules: the file, or else the default where its group is, or else nothing. Where an
 * LVMCluster has device classes they count, and nothing else may say what there is.
 */
export function desiredEdge(view: EdgeView): DesiredEdge {
  const { file, text, defaultGroup, host } = view;
  const owner = view.clusters.find((one) => classNamesOf(one).length > 0);
  if (owner !== undefined) return byCluster(view, owner);
  if (text !== undefined) return judged(view, { file, text, source: 'file' });
  if (findVg(host, defaultGroup) === undefined) {
    const why =
      `there is no ${file}, and no volume group ${defaultGroup} on this host for the default: ` +
      'write the file, or name the group with --default-group';
    return { kind: 'nothing', why };
  }
  const given = {
    file: 'the default',
    text: defaultLvmd(defaultGroup),
    source: 'default',
  } as const;
  return judged(view, given);
}

function classNamesOf({ spec }: LvmCluster): readonly string[] {
  return (spec?.storage?.deviceClasses ?? []).map(({ name }) => name);
}

function byCluster(view: EdgeView, cluster: LvmCluster): DesiredEdge {
  const { name } = cluster.metadata;
  const what = `LVMCluster ${name}`;
  const owner = `it has device classes (${showFew(classNamesOf(cluster), 3)})`;
  if (view.text !== undefined) {
    const problem =
      `${owner}, and ${view.file} is there, too: only one can say what there is. Remove the ` +
      'file, or delete the LVMCluster and make one with configurationPolicy ExternalConfiguration';
    return { kind: 'refused', what, problems: [problem] };
  }
  const left = leftBehind(view, new Set(classNamesOf(cluster)));
  if (left.length === 0) return { kind: 'cluster', name };
  const problem =
    `${owner}, and nobody would serve volumes that were made by lvmd.yaml before: ` +
    `${showFew(left, 3)}. Delete these, or write ${view.file} again and delete the LVMCluster`;
  return { kind: 'refused', what, problems: [problem] };
}

/** Volumes that the text in force serves, and that the classes will not. */
function leftBehind(
  { before, volumes }: EdgeView,
  classes: ReadonlySet<string>,
): readonly string[] {
  if (before === undefined) return [];
  return volumes
    .filter(({ spec }) => !classes.has(spec.deviceClass ?? ''))
    .map(({ metadata }) => metadata.name);
}

/** The default that MicroShift documents. */
export function defaultLvmd(group: string): string {
  return [
    'device-classes:',
    '  - name: default',
    `    volume-group: ${JSON.stringify(group)}`,
    '    default: true',
    '    spare-gb: 10',
    'socket-name: /run/lvmd/lvmd.sock',
    '',
  ].join('\n');
}

type Given = {
  readonly file: string;
  readonly text: string;
  readonly source: 'file' | 'default';
};

/** As the agent will judge it, which has what it was told before for its last good one. */
function judged({ host, before }: EdgeView, { file, text, source }: Given): DesiredEdge {
  const decoded = decodeLvmdFile({ file, text });
  const decision = decideConfiguration({
    ...{ file, decoded, host, mounts: [], isServing: false },
    last: lastGoodIn(before),
  });
  if (decision.kind === 'refuse' || decision.problems.length > 0 || decoded.kind !== 'lvmd') {
    return { kind: 'refused', what: file, problems: decision.problems.map(showFinding) };
  }
  const warnings = [
    ...decoded.warnings.map(showFinding),
    ...decision.refused.map(
      ({ name, reason }) => `nothing can be made in class ${name}: ${reason}`,
    ),
    ...decision.advice,
  ];
  return { kind: 'lvmd', text, source, spec: decoded.spec, warnings };
}

function lastGoodIn(text: string | undefined): LastGood | undefined {
  if (text === undefined) return undefined;
  const decoded: DecodedLvmd = decodeLvmdFile({ file: 'the ConfigMap', text });
  return decoded.kind === 'lvmd' ? { spec: decoded.spec, retired: [] } : undefined;
}
