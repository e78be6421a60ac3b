import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { dump } from 'js-yaml';
import { decodeLvmdFile } from './decode.ts';
import { showFinding } from './findings.ts';

const good = `socket-name: /run/topolvm/lvmd.sock
lvm-command-prefix: [nsenter, -t, "1", /sbin/lvm]
x: &common {spare-gb: 20, default: false}
device-classes:
- name: ssd
  volume-group: vg1
  <<: *common
  stripe: 2
  stripe-size: 64k
  lvcreate-options: [--type, raid5, "-I", 64]
- name: thin
  volume-group: vg1
  default: true
  type: thin
  overhead-factor: 1.5
  wipe-policy: discard
  thin-pool:
    name: pool0
    overprovision-ratio: 10.0
lvcreate-option-classes:
- name: raid
  options: ["-m1"]
`;

/** Words that mean something to YAML or to us. */
const token = fc.constantFrom(
  ...[
    '- ',
    ': ',
    '\n',
    '  ',
    '\t',
    '[',
    ']',
    '{',
    '}',
    ',',
    '"',
    "'",
    '#',
    '|',
    '>',
    '?',
    '%',
    '@',
  ],
  ...['&a ', '*a', '*common', '!!int ', '!x ', '<<', '---', '...', '\r', '\uFEFF', '\u0000', '~'],
  ...['null', 'yes', '-1', '1e9', '.nan', '.inf', '0x', '010', '1_0', '99999999999999999999'],
  ...['name', 'device-classes', 'deviceClasses', 'thin-pool', 'type: thin', 'stripe: 0', '-m1'],
);

type Edit = { readonly at: number; readonly cut: number; readonly put: string };

const edit: fc.Arbitrary<Edit> = fc.record({
  at: fc.nat({ max: good.length }),
  cut: fc.oneof(fc.constant(0), fc.nat({ max: 30 })),
  put: fc.oneof(token, fc.string({ maxLength: 4 }), fc.constant('')),
});

const mutated = fc
  .array(edit, { minLength: 1, maxLength: 6 })
  .map((edits) =>
    edits.reduce((text, { at, cut, put }) => text.slice(0, at) + put + text.slice(at + cut), good),
  );

const key = fc.constantFrom(
  ...['name', 'volume-group', 'default', 'spare-gb', 'stripe', 'stripe-size', 'type', 'options'],
  ...['lvcreate-options', 'thin-pool', 'overprovision-ratio', 'overhead-factor', 'wipe-policy'],
  ...[
    'device-classes',
    'lvcreate-option-classes',
    'socket-name',
    'lvm-command-prefix',
    '__proto__',
  ],
);

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(fc.constant(null), fc.boolean(), fc.integer(), fc.double(), fc.string(), key),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 6 }),
  ),
}));

const classes = fc.dictionary(fc.constantFrom('device-classes', 'deviceClasses'), fc.array(value));
const structured = fc.oneof(value, classes).map((given) => dump(given, { skipInvalid: true }));

const kinds = [
  ['changed files', mutated],
  ['any YAML', structured],
  ['any words', fc.array(token, { maxLength: 40 }).map((tokens) => tokens.join(''))],
  ['any text', fc.string({ unit: 'binary', maxLength: 200 })],
  ['any bytes', fc.uint8Array({ maxLength: 200 }).map((raw) => new TextDecoder().decode(raw))],
] as const;

for (const [title, text] of kinds) {
  test(`lvmd.yaml: ${title} are read, or refused with a line of theirs`, () => {
    fc.assert(fc.property(text, holds), { numRuns: 2_000 });
  });
}

function holds(text: string): void {
  const decoded = decodeLvmdFile({ file: 'f.yaml', text });
  const problems = decoded.kind === 'problems' ? decoded.problems : [];
  assert.equal(decoded.kind === 'problems', problems.length > 0);
  const lines = text.replace(/(\r\n|\r|\n)$/, '').split(/\r\n|\r|\n/).length;
  for (const finding of [...problems, ...decoded.warnings]) {
    assert.ok(finding.line >= 1 && finding.line <= lines, `${finding.line} of ${lines}`);
    assert.match(showFinding(finding), /^f\.yaml:\d+: \S[^\n\r]* is \S[^\n\r]*: \S[^\n\r]*$/);
  }
  if (decoded.kind !== 'lvmd') return;
  const names = decoded.spec.deviceClasses.map(({ name }) => name);
  assert.ok(names.length > 0 && new Set(names).size === names.length);
  for (const entry of decoded.spec.deviceClasses) {
    assert.match(entry.volumeGroup, /^[\w+.][\w+.-]*$/);
    assert.ok(entry.overheadFactor >= 1 && entry.spareBytes >= 0n);
    assert.ok(entry.target.kind === 'thick' || entry.target.overprovisionRatio >= 1);
  }
}
