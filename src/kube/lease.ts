import type { Kind, KubeObject } from './kind.ts';

export type LeaseSpec = {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseTransitions?: number;
};

export type Lease = KubeObject & { readonly spec?: LeaseSpec };

/** Kept whole: it is written back as a whole. */
export const leaseKind: Kind<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  isNamespaced: true,
  shape: true,
};

export type LeaseTimes = {
  /** Others take a lease that did not change for so long. */
  readonly durationMs: number;
  /** We stop acting when so much has passed since the last renewal was sent. */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
};

/** Those that controllers commonly have, and the sidecars that we take the place of. */
export const usualTimes: LeaseTimes = {
  durationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryMs: 2_000,
};

/** What we saw of a lease, and when it last changed by our own clock. */
export type Sighting = { readonly lease: Lease; readonly changedAtMs: number };

/**
 * Only our own time since the lease last changed counts: clocks of other machines may be wrong. A
 * sighting is as old as the answer that brought it, never as old as the request.
 */
export function sight(before: Sighting | undefined, lease: Lease, answeredAtMs: number): Sighting {
  const isSame =
    before !== undefined &&
    before.lease.metadata.uid === lease.metadata.uid &&
    before.lease.metadata.resourceVersion === lease.metadata.resourceVersion;
  return isSame ? before : { lease, changedAtMs: answeredAtMs };
}

/** May it be taken? When its holder is us, gave it back, or was silent for its whole duration. */
export function mayTake(
  { lease, changedAtMs }: Sighting,
  self: string,
  durationMs: number,
  nowMs: number,
): boolean {
  const holder = lease.spec?.holderIdentity ?? '';
  if (holder === '' || holder === self) return true;
  // A holder that asked for more time than we would take gets it.
  const asked = (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
  return nowMs - changedAtMs >= Math.max(asked, durationMs);
}

/** What we write to take or renew a lease. Its times are for people. */
export function heldBy(
  self: string,
  before: Lease | undefined,
  durationMs: number,
  wallMs: number,
): LeaseSpec {
  const now = microTime(wallMs);
  const spec = before?.spec ?? {};
  const isRenewal = spec.holderIdentity === self;
  return {
    ...spec,
    holderIdentity: self,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    acquireTime: isRenewal ? (spec.acquireTime ?? now) : now,
    renewTime: now,
    leaseTransitions: (spec.leaseTransitions ?? 0) + (isRenewal || before === undefined ? 0 : 1),
  };
}

/** Given back: whoever sees it may take it at once. */
export function givenBack(before: Lease, wallMs: number): LeaseSpec {
  const now = microTime(wallMs);
  return {
    ...before.spec,
    holderIdentity: '',
    leaseDurationSeconds: 1,
    acquireTime: now,
    renewTime: now,
  };
}

function microTime(wallMs: number): string {
  return new Date(wallMs).toISOString().replace('Z', '000Z');
}
