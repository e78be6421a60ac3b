import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type Certified, makeAuthority, makeServerCertificate } from './certificate.ts';

/**
 * What a server in the cluster is believed by. Nobody outside signs it: whoever calls is given the
 * authorities, and they change so that at no moment a caller meets a stranger.
 */
export type KeyRing = {
  /** The newest first. Callers trust all of them. */
  readonly authorities: readonly [string, ...string[]];
  /** Of the newest authority. */
  readonly authorityKey: string;
  readonly server: Certified;
};

/** As it stands in a Secret. */
export type KeyRingTexts = Readonly<Record<'ca.crt' | 'ca.key' | 'tls.crt' | 'tls.key', string>>;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const authorityMs = 3_650 * dayMs;
const serverMs = 365 * dayMs;
/** Clocks are not all right. */
const earlierMs = hourMs;
/** By then every instance of ours shows the certificate of a new authority. */
const overlapMs = dayMs;

export function textsOf({ authorities, authorityKey, server }: KeyRing): KeyRingTexts {
  return {
    ...{ 'ca.crt': authorities.join(''), 'ca.key': authorityKey },
    ...{ 'tls.crt': server.certificate, 'tls.key': server.key },
  };
}

/** Undefined when anything of it is missing, cannot be read or does not belong together. */
export function keyRingIn(texts: Readonly<Partial<Record<string, string>>>): KeyRing | undefined {
  const { 'ca.crt': bundle = '', 'ca.key': authorityKey = '' } = texts;
  const { 'tls.crt': certificate = '', 'tls.key': key = '' } = texts;
  const [newest, ...older] = bundle.match(pem) ?? [];
  if (newest === undefined) return undefined;
  const ring: KeyRing = {
    ...{ authorities: [newest, ...older], authorityKey, server: { certificate, key } },
  };
  try {
    return isWhole(ring) ? ring : undefined;
  } catch {
    return undefined;
  }
}

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g;

export type KeyRingView = {
  readonly nowMs: number;
  readonly hosts: readonly [string, ...string[]];
  /** Whether every caller has been given the authorities of this very ring, for a while. */
  readonly isTrusted: boolean;
};

/** What it shall be next, or undefined while it is well as it is. */
export function nextKeyRing(ring: KeyRing | undefined, view: KeyRingView): KeyRing | undefined {
  const { nowMs } = view;
  if (ring === undefined) return newKeyRing(view);
  const [newest, ...older] = ring.authorities;
  const served = new X509Certificate(ring.server.certificate);
  const hasHosts = view.hosts.every((host) => served.checkHost(host) === host);
  const isOver = !hasHosts || !isValid(served, nowMs);
  if (isDue(newest, nowMs)) {
    const next = newAuthority(nowMs);
    const kept = ring.authorities.filter((one) => isValid(new X509Certificate(one), nowMs));
    const renewed = { ...ring, authorityKey: next.key };
    const authorities = [next.certificate, ...kept] as const;
    return isOver
      ? { ...renewed, authorities, server: newServer(next, view) }
      : { ...renewed, authorities };
  }
  const authority = { certificate: newest, key: ring.authorityKey };
  const isOfNewest = isSignedBy(served, newest);
  const isReplaced = isOver || isDue(ring.server.certificate, nowMs) || !isOfNewest;
  // A certificate that nobody believes yet is worse than one that is old.
  if (isReplaced && (isOver || isOfNewest || view.isTrusted)) {
    return { ...ring, server: newServer(authority, view) };
  }
  const isSettled = served.validFromDate.getTime() + earlierMs + overlapMs <= nowMs;
  return older.length > 0 && isOfNewest && isSettled
    ? { ...ring, authorities: [newest] }
    : undefined;
}

function newKeyRing(view: KeyRingView): KeyRing {
  const authority = newAuthority(view.nowMs);
  return {
    ...{ authorities: [authority.certificate], authorityKey: authority.key },
    server: newServer(authority, view),
  };
}

function newAuthority(nowMs: number): Certified {
  return makeAuthority('quarry webhooks', validFor(authorityMs, nowMs));
}

function newServer(authority: Certified, { nowMs, hosts }: KeyRingView): Certified {
  return makeServerCertificate(authority, hosts, validFor(serverMs, nowMs));
}

function validFor(lengthMs: number, nowMs: number) {
  return { fromMs: nowMs - earlierMs, untilMs: nowMs + lengthMs };
}

/** With a third of its time left; or not valid yet, because a clock was wrong when it was made. */
function isDue(certificate: string, nowMs: number): boolean {
  const read = new X509Certificate(certificate);
  const [fromMs, untilMs] = spanOf(read);
  return !isValid(read, nowMs) || nowMs >= fromMs + ((untilMs - fromMs) * 2) / 3;
}

function isValid(certificate: X509Certificate, nowMs: number): boolean {
  const [fromMs, untilMs] = spanOf(certificate);
  return fromMs <= nowMs && nowMs < untilMs;
}

function spanOf({ validFromDate, validToDate }: X509Certificate): readonly [number, number] {
  return [validFromDate.getTime(), validToDate.getTime()];
}

function isSignedBy(certificate: X509Certificate, authority: string): boolean {
  const { publicKey } = new X509Certificate(authority);
  return certificate.verify(publicKey);
}

/** Somebody may have put something else there. */
function isWhole({ authorities, authorityKey, server }: KeyRing): boolean {
  const served = new X509Certificate(server.certificate);
  const [newest, ...older] = authorities.map((authority) => new X509Certificate(authority));
  const key = createPrivateKey(authorityKey);
  return (
    newest !== undefined &&
    key.asymmetricKeyType === 'ec' &&
    /^CN=.+$/m.test(newest.subject) &&
    newest.checkPrivateKey(key) &&
    served.checkPrivateKey(createPrivateKey(server.key)) &&
    [newest, ...older].some(({ publicKey }) => served.verify(publicKey))
  );
}
