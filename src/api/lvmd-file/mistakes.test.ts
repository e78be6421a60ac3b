import { oneClass, refusesEach, thinClass } from '../../../test/samples/lvmd-files.ts';

const name = 'write 1 to 63 letters, digits and . _ -, with a letter or digit at both ends';
const group = 'name a volume group with letters, digits and . _ + -';
const pool = 'name a thin pool with letters, digits and . _ + -';
const mapping = 'write a mapping of keys to values';

const names: readonly (readonly [value: string, shown: string])[] = [
  ['""', '""'],
  ['-ssd', '"-ssd"'],
  ['ssd-', '"ssd-"'],
  ['.ssd', '".ssd"'],
  ['__ssd__', '"__ssd__"'],
  ['s/d', '"s/d"'],
  ['"s d"', '"s d"'],
  ['größe', '"größe"'],
  ['a'.repeat(64), `"${'a'.repeat(60)}…"`],
];

refusesEach(
  names.map(([value, shown]) => [
    `the class name ${shown}`,
    `device-classes:\n- name: ${value}\n  volume-group: vg1\n`,
    `2: device-classes[0].name is ${shown}: ${name}`,
  ]),
);

const groups = ['""', '"-vg"', '".."', '"a b"', '"/dev/vg1"', '"vg1/pool"'];

refusesEach(
  groups.map((value) => [
    `the volume group ${value}`,
    `device-classes:\n- name: ssd\n  volume-group: ${value}\n`,
    `3: device-classes[0].volume-group is ${value}: ${group}`,
  ]),
);

refusesEach([
  ['an empty file', '', '1: device-classes is missing: list at least one device class'],
  ['comments only', '# soon\n', '1: device-classes is missing: list at least one device class'],
  ['an empty document', '---\n', '1: device-classes is missing: list at least one device class'],
  [
    'an empty list',
    'device-classes: []\n',
    '1: device-classes is a list: list at least one device class',
  ],
  ['no classes', 'device-classes:\n', '1: device-classes is null: list at least one device class'],
  ['a list for a file', '- name: ssd\n', `1: the document is a list: ${mapping}`],
  ['a text for a file', 'device-classes\n', `1: the document is "device-classes": ${mapping}`],
  ['a number for a file', '\n5\n', `2: the document is 5: ${mapping}`],
  ['a mapping for a list', 'device-classes: {}\n', '1: device-classes is a mapping: write a list'],
  ['a class that is null', 'device-classes:\n-\n', `2: device-classes[0] is null: ${mapping}`],
  [
    'a class that is a word',
    'device-classes: [ssd]\n',
    `1: device-classes[0] is "ssd": ${mapping}`,
  ],
  [
    'a class without anything',
    'device-classes:\n- {}\n',
    `2: device-classes[0].name is missing: ${name}`,
    `2: device-classes[0].volume-group is missing: ${group}`,
  ],
  [
    'a class name that is a list, once',
    'device-classes:\n- name: [a]\n  volume-group: vg1\n',
    '2: device-classes[0].name is a list: write a text',
  ],
  [
    'a thin class without a pool',
    oneClass('type: thin'),
    '2: device-classes[0].thin-pool is missing: write the name and the overprovision-ratio of the pool',
  ],
  [
    'a thin class whose pool is null',
    oneClass('type: thin', 'thin-pool: null'),
    '5: device-classes[0].thin-pool is null: write the name and the overprovision-ratio of the pool',
  ],
  [
    'a thin class whose pool is a word, once',
    oneClass('type: thin', 'thin-pool: pool0'),
    `5: device-classes[0].thin-pool is "pool0": ${mapping}`,
  ],
  [
    'a pool without a name',
    thinClass('overprovision-ratio: 10'),
    `6: device-classes[0].thin-pool.name is missing: ${pool}`,
  ],
  [
    'a pool with an empty name',
    thinClass('name: ""', 'overprovision-ratio: 10'),
    `6: device-classes[0].thin-pool.name is "": ${pool}`,
  ],
  [
    'an option class that is null',
    `${oneClass()}lvcreate-option-classes: [null]\n`,
    `4: lvcreate-option-classes[0] is null: ${mapping}`,
  ],
  [
    'option classes that are no list',
    `${oneClass()}lvcreate-option-classes: {name: raid}\n`,
    '4: lvcreate-option-classes is a mapping: write a list',
  ],
  [
    'options of an option class that are no list',
    `${oneClass()}lvcreate-option-classes:\n- name: raid\n  options: -m1\n`,
    '6: lvcreate-option-classes[0].options is "-m1": write a list',
  ],
  [
    'a command prefix that is a text',
    `${oneClass()}lvm-command-prefix: /sbin/lvm\n`,
    '4: lvm-command-prefix is "/sbin/lvm": write a list',
  ],
  [
    'a command prefix without lvm at its end',
    `${oneClass()}lvm-command-prefix: [nsenter, -t, 1]\n`,
    '4: lvm-command-prefix is a list: write words, the last of them the path of lvm',
  ],
  [
    'a socket that is a list',
    `${oneClass()}socket-name: [a]\n`,
    '4: socket-name is a list: write a text',
  ],
]);

const thinOn = (name: string, group: string, poolName: string) =>
  `- name: ${name}\n  volume-group: ${group}\n  type: thin\n` +
  `  thin-pool: {name: ${poolName}, overprovision-ratio: 10}\n`;

refusesEach([
  [
    'two classes of one name',
    `${oneClass()}- name: ssd\n  volume-group: vg2\n`,
    '4: device-classes[1].name is "ssd": use each name once: the class on line 2 has it already',
  ],
  [
    'two thick classes in one group',
    `${oneClass()}- name: hdd\n  volume-group: vg1\n  type: thick\n`,
    '5: device-classes[1].volume-group is "vg1": ' +
      'give each thick class a volume group of its own: this one has the class on line 3',
  ],
  [
    'two thin classes in one pool',
    `device-classes:\n${thinOn('a', 'vg1', 'p')}${thinOn('b', 'vg1', 'p')}`,
    '9: device-classes[1].thin-pool.name is "p": ' +
      'give each thin class a pool of its own: vg1/p has the class on line 3',
  ],
  [
    'three defaults, twice',
    ['a', 'b', 'c'].reduce(
      (text, each) => `${text}- name: ${each}\n  volume-group: ${each}\n  default: true\n`,
      'device-classes:\n',
    ),
    '7: device-classes[1].default is true: let at most one class be the default: see line 4',
    '10: device-classes[2].default is true: let at most one class be the default: see line 4',
  ],
  [
    'everything at once, in the order of the file',
    `device-classes:
- name: a
  volume-group: vg1
  spare-gb: 1.5
- name: a
  volume-group: vg1
  stripe: none
- name: b!
lvcreate-option-classes: 5
`,
    '4: device-classes[0].spare-gb is 1.5: write a whole number from 0 to 8589934592 without quotes',
    '5: device-classes[1].name is "a": use each name once: the class on line 2 has it already',
    '6: device-classes[1].volume-group is "vg1": ' +
      'give each thick class a volume group of its own: this one has the class on line 3',
    '7: device-classes[1].stripe is "none": write a whole number from 1 to 128 without quotes',
    `8: device-classes[2].name is "b!": ${name}`,
    `8: device-classes[2].volume-group is missing: ${group}`,
    '9: lvcreate-option-classes is 5: write a list',
  ],
]);
