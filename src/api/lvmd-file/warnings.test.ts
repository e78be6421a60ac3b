import { oneClass, thinClass, warnsOfEach } from '../../../test/samples/lvmd-files.ts';

const unknown = (key: string) => `it is ignored, no such key is known; the nearest is ${key}`;
const readAs = (text: string) => `it is read as "${text}"; write it in quotes if you mean the text`;
const refused = 'lvcreate will refuse it: no layout can be made of it and what stands beside it';
const noEffectThin = 'it has no effect on volumes of a thin pool';

warnsOfEach([
  [
    'deviceClasses',
    oneClass().replace('device-classes', 'deviceClasses'),
    '1: deviceClasses is a list: ' +
      'it is read as device-classes; write device-classes, which TopoLVM knows too',
  ],
  [
    'deviceClasses beside device-classes',
    `${oneClass()}deviceClasses: []\n`,
    '4: deviceClasses is a list: it is ignored: device-classes stands there too',
  ],
  ['an unknown key', `${oneClass()}socket: x\n`, `4: socket is "x": ${unknown('socket-name')}`],
  [
    'a key of another program',
    `${oneClass()}device-class: []\n`,
    `4: device-class is a list: ${unknown('device-classes')}`,
  ],
  [
    'a key in camel case',
    oneClass('spareGb: 5'),
    `4: device-classes[0].spareGb is 5: ${unknown('spare-gb')}`,
  ],
  [
    'a misspelt key',
    oneClass('lvcreate-option: [-m1]'),
    `4: device-classes[0].lvcreate-option is a list: ${unknown('lvcreate-options')}`,
  ],
  [
    'a key that is no word',
    oneClass('"a\\nb": 1'),
    `4: device-classes[0]."a\\nb" is 1: ${unknown('name')}`,
  ],
  ['a number for a key', oneClass('5: 1'), `4: device-classes[0].5 is 1: ${unknown('name')}`],
  [
    'an unknown key of a pool',
    thinClass('name: pool0', 'overprovision-ratio: 10', 'over-provision: 90'),
    `8: device-classes[0].thin-pool.over-provision is 90: ${unknown('overprovision-ratio')}`,
  ],
  [
    'an unknown key of an option class',
    `${oneClass()}lvcreate-option-classes:\n- name: raid\n  option: []\n`,
    `6: lvcreate-option-classes[0].option is a list: ${unknown('options')}`,
  ],
  [
    'yes for a name',
    'device-classes:\n- name: yes\n  volume-group: vg1\n',
    `2: device-classes[0].name is yes: ${readAs('true')}`,
  ],
  [
    'an octal number for a name',
    'device-classes:\n- name: 010\n  volume-group: vg1\n',
    `2: device-classes[0].name is 010: ${readAs('8')}`,
  ],
  [
    'a version for a name',
    'device-classes:\n- name: 1.10\n  volume-group: vg1\n',
    `2: device-classes[0].name is 1.10: ${readAs('1.1')}`,
  ],
  [
    'an option without quotes that YAML does not take for text',
    oneClass('lvcreate-options: [--contiguous, y]'),
    `4: device-classes[0].lvcreate-options[1] is y: ${readAs('true')}`,
  ],
  [
    'a pool of a class that is not thin',
    oneClass('thin-pool: {name: pool0, overprovision-ratio: 0}'),
    '4: device-classes[0].thin-pool is a mapping: it has no effect: the type is not thin',
  ],
  [
    'stripes in a pool',
    `${thinClass('name: pool0', 'overprovision-ratio: 10')}  stripe: 2\n  overhead-factor: 2\n`,
    `8: device-classes[0].stripe is 2: ${noEffectThin}`,
    `9: device-classes[0].overhead-factor is 2: ${noEffectThin}`,
  ],
  [
    'a stripe size without stripes',
    oneClass('stripe-size: 64k'),
    '4: device-classes[0].stripe-size is "64k": it has no effect without stripe',
  ],
  [
    'a stripe size that is no power of two',
    oneClass('stripe: 2', 'stripe-size: 3k'),
    '5: device-classes[0].stripe-size is "3k": ' +
      'lvcreate will refuse it: write a power of two of at least 4k',
  ],
  [
    'a type we make as another',
    oneClass('lvcreate-options: [--nosync, --type=mirror, -m1]'),
    '4: device-classes[0].lvcreate-options[1] is "--type=mirror": ' +
      'volumes of type mirror are made as raid1',
  ],
  [
    'a type we do not know',
    oneClass('lvcreate-options:', '- --nosync', '- --type', '- vdo'),
    `6: device-classes[0].lvcreate-options[1] is "--type": ${refused}`,
  ],
  [
    'stripes in two places',
    oneClass('stripe: 2', 'lvcreate-options: [-i, 2]'),
    `5: device-classes[0].lvcreate-options[0] is "-i": ${refused}`,
  ],
  [
    'zeroing switched off',
    oneClass('lvcreate-options: [-Zn, --wipesignatures, "n"]'),
    '4: device-classes[0].lvcreate-options[0] is "-Zn": ' +
      'it is ignored: the start of a new volume is always zeroed',
    '4: device-classes[0].lvcreate-options[1] is "--wipesignatures": ' +
      'it is ignored: old signatures are always wiped off a new volume',
  ],
  [
    'odd option classes',
    `${oneClass()}lvcreate-option-classes:
- name: raid
  options: [--type, raid1, -m, 0]
- options: null
- name: raid
`,
    `6: lvcreate-option-classes[0].options[0] is "--type": ${refused}`,
    '7: lvcreate-option-classes[1].name is missing: nobody can ask for a class without a name',
    '8: lvcreate-option-classes[2].name is "raid": it takes the place of the one on line 5',
  ],
]);
