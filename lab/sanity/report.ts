/** What csi-sanity found out about one device class. */
export type SanityReport = {
  readonly seed: number;
  readonly passed: readonly string[];
  readonly failed: readonly Finding[];
  readonly skipped: readonly Finding[];
};

export type Finding = { readonly spec: string; readonly reason: string };

/**
 * Reads ginkgo's JSON report. A skip is fine only where its reason is known: a capability that we
 * lose by mistake must not turn red specs into grey ones.
 */
export function parseReport(text: string): SanityReport {
  const suites = JSON.parse(text) as readonly GinkgoSuite[];
  const report = { seed: 0, passed: [] as string[], failed: [] as Finding[] };
  const skipped: Finding[] = [];
  for (const suite of suites) {
    report.seed = suite.SuiteConfig.RandomSeed;
    for (const spec of suite.SpecReports ?? []) {
      const name = nameOf(spec);
      // Set-up and clean-up of the whole suite are told only where they went wrong.
      if (spec.State === 'passed') {
        if (spec.LeafNodeType === 'It') report.passed.push(name);
      } else if (isSkip(spec)) skipped.push({ spec: name, reason: skipReason(spec) });
      else report.failed.push({ spec: name, reason: failureOf(spec) });
    }
    for (const reason of suite.SpecialSuiteFailureReasons ?? []) {
      if (report.failed.length === 0) report.failed.push({ spec: 'the suite', reason });
    }
  }
  const unexplained = skipped.filter(({ reason }) => skipReasons[reason] === undefined);
  const known = skipped.filter(({ reason }) => skipReasons[reason] !== undefined);
  return {
    ...report,
    failed: [...report.failed, ...unexplained.map(skipIsFailure)],
    skipped: known.map(({ spec, reason }) => ({
      spec,
      reason: `${reason} (${skipReasons[reason] ?? ''})`,
    })),
  };
}

export const emptyReport: SanityReport = { seed: 0, passed: [], failed: [], skipped: [] };

export function withFailure(report: SanityReport, spec: string, reason: string): SanityReport {
  return { ...report, failed: [...report.failed, { spec, reason }] };
}

export function skipsByReason({ skipped }: SanityReport): ReadonlyMap<string, readonly string[]> {
  const specs = new Map<string, readonly string[]>();
  for (const { spec, reason } of skipped) specs.set(reason, [...(specs.get(reason) ?? []), spec]);
  return specs;
}

export type Counts = {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
};

export function countsOf({ passed, failed, skipped }: SanityReport): Counts {
  return { passed: passed.length, failed: failed.length, skipped: skipped.length };
}

export function showCounts({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

const pendingReason = 'disabled in csi-test itself';
const noPublish = 'a volume is where its host is: nothing is attached';
const noStage = 'a volume is mounted where it is published: nothing is staged';
const noModify = 'there is nothing in a volume that a VolumeAttributesClass could change';
const noHealth = 'alpha in CSI 1.13: a volume tells its condition in its statistics';

/** Every capability that this driver leaves out, by the words of csi-sanity, and why it does. */
const skipReasons: Readonly<Record<string, string>> = {
  [pendingReason]: 'nobody can run it',
  'ControllerPublishVolume not supported': noPublish,
  'ControllerUnpublishVolume not supported': noPublish,
  'Controller Publish, UnpublishVolume not supported': noPublish,
  'ControllerPublishVolume.readonly field not supported': noPublish,
  'testnodevolumeattachlimit not enabled': 'LVM has no limit of attached volumes',
  'NodeStageVolume not supported': noStage,
  'NodeUnstageVolume not supported': noStage,
  'Modify volume not supported': noModify,
  'Modify Volume not supported': noModify,
  'ControllerModifyVolume not supported': noModify,
  'ControllerGetVolumeHealth not supported': noHealth,
  'ControllerListVolumeHealth not supported': noHealth,
  'NodeGetVolumeHealth not supported': noHealth,
  'NodeGetStorageHealth not supported': noHealth,
  'SNAPSHOT_ACCESSIBILITY_CONSTRAINTS not supported': 'a snapshot is where its volume is',
};

type GinkgoSuite = {
  readonly SuiteConfig: { readonly RandomSeed: number };
  readonly SpecialSuiteFailureReasons?: readonly string[] | null;
  readonly SpecReports?: readonly GinkgoSpec[] | null;
};

type GinkgoSpec = {
  readonly ContainerHierarchyTexts?: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  readonly Failure?: {
    readonly Message: string;
    readonly Location?: { readonly FileName: string; readonly LineNumber: number };
  };
};

function nameOf({ ContainerHierarchyTexts, LeafNodeType, LeafNodeText }: GinkgoSpec): string {
  const [, ...inner] = ContainerHierarchyTexts ?? [];
  const outer = ContainerHierarchyTexts?.[0] ?? LeafNodeType;
  return [outer.replace(/ \[.*\]$/, ''), ...inner, LeafNodeText].filter((text) => text).join(' ');
}

function isSkip({ State }: GinkgoSpec): boolean {
  return State === 'skipped' || State === 'pending';
}

function skipReason({ State, Failure }: GinkgoSpec): string {
  return State === 'pending' ? pendingReason : (Failure?.Message ?? '');
}

function failureOf({ State, Failure }: GinkgoSpec): string {
  if (Failure === undefined) return State;
  const { FileName = '', LineNumber = 0 } = Failure.Location ?? {};
  return `${State} at ${FileName.replace(/.*\//, '')}:${LineNumber}: ${Failure.Message}`;
}

function skipIsFailure({ spec, reason }: Finding): Finding {
  return {
    spec,
    reason: `skipped, which this driver has no reason for: ${reason || 'none given'}`,
  };
}
