import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeLvmdFile } from '../lvmd-file/decode.ts';
import { lvmdTextFor, type ServedGroup } from './lvmd-text.ts';

const thin: ServedGroup = {
  name: 'vg1',
  spec: { default: true, thinPoolConfig: { name: 'pool', overprovisionRatio: 10 } },
};
const thick: ServedGroup = { name: 'vg2', spec: {} };
const raid: ServedGroup = {
  name: 'vg3',
  spec: { raidConfig: { type: 'raid10', mirrors: 1, stripes: 2, stripeSize: '128Ki' } },
};

function textFor(
  text: string | undefined,
  groups: readonly ServedGroup[],
  owned: readonly string[],
) {
  const made = lvmdTextFor(text, groups, owned);
  assert.equal(made.kind, 'text');
  return made.kind === 'text' ? made.text : undefined;
}

test('a new file has what LVMS would write, and is right', () => {
  const text = textFor(undefined, [thin, thick, raid], []) ?? '';
  assert.equal(
    text,
    `device-classes:
  - name: vg1
    volume-group: vg1
    default: true
    type: thin
    thin-pool:
      name: pool
      overprovision-ratio: 10
  - name: vg2
    volume-group: vg2
    default: false
    type: thick
    spare-gb: 0
  - name: vg3
    volume-group: vg3
    default: false
    type: thick
    spare-gb: 0
    lvcreate-options:
      - --type=raid10
      - --mirrors=1
      - --stripes=2
      - --stripesize=128k
`,
  );
  const decoded = decodeLvmdFile({ file: 'lvmd.yaml', text });
  assert.equal(decoded.kind, 'lvmd');
});

const edited = `# mine
socket-name: /run/other.sock
device-classes:
  - name: vg1
    volume-group: vg1
    default: true
    type: thin
    thin-pool:
      name: pool
      overprovision-ratio: 10
  - name: vg2   # more room
    volume-group: vg2
    default: false
    spare-gb: 50
    stripe: 2
lvcreate-option-classes:
  - name: fast
    options: ['--type=striped']
`;

test('a file that says enough keeps every byte', () => {
  assert.equal(textFor(edited, [thin, thick], ['vg1', 'vg2']), edited);
});

test('only what the LVMCluster may change is changed', () => {
  const more = {
    ...thin,
    spec: { ...thin.spec, thinPoolConfig: { name: 'pool', overprovisionRatio: 5 } },
  };
  const text = textFor(edited, [more, thick], ['vg1', 'vg2']) ?? '';
  assert.match(text, /overprovision-ratio: 5/);
  assert.match(text, /spare-gb: 50\n {4}stripe: 2/);
  assert.match(text, /socket-name: \/run\/other.sock/);
  assert.match(text, /lvcreate-option-classes:\n {2}- name: fast/);
  const decoded = decodeLvmdFile({ file: 'lvmd.yaml', text });
  assert.equal(decoded.kind, 'lvmd');
});

test('a class that is no longer wanted goes, and one that an administrator added stays', () => {
  const without = textFor(edited, [thin], ['vg1', 'vg2']) ?? '';
  assert.doesNotMatch(without, /vg2/);
  const foreign = textFor(edited, [thin], ['vg1']) ?? '';
  assert.match(foreign, /vg2/);
  const both = `device-classes: [{name: vg1, volume-group: vg1}]`;
  assert.equal(textFor(both, [], ['vg1']), 'device-classes: []\n', 'the last one: none is said');
  assert.equal(textFor(undefined, [], []), undefined);
});

const clash = `device-classes:
- {name: vg1, volume-group: data, default: true, spare-gb: 3}
- {name: fast, volume-group: vg1}
`;

test('a class in a group of another name is not ours, and stays as it is', () => {
  assert.equal(textFor(clash, [thin], []), clash, 'where we serve one of its name');
  assert.equal(textFor(clash, [], ['vg1']), clash, 'when ours goes');
  const more = textFor(clash, [thin, { ...thick, spec: { default: true } }], []) ?? '';
  assert.match(more, /name: vg1\n +volume-group: data\n +default: true\n +spare-gb: 3\n/);
  assert.match(more, /name: vg2\n +volume-group: vg2\n +default: false\n/, 'of two defaults');
  assert.equal(decodeLvmdFile({ file: 'lvmd.yaml', text: more }).kind, 'lvmd');
});

for (const entry of [
  'Name: vg1, volume-group: data, default: true',
  'name: vg1, Volume-Group: data, default: true',
  'name: vg1, volume-group: data, Default: true',
]) {
  test(`keys are known in any case, as TopoLVM knows them: ${entry}`, () => {
    const file = `Device-Classes: [{${entry}}]\n`;
    assert.equal(textFor(file, [thin], []), file, 'where we serve one of its name');
    assert.equal(textFor(file, [], ['vg1']), file, 'when ours goes');
    const text = textFor(file, [{ ...thick, spec: { default: true } }], []) ?? '';
    assert.match(text, /name: vg2\n +volume-group: vg2\n +default: false\n/, 'of two defaults');
  });
}

test('what is changed keeps the spelling of its key', () => {
  const file = 'device-classes: [{name: vg1, Default: false, Thin-Pool: {OverProvision-Ratio: 1}}]';
  const text = textFor(file, [thin], ['vg1']) ?? '';
  assert.match(text, /Default: true\n +Thin-Pool:\n +OverProvision-Ratio: 10\n$/);
});

test('the other spelling of the list is kept', () => {
  const text = textFor('deviceClasses: [{name: a, volume-group: a}]', [thick], []) ?? '';
  assert.match(text, /^deviceClasses:\n {2}- name: a\n/);
  assert.match(text, /name: vg2/);
});

test('what cannot be read is left as it is', () => {
  const cycle = 'device-classes: &a [{name: vg2, x: *a}]';
  const thinText = 'device-classes: [{name: vg1, thin-pool: pool}]';
  for (const text of ['a: [', '- a list', 'device-classes: [text]', cycle, thinText]) {
    assert.equal(lvmdTextFor(text, [thin, thick], []).kind, 'unreadable', text);
  }
});
