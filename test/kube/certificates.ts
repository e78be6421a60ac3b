import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';

/** Certificates for tests, made while they run: X.509 in DER, elliptic keys, no program needed. */
export type Pair = { readonly certificate: string; readonly key: string };

export type Authority = Pair & { readonly name: string };

export function makeAuthority(name: string): Authority {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const extensions = [extension('551d13', sequence(boolean(true)), true)];
  const certificate = issue({
    subject: name,
    issuer: name,
    publicKey,
    signer: privateKey,
    extensions,
  });
  return { name, certificate, key: pemOfKey(privateKey) };
}

/** For a server: the addresses and names it answers to. For a client: none. */
export function makePair(authority: Authority, name: string, answersTo: readonly string[]): Pair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const names = answersTo.map((host) =>
    /^[\d.]+$/.test(host)
      ? node(0x87, Buffer.from(host.split('.').map(Number)))
      : node(0x82, Buffer.from(host)),
  );
  const extensions = names.length === 0 ? [] : [extension('551d11', sequence(...names))];
  const signer = createPrivateKey(authority.key);
  const certificate = issue({
    subject: name,
    issuer: authority.name,
    publicKey,
    signer,
    extensions,
  });
  return { certificate, key: pemOfKey(privateKey) };
}

const ecdsaWithSha256 = '2a8648ce3d040302';
const dayMs = 86_400_000;

function issue(parts: {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  readonly signer: KeyObject;
  readonly extensions: readonly Buffer[];
}): string {
  const algorithm = sequence(identifier(ecdsaWithSha256));
  const validity = sequence(time(Date.now() - dayMs), time(Date.now() + dayMs));
  const body = sequence(
    node(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    distinguishedName(parts.issuer),
    validity,
    distinguishedName(parts.subject),
    parts.publicKey.export({ type: 'spki', format: 'der' }),
    ...(parts.extensions.length === 0 ? [] : [node(0xa3, sequence(...parts.extensions))]),
  );
  const signature = sign('sha256', body, parts.signer);
  const bits = node(0x03, Buffer.concat([Buffer.from([0]), signature]));
  const text = sequence(body, algorithm, bits)
    .toString('base64')
    .replaceAll(/(.{64})/g, '$1\n');
  return `-----BEGIN CERTIFICATE-----\n${text.trim()}\n-----END CERTIFICATE-----\n`;
}

function pemOfKey(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function distinguishedName(name: string): Buffer {
  const commonName = sequence(identifier('550403'), node(0x0c, Buffer.from(name)));
  return sequence(node(0x31, commonName));
}

function extension(id: string, value: Buffer, isCritical = false): Buffer {
  const critical = isCritical ? [boolean(true)] : [];
  return sequence(identifier(id), ...critical, node(0x04, value));
}

function time(atMs: number): Buffer {
  const text = new Date(atMs).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return node(0x18, Buffer.from(text));
}

function boolean(value: boolean): Buffer {
  return node(0x01, Buffer.from([value ? 0xff : 0]));
}

function integer(value: Buffer): Buffer {
  return node(0x02, value);
}

function identifier(hex: string): Buffer {
  return node(0x06, Buffer.from(hex, 'hex'));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return node(0x30, Buffer.concat(parts));
}

function node(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const head =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}
