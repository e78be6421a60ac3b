import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Certificates, createCertificates } from './certificates.ts';

let directory: string;
let certificates: Certificates;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lab-certificates-'));
  certificates = await createCertificates(directory, {
    apiAddresses: ['127.0.0.1', '10.96.0.1'],
    nodes: [{ name: 'n1', ip: '10.77.0.11' }],
  });
});

after(() => rm(directory, { recursive: true }));

test('the cluster signs everyone, the front proxy only its client', async () => {
  const ca = await read(certificates.ca);
  const frontProxyCa = await read(certificates.frontProxyCa);
  const { apiServer, apiServerToKubelet, admin, controllerManager, scheduler } = certificates;
  const ours = [apiServer, apiServerToKubelet, admin, controllerManager, scheduler];
  for (const path of [...ours, certificates.nodeClient('n1'), certificates.nodeServer('n1')]) {
    const certificate = await read(path);
    assert.ok(certificate.verify(ca.publicKey), path);
    assert.ok(certificate.checkIssued(ca), path);
    assert.equal(certificate.ca, false, path);
  }
  const client = await read(certificates.frontProxyClient);
  assert.ok(client.verify(frontProxyCa.publicKey));
  assert.equal(client.verify(ca.publicKey), false);
});

test('servers are found at their addresses and nodes carry their identity', async () => {
  const apiServer = await read(certificates.apiServer);
  assert.equal(apiServer.checkIP('10.96.0.1'), '10.96.0.1');
  assert.equal(apiServer.checkHost('kubernetes.default.svc'), 'kubernetes.default.svc');
  assert.equal((await read(certificates.nodeServer('n1'))).checkIP('10.77.0.11'), '10.77.0.11');
  const node = await read(certificates.nodeClient('n1'));
  assert.equal(node.subject, 'O=system:nodes\nCN=system:node:n1');
});

async function read(path: string): Promise<X509Certificate> {
  return new X509Certificate(await readFile(`${path}.crt`));
}
