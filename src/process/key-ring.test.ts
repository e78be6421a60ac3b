import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type KeyRing, keyRingIn, nextKeyRing, textsOf } from './key-ring.ts';

const dayMs = 86_400_000;
const hosts = ['lvms-webhook-service.quarry-system.svc'] as const;
const began = Date.UTC(2026, 0, 1);

function at(day: number, isTrusted = true) {
  return { nowMs: began + day * dayMs, hosts, isTrusted };
}

function made(): KeyRing {
  const ring = nextKeyRing(undefined, at(0));
  assert.ok(ring !== undefined);
  return ring;
}

/** Whether somebody who was given these authorities believes the server, at that time. */
function isBelieved(ring: KeyRing, authorities: readonly string[], nowMs: number): boolean {
  const served = new X509Certificate(ring.server.certificate);
  const isValid = (one: X509Certificate) =>
    one.validFromDate.getTime() <= nowMs && nowMs < one.validToDate.getTime();
  return (
    isValid(served) &&
    served.checkHost(hosts[0]) === hosts[0] &&
    authorities
      .map((one) => new X509Certificate(one))
      .some((one) => isValid(one) && served.checkIssued(one) && served.verify(one.publicKey))
  );
}

test('what was made is read again, and nothing is done about it', () => {
  const ring = made();
  assert.deepEqual(keyRingIn(textsOf(ring)), ring);
  assert.ok(isBelieved(ring, ring.authorities, began));
  assert.equal(nextKeyRing(ring, at(0)), undefined);
  assert.equal(nextKeyRing(ring, at(240)), undefined);
});

test('anything that is missing, cut or of another ring is no ring', () => {
  const texts = textsOf(made());
  const others = textsOf(made());
  assert.equal(keyRingIn({}), undefined);
  for (const name of ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'] as const) {
    const { [name]: _gone, ...rest } = texts;
    assert.equal(keyRingIn(rest), undefined, `without ${name}`);
    assert.equal(
      keyRingIn({ ...texts, [name]: texts[name].slice(0, 90) }),
      undefined,
      `${name} cut`,
    );
    assert.equal(keyRingIn({ ...texts, [name]: others[name] }), undefined, `another ${name}`);
  }
});

test('a server gets its certificate before the old one ends, and at once with another name', () => {
  const ring = made();
  const next = nextKeyRing(ring, at(250));
  assert.ok(next !== undefined);
  assert.deepEqual(next.authorities, ring.authorities);
  assert.ok(isBelieved(next, ring.authorities, at(500).nowMs));
  const moved = nextKeyRing(ring, { ...at(1, false), hosts: ['other.svc'] });
  assert.equal(
    new X509Certificate(moved?.server.certificate ?? '').checkHost('other.svc'),
    'other.svc',
  );
});

test('while authorities change, nobody meets a stranger, however late he is told', () => {
  let ring = made();
  // What callers were given, and when.
  let told = ring.authorities;
  let toldOnDay = 0;
  let authorities = 1;
  for (let day = 0; day < 15 * 365; day += 1) {
    const isSame = told.join() === ring.authorities.join();
    if (!isSame && day - toldOnDay >= 3) {
      told = ring.authorities;
      toldOnDay = day;
    }
    const next = nextKeyRing(ring, at(day, told.join() === ring.authorities.join()));
    if (next !== undefined) {
      if (next.authorities[0] !== ring.authorities[0]) authorities += 1;
      if (told.join() === ring.authorities.join()) toldOnDay = day;
      ring = next;
    }
    assert.ok(isBelieved(ring, told, at(day).nowMs), `on day ${day}`);
    assert.ok(ring.authorities.length <= 2);
    assert.deepEqual(keyRingIn(textsOf(ring)), ring);
  }
  assert.equal(authorities, 3);
  assert.equal(ring.authorities.length, 1);
});

test('after years without anybody who looked, all of it is made anew', () => {
  const ring = made();
  const late = at(20 * 365, false);
  const next = nextKeyRing(ring, late);
  assert.ok(next !== undefined);
  assert.equal(next.authorities.length, 1);
  assert.ok(isBelieved(next, next.authorities, late.nowMs));
});

test('what a wrong clock has made is made again', () => {
  const ring = nextKeyRing(undefined, at(2));
  const next = nextKeyRing(ring, at(0, false));
  assert.ok(next !== undefined);
  assert.ok(isBelieved(next, next.authorities, at(0).nowMs));
  assert.equal(nextKeyRing(next, at(0, false)), undefined);
});

test('keys that are not of our making are no ring', () => {
  const { certificate, key } = foreignAuthority();
  const texts = { ...textsOf(made()), 'ca.crt': certificate, 'ca.key': key };
  assert.equal(keyRingIn(texts), undefined);
  const garbage = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const bundle = `${textsOf(made())['ca.crt']}${garbage}`;
  assert.equal(keyRingIn({ ...textsOf(made()), 'ca.crt': bundle }), undefined);
});

/** Made by `openssl req -x509 -newkey ed25519`. */
function foreignAuthority(): { readonly certificate: string; readonly key: string } {
  const directory = mkdtempSync(join(tmpdir(), 'quarry-'));
  const [keyFile, file] = [join(directory, 'key'), join(directory, 'cert')];
  const words = ['req', '-x509', '-newkey', 'ed25519', '-nodes', '-subj', '/CN=theirs'];
  execFileSync('openssl', [...words, '-keyout', keyFile, '-out', file], { stdio: 'ignore' });
  const made = { certificate: readFileSync(file, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  rmSync(directory, { recursive: true });
  return made;
}
