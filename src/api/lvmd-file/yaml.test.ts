import assert from 'node:assert/strict';
import test from 'node:test';
import {
  oneClass,
  plainClass,
  readSilently,
  refusesEach,
  warnsOfEach,
} from '../../../test/samples/lvmd-files.ts';
import { limits } from '../../base/limits.ts';
import { decodeLvmdFile } from './decode.ts';

const yaml = (reason: string) => `correct the YAML here or just above (${reason})`;

refusesEach([
  [
    'a list that does not end',
    'device-classes: [\n',
    `1: the line is "device-classes: [": ${yaml('deficient indentation')}`,
  ],
  [
    'a line that is indented too far',
    'device-classes:\n- name: ssd\n    volume-group: vg1\n',
    `3: the line is "volume-group: vg1": ${yaml('bad indentation of a mapping entry')}`,
  ],
  [
    'a tab for an indent',
    'device-classes:\n- name: ssd\n\tvolume-group: vg1\n',
    `3: the line is "volume-group: vg1": ${yaml('tab characters must not be used in indentation')}`,
  ],
  [
    'an escape that is none',
    oneClass('wipe-policy: "\\q"'),
    `4: the line is "wipe-policy: \\"\\\\q\\"": ${yaml('unknown escape sequence')}`,
  ],
  [
    'bytes that are no text',
    'device-classes:\n\u0000\n',
    `2: the line is "\\u0000": ${yaml('null byte is not allowed in input')}`,
  ],
  [
    'a nest without end',
    `a: ${'['.repeat(200)}`,
    `1: the line is "a: ${'['.repeat(57)}…": ${yaml('nesting exceeded maxDepth (100)')}`,
  ],
  [
    'a key that stands there twice',
    oneClass('spare-gb: 1', 'default: true', 'spare-gb: 2'),
    '6: device-classes[0].spare-gb is 2: keep one of them: the key stands on line 4 already',
  ],
  [
    'a key that stands there twice, even an unknown one',
    `color: red\ncolor: {a: 1, a: 2}\n${oneClass()}`,
    '2: color.a is 2: keep one of them: the key stands on line 2 already',
    '2: color is a mapping: keep one of them: the key stands on line 1 already',
  ],
  [
    'a key in two spellings',
    oneClass('spare-gb: 1', 'Spare-GB: 2'),
    '5: device-classes[0].Spare-GB is 2: keep one of them: spare-gb on line 4 is the same key',
  ],
  [
    'an alias of nothing',
    oneClass('spare-gb: *much'),
    '4: device-classes[0].spare-gb is *much: name an anchor that is set on an earlier value',
  ],
  [
    'a list that contains itself',
    `${oneClass()}loop: &loop [*loop]\n`,
    '4: loop[0] is *loop: name an anchor that is set on an earlier value',
  ],
  [
    'a tag that does not fit',
    oneClass('spare-gb: !!int much'),
    '4: device-classes[0].spare-gb is "much": leave out the tag "!!int": it does not fit',
  ],
  [
    'a key that is a list, and one that is null',
    `? [a]\n: 1\n~: 2\n${oneClass()}`,
    '1: a key of the document is a list: write a word',
    '3: a key of the document is null: write a word',
  ],
  [
    'a merge of a number',
    oneClass('<<: 5'),
    '4: device-classes[0].<< is 5: merge a mapping, or a list of mappings',
  ],
  [
    'a file that is too long',
    '#'.repeat(limits.lvmdFileBytesMax + 1),
    '1: the file is 2097153 characters long: write at most 2097152',
  ],
]);

test('lvmd.yaml: aliases and merges are followed, as Go does', () => {
  const spec = readSilently(`device-classes:
- &first
  name: &name ssd
  volume-group: vg1
  lvcreate-options: &options [--nosync]
- <<: *first
  name: hdd
  volume-group: vg2
- <<: [{name: third, lvcreate-options: []}, *first]
  volume-group: vg3
- name: lost
  volume-group: lost
  <<: {name: last, volume-group: vg4}
lvcreate-option-classes:
- name: *name
  options: *options
`);
  const lvcreateOptions = ['--nosync'];
  assert.deepEqual(spec.deviceClasses, [
    { ...plainClass, lvcreateOptions },
    { ...plainClass, name: 'hdd', volumeGroup: 'vg2', lvcreateOptions },
    { ...plainClass, name: 'third', volumeGroup: 'vg3' },
    { ...plainClass, name: 'last', volumeGroup: 'vg4' },
  ]);
  assert.deepEqual(spec.lvcreateOptionClasses, [{ name: 'ssd', options: lvcreateOptions }]);
});

test('lvmd.yaml: merges of merges come to an end', () => {
  const levels = Array.from({ length: 40 }, (_, level) => {
    const keys = Array.from({ length: 20 }, (_each, key) => `k${level}-${key}: 1`).join(', ');
    const before = level === 0 ? '' : `<<: [${`*m${level - 1}, `.repeat(9)}], `;
    return `m${level}: &m${level} {${before}${keys}}`;
  });
  const decoded = decodeLvmdFile({ file: 'f', text: levels.join('\n') });
  assert.ok(decoded.kind === 'problems');
  assert.ok(decoded.problems.some(({ remedy }) => remedy === 'merge at most 10000 keys in all'));
});

const same: readonly (readonly [title: string, text: string])[] = [
  ['JSON', '{"device-classes": [{"name": "ssd", "volume-group": "vg1"}]}'],
  ['lines that end as on Windows', oneClass('spare-gb: 10').replaceAll('\n', '\r\n')],
  ['a byte order mark', `\uFEFF${oneClass()}`],
  ['a directive and a mark', `%YAML 1.1\n---\n${oneClass()}...\n`],
  ['keys in capitals', 'DEVICE-CLASSES:\n- NAME: ssd\n  Volume-Group: vg1\n'],
  ['tags that fit', 'device-classes: !!seq\n- !!map\n  name: !!str ssd\n  volume-group: !x vg1\n'],
  ['a long tag', oneClass('spare-gb: !<tag:yaml.org,2002:int> "10"')],
  ['folded text', 'device-classes:\n- name: >-\n    ssd\n  volume-group: |-\n    vg1\n'],
  ['a socket of LVMS, which is empty', `${oneClass()}socket-name: ""\n`],
];

for (const [title, text] of same) {
  test(`lvmd.yaml: reads ${title}`, () => {
    assert.deepEqual(readSilently(text).deviceClasses, [plainClass]);
  });
}

warnsOfEach([
  [
    'a second document',
    `${oneClass()}---\nsocket-name: /tmp/x\n`,
    '5: the document is the second: it is ignored: write everything before the first ---',
  ],
]);
