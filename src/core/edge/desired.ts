import { type DecodedLvmd, decodeLvmdFile } from '../../api/lvmd-file/decode.ts';
import { type Finding, showFinding } from '../../api/lvmd-file/findings.ts';
import type { LvmdSpec } from '../../api/lvmd-file/spec.ts';
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
  /** There is no storage here. */
  | { readonly kind: 'nothing'; readonly why: string }
  | { readonly kind: 'refused'; readonly problems: readonly Finding[] };

export type EdgeView = {
  readonly file: string;
  /** Undefined where there is no file. */
  readonly text: string | undefined;
  /** The volume group that counts where there is no file. */
  readonly defaultGroup: string;
  readonly host: ObservedHost;
  /** What the cluster was told before. */
  readonly before: string | undefined;
};

/** MicroShift's rules: the file, or else the default where its group is, or else nothing. */
export function desiredEdge(view: EdgeView): DesiredEdge {
  const { file, text, defaultGroup, host } = view;
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
    return { kind: 'refused', problems: decision.problems };
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
