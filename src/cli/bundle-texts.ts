import type { KubeObject, Metadata } from '../api/objects/metadata.ts';

/** What may go into a support bundle. Everything that is not known to be harmless stays out. */

const leftOut = '(left out)';

/**
 * Annotations that storage is run by. Any other may hold anything: what `kubectl apply` keeps there
 * has whole objects in it, with the values of their variables.
 */
const harmless =
  /^([\w.-]+\.)?(topolvm\.io|topolvm\.cybozu\.com|quarry\.io|lvms\.openshift\.io)\/|^((volume|storageclass)(\.beta)?|pv|deployment|csi\.volume)\.kubernetes\.io\//;

/** A name that says that its value is nobody's business. */
const telling = /passw(or)?d|passphrase|token|credential|private|api-?key/i;

/** An object as it may be shown. */
export function shown<T extends KubeObject>(object: T): T {
  const kept = { ...object, metadata: shownMetadata(object.metadata) };
  return withoutTelling(kept) as T;
}

function shownMetadata({ annotations, ...rest }: Metadata): Metadata {
  if (annotations === undefined) return rest;
  const kept = Object.entries(annotations).filter(([key]) => harmless.test(key));
  return { ...rest, annotations: Object.fromEntries(kept) };
}

function withoutTelling(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutTelling);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      typeof inner === 'string' && telling.test(key) ? leftOut : withoutTelling(inner),
    ]),
  );
}

/** Keys, tokens and passwords as they stand in any text. */
const secrets: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, leftOut],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, leftOut],
  [/\b(Bearer|Basic) +[\w.~+/=-]{8,}/gi, `$1 ${leftOut}`],
  [/(\w:\/\/[^\s/:@"']*):[^\s/@"']+@/g, `$1:${leftOut}@`],
  [
    /(["']?[\w.-]*(?:passw(?:or)?d|passphrase|token|api-?key)["']?\s*[:=]\s*)("[^"\n]+"|'[^'\n]+'|[^\s,;}"'(][^\s,;}]*)/gi,
    `$1${leftOut}`,
  ],
];

/** The last guard: for logs, and for whatever the rules above do not know. */
export function redacted(text: string): string {
  return secrets.reduce((left, [pattern, instead]) => left.replace(pattern, instead), text);
}
