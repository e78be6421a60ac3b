import assert from 'node:assert/strict';
import { findingsIn } from './audit/findings.ts';
import { lookAtEverything } from './audit/look.ts';
import { type Layout, raid1 } from './layout.ts';
import type { OldCluster } from './topolvm.ts';

const pool = { name: 'pool', ratio: 5n } as const;

/** As lvmd.yaml of an old cluster has them. */
export const oldLayout: Layout = {
  ...{ '': { group: 'data' }, thick: { group: 'data' }, thin: { group: 'data', pool } },
  mirror: { group: 'mirrored', raid: raid1 },
};

/** At rest nothing is leaked, lost or stuck, but what a test says. */
export async function isClean(
  old: OldCluster,
  layout: Layout,
  but: readonly RegExp[] = [],
): Promise<void> {
  let findings: readonly string[] = [];
  const look = async () => {
    const seen = await lookAtEverything(old.cluster, old.domain);
    findings = findingsIn(seen, layout).filter((text) => !but.some((one) => one.test(text)));
    return findings.length === 0;
  };
  await old.until('everything at rest', look).catch(() => assert.deepEqual(findings, []));
}

/** Volumes of claims that are gone stay: nobody but an administrator may say that they may go. */
export const retained = /^LogicalVolume pvc-retained belongs to nothing$/;

/** The stock provisioner tells nothing of classes that bind at once. */
export const ofStock = /^capacity of topolvm-immediate on n1: 0 objects$/;

/** Between two drivers nobody tells what there is. */
export const untold = /^capacity of \S+ on n1: 0 objects$/;
