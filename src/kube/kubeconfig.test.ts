import assert from 'node:assert/strict';
import test from 'node:test';
import { readKubeconfig } from './kubeconfig.ts';

const first = `
current-context: edge
contexts:
- name: edge
  context: { cluster: edge, user: me, namespace: storage }
- name: lost
  context: { cluster: nowhere, user: me }
clusters:
- name: edge
  cluster: { server: "https://[fd00::1]:6443/k8s/clusters/c-1/", certificate-authority: ca.crt }
users:
- name: me
  user: { tokenFile: /run/token }
`;

const second = `
current-context: other
contexts:
- name: other
  context: { cluster: other, user: "" }
- name: edge
  context: { cluster: other, user: me }
clusters:
- name: other
  cluster: { server: "http://10.0.0.1" }
`;

const files = [
  { path: '/home/me/.kube/config', text: first },
  { path: '/etc/kube/second', text: second },
];

test('of several files the first that says something counts', () => {
  const context = readKubeconfig(files);
  assert.deepEqual(context.endpoint, {
    ...{ isTls: true, host: 'fd00::1', port: 6443, prefix: '/k8s/clusters/c-1' },
    ...{ serverName: undefined, isInsecure: false },
  });
  assert.equal(context.namespace, 'storage');
  assert.deepEqual(context.ca, { kind: 'file', path: '/home/me/.kube/ca.crt' });
  assert.deepEqual(context.token, { kind: 'file', path: '/run/token' });
});

test('a context may be named, also one of a later file', () => {
  const { endpoint, token } = readKubeconfig(files, 'other');
  assert.deepEqual([endpoint.isTls, endpoint.host, endpoint.port], [false, '10.0.0.1', 80]);
  assert.equal(token, undefined);
});

const user = (text: string) => first.replace('{ tokenFile: /run/token }', text);

const wrong: readonly (readonly [what: string, text: string, message: RegExp])[] = [
  ['no YAML', '{', /is no YAML/],
  ['no current context', 'contexts: []', /no kubeconfig names a current-context/],
  ['an unknown context', 'current-context: x', /there is no context "x"/],
  ['an unknown cluster', first.replace('edge\ncontexts', 'lost\ncontexts'), /no cluster "nowhere"/],
  ['a server that is none', first.replace(/"https:.*?"/, 'ftp://x'), /ftp:\/\/x is no server/],
  ['a password', user('{ username: me, password: x }'), /username is not supported/],
  ['an old plugin', user('{ auth-provider: { name: gcp } }'), /auth-provider is not supported/],
  ['a proxy', first.replace('cluster: { server', 'cluster: { proxy-url: x, server'), /proxy-url/],
  ['another identity', user('{ token: x, as-groups: [admins] }'), /as-groups is not supported/],
  ['no command', user('{ exec: { apiVersion: v1 } }'), /exec has no command/],
  ['an old exec', user('{ exec: { apiVersion: v1, command: x } }'), /exec.apiVersion is "v1"/],
];

for (const [what, text, message] of wrong) {
  test(`${what} is refused in words`, () => {
    const read = () => readKubeconfig([{ path: 'config', text }]);
    assert.throws(read, { code: 'NoCredentials', message });
  });
}
