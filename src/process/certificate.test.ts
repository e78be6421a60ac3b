import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { makeAuthority, makeServerCertificate } from './certificate.ts';
import { identifier, integer, octets, time } from './der.ts';

const day = 86_400_000;
const now = Date.now();
const validity = { fromMs: now - day, untilMs: now + 30 * day };
const hosts = ['lvms-webhook-service.quarry-system.svc', 'localhost'] as const;

test('a certificate is signed by its authority and says what it is for', () => {
  const authority = makeAuthority('quarry webhooks', validity);
  const served = makeServerCertificate(authority, hosts, validity);
  const [parent, leaf] = [authority, served].map((one) => new X509Certificate(one.certificate));
  assert.ok(parent !== undefined && leaf !== undefined);
  assert.ok(parent.ca && !leaf.ca);
  assert.ok(leaf.checkIssued(parent) && leaf.verify(parent.publicKey));
  assert.ok(parent.checkIssued(parent) && parent.verify(parent.publicKey));
  assert.equal(leaf.checkHost(hosts[0]), hosts[0]);
  assert.equal(leaf.checkHost('other.svc'), undefined);
  assert.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1']);
  assert.equal(leaf.validToDate.getTime(), Math.floor(validity.untilMs / 1000) * 1000);
  assert.notEqual(
    leaf.serialNumber,
    new X509Certificate(makeServerCertificate(authority, hosts, validity).certificate).serialNumber,
  );
});

test('a server with it is believed by who trusts the authority, and by nobody else', async (t) => {
  const authority = makeAuthority('quarry webhooks', validity);
  const { certificate: cert, key } = makeServerCertificate(authority, hosts, validity);
  const server = createServer({ cert, key }, (_request, response) => response.end('hello'));
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const ask = (ca: string, servername: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, ca, servername, agent: false };
      request(options, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });
  assert.equal(await ask(authority.certificate, hosts[0]), 200);
  const stranger = makeAuthority('quarry webhooks', validity);
  await assert.rejects(ask(stranger.certificate, hosts[0]), /signature|unable to verify/);
  await assert.rejects(ask(authority.certificate, 'other.svc'), /does not match/);
});

test('lengths, numbers and times have one form each', () => {
  assert.equal(octets(Buffer.alloc(127)).subarray(0, 2).toString('hex'), '047f');
  assert.equal(octets(Buffer.alloc(128)).subarray(0, 3).toString('hex'), '048180');
  assert.equal(octets(Buffer.alloc(300)).subarray(0, 4).toString('hex'), '0482012c');
  assert.equal(integer(0n).toString('hex'), '020100');
  assert.equal(integer(127n).toString('hex'), '02017f');
  assert.equal(integer(128n).toString('hex'), '02020080');
  assert.equal(identifier('1.2.840.10045.4.3.2').toString('hex'), '06082a8648ce3d040302');
  const at = (text: string) => time(Date.parse(text)).subarray(2).toString();
  assert.equal(at('2049-12-31T23:59:59Z'), '491231235959Z');
  assert.equal(at('2050-01-01T00:00:00Z'), '20500101000000Z');
});

test('any name and time that there can be makes a certificate that can be read', () => {
  const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,200}[a-z0-9])?$/);
  const from = fc.integer({ min: 0, max: Date.parse('2090-01-01') });
  fc.assert(
    fc.property(name, from, (host, fromMs) => {
      const times = { fromMs, untilMs: fromMs + day };
      const { certificate } = makeServerCertificate(makeAuthority('a', times), [host], times);
      const read = new X509Certificate(certificate);
      assert.equal(read.subjectAltName, `DNS:${host}`);
      assert.equal(read.validFromDate.getTime(), Math.floor(fromMs / 1000) * 1000);
    }),
    { numRuns: 50 },
  );
});
