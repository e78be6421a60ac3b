import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oneLineSource, parseDeb822, parseOneLine } from './apt.ts';

test('a deb822 file gives its sources with their keys', () => {
  const text = `Types: deb deb-src
# a remark
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/k.gpg

Types: deb-src
URIs: http://mirror.example/other
Suites: bookworm

Types: deb
Enabled: no
URIs: http://mirror.example/off
Suites: bookworm
`;
  assert.deepEqual(parseDeb822(text), [
    {
      uri: 'http://mirror.example/debian',
      signedBy: '/usr/share/keyrings/k.gpg',
      suites: ['bookworm', 'bookworm-updates'],
    },
  ]);
});

test('a list file gives its sources, with options and without', () => {
  const text = `# deb http://mirror.example/no x main
deb http://mirror.example/debian bookworm main contrib
deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/signed trixie main
deb-src http://mirror.example/debian bookworm main
`;
  const sources = parseOneLine(text);
  assert.deepEqual(
    sources.map(({ uri, signedBy, suites }) => [uri, signedBy, ...suites]),
    [
      ['http://mirror.example/debian', undefined, 'bookworm'],
      ['http://mirror.example/signed', '/k.gpg', 'trixie'],
    ],
  );
  const [, signed] = sources;
  assert.equal(
    signed && oneLineSource(signed, 'sid'),
    'deb [signed-by=/k.gpg] http://mirror.example/signed sid main',
  );
});
