import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import {
  bits,
  boolean,
  identifier,
  integer,
  numbered,
  octets,
  sequence,
  set,
  text,
  time,
} from './der.ts';

/** A certificate and its key, as PEM. */
export type Certified = { readonly certificate: string; readonly key: string };

export type Validity = { readonly fromMs: number; readonly untilMs: number };

/** Who signs certificates, and is trusted by whoever has this one. */
export function makeAuthority(name: string, validity: Validity): Certified {
  const { publicKey, privateKey } = newKeys();
  const extensions = [
    extension('2.5.29.19', sequence(boolean(true)), 'critical'),
    // Signing certificates, and lists of those that are revoked.
    extension('2.5.29.15', bits(Buffer.from([0x06]), 1), 'critical'),
    extension('2.5.29.14', octets(keyIdentifier(publicKey))),
  ];
  return certified({
    ...{ subject: name, publicKey, privateKey, validity, extensions },
    signer: { name, key: privateKey },
  });
}

/** For a server with these names. */
export function makeServerCertificate(
  authority: Certified,
  hosts: readonly [string, ...string[]],
  validity: Validity,
): Certified {
  const { publicKey, privateKey } = newKeys();
  const signer = new X509Certificate(authority.certificate);
  const names = hosts.map((host) => numbered(2, Buffer.from(host, 'ascii'), false));
  const extensions = [
    extension('2.5.29.19', sequence(), 'critical'),
    // Signatures, as TLS makes them.
    extension('2.5.29.15', bits(Buffer.from([0x80]), 7), 'critical'),
    extension('2.5.29.37', sequence(identifier('1.3.6.1.5.5.7.3.1'))),
    extension('2.5.29.17', sequence(...names)),
    extension('2.5.29.35', sequence(numbered(0, keyIdentifier(signer.publicKey), false))),
  ];
  return certified({
    // Names stand among the extensions: this one may have 64 characters only.
    ...{ subject: 'quarry', publicKey, privateKey, validity, extensions },
    signer: { name: commonNameOf(signer), key: createPrivateKey(authority.key) },
  });
}

function newKeys() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function commonNameOf({ subject }: X509Certificate): string {
  const name = /^CN=(.+)$/m.exec(subject)?.[1];
  if (name === undefined) throw new Error(`an authority without a name: ${subject}`);
  return name;
}

type Draft = {
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
  readonly validity: Validity;
  readonly extensions: readonly Buffer[];
  readonly signer: { readonly name: string; readonly key: KeyObject };
};

function certified(draft: Draft): Certified {
  const { subject, publicKey, privateKey, validity, extensions, signer } = draft;
  const ecdsaWithSha256 = sequence(identifier('1.2.840.10045.4.3.2'));
  const toBeSigned = sequence(
    numbered(0, integer(2n)),
    integer(serialNumber()),
    ecdsaWithSha256,
    nameOf(signer.name),
    sequence(time(validity.fromMs), time(validity.untilMs)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    numbered(3, sequence(...extensions)),
  );
  const signature = bits(sign('sha256', toBeSigned, signer.key));
  const whole = sequence(toBeSigned, ecdsaWithSha256, signature);
  return {
    certificate: new X509Certificate(whole).toString(),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

/** Never zero, never negative, and never the same twice. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

function nameOf(commonName: string): Buffer {
  return sequence(set(sequence(identifier('2.5.4.3'), text(commonName))));
}

function extension(id: string, value: Buffer, weight?: 'critical'): Buffer {
  const critical = weight === undefined ? [] : [boolean(true)];
  return sequence(identifier(id), ...critical, octets(value));
}

/** The bits of the key alone, hashed: they are the last part of its form. */
function keyIdentifier(publicKey: KeyObject): Buffer {
  const { x, y } = publicKey.export({ format: 'jwk' });
  const point = [
    Buffer.from([4]),
    Buffer.from(x ?? '', 'base64url'),
    Buffer.from(y ?? '', 'base64url'),
  ];
  return createHash('sha1').update(Buffer.concat(point)).digest();
}
