import assert from 'node:assert/strict';
import test from 'node:test';
import { hostOf, sampleLv, samplePool, sampleThin, sampleVg } from '../../test/samples/observed.ts';
import { decodeLvmdFile } from '../api/lvmd-file/decode.ts';
import { showFinding } from '../api/lvmd-file/findings.ts';
import { capacityOf } from './capacity.ts';
import {
  type Configuration,
  type ConfigurationView,
  decideConfiguration,
  isInDoubt,
  type LastGood,
} from './configuration.ts';
import type { ObservedHost, ObservedLv } from './observed.ts';
import type { ObservedMount } from './publication/observed.ts';
import { ownerTag, tagOf } from './tags.ts';

const file = 'lvmd.yaml';

/** `name vg` for a thick class, `name vg/pool` for a thin one. */
function classes(...given: readonly string[]): string {
  const entries = given.map((text) => {
    const [name = '', home = ''] = text.split(' ');
    const [vg, pool] = home.split('/');
    const thin = `, type: thin, thin-pool: {name: ${pool}, overprovision-ratio: 2}`;
    return `- {name: ${name}, volume-group: ${vg}${pool === undefined ? '' : thin}}`;
  });
  return ['device-classes:', ...entries, ''].join('\n');
}

function goodOf(text: string): LastGood {
  const decoded = decodeLvmdFile({ file, text });
  assert.ok(decoded.kind === 'lvmd');
  return { spec: decoded.spec, retired: [] };
}

type Given = Partial<Omit<ConfigurationView, 'decoded' | 'last'>> & { readonly last?: string };

function decide(text: string, host: ObservedHost, given: Given = {}) {
  const { last, ...rest } = given;
  return decideConfiguration({
    ...{ file, decoded: decodeLvmdFile({ file, text }), host, mounts: [], isServing: false },
    last: last === undefined ? undefined : goodOf(last),
    ...rest,
  });
}

/** In a few words: which classes are in force by which file, which are refused, what is wrong. */
function told(decision: ReturnType<typeof decide>) {
  const problems = decision.problems.map(showFinding);
  if (decision.kind === 'refuse') return { refuse: problems };
  const names = decision.classes.map(({ name, vg, refusal }) =>
    refusal === undefined ? `${name} ${vg}` : `${name} ${vg} retired`,
  );
  const { source, refused } = decision;
  return { source, classes: names, refused: refused.map(({ name }) => name), problems };
}

const group = (name: string, ...lvs: readonly ObservedLv[]) => sampleVg({ name, lvs });
const volume = (name: string, className: string) =>
  sampleLv({ name, tags: [ownerTag, tagOf('class', className)] });
const theirs = (name: string, given: Partial<ObservedLv> = {}) =>
  sampleLv({ name, tags: [], ...given });

const both = hostOf(group('vg1'), group('vg2'));
const used = hostOf(group('vg1', volume('v', 'a')), group('vg2'));

const noVg3 =
  'lvmd.yaml:3: device-classes[1].volume-group is "vg3": there is no such volume group on this ' +
  'node: create it with `vgcreate vg3 DEVICE`, or name one that is here: vg1 and vg2';

test('a class whose layout needs more devices than its group has makes nothing new, and says why', () => {
  const options = '["--type=striped", "--stripes=3"]';
  const text = `device-classes: [{name: wide, volume-group: vg1, lvcreate-options: ${options}}]\n`;
  const decision = decide(text, both);
  assert.ok(decision.kind === 'serve');
  const reason = 'striped needs 3 devices but vg1 has 1';
  assert.deepEqual(decision.refused, [{ name: 'wide', reason }]);
});

test('a good file is in force', () => {
  assert.deepEqual(told(decide(classes('a vg1', 'b vg2'), both)), {
    ...{ source: 'file', classes: ['a vg1', 'b vg2'], refused: [], problems: [] },
  });
});

test('where nothing is used, all that is wrong is told at once: in the file and on the host', () => {
  const text = `device-classes:
- {name: a, volume-group: v g, spare-gb: "1"}
- {name: b, volume-group: vg3, spare-gb: -1}
- {name: c, volume-group: vg2, type: thin, thin-pool: {name: p, overprovision-ratio: 2}}
- {name: d, volume-group: vg2, type: thin, thin-pool: {name: "", overprovision-ratio: 2}}
`;
  assert.deepEqual(told(decide(text, both)), {
    refuse: [
      'lvmd.yaml:2: device-classes[0].volume-group is "v g": name a volume group with letters, digits and . _ + -',
      'lvmd.yaml:2: device-classes[0].spare-gb is "1": write a whole number from 0 to 8589934592 without quotes',
      'lvmd.yaml:3: device-classes[1].spare-gb is -1: write a whole number from 0 to 8589934592 without quotes',
      noVg3,
      'lvmd.yaml:4: device-classes[2].thin-pool.name is "p": there is no such thin pool in vg2: ' +
        'create it with `lvcreate --type thin-pool --size SIZE --name p vg2`, or name one that is here: none',
      'lvmd.yaml:5: device-classes[3].thin-pool.name is "": name a thin pool with letters, digits and . _ + -',
    ],
  });
});

test('a volume that bears the name of a pool is told', () => {
  const host = hostOf(group('vg1', theirs('p'), samplePool({ name: 'q' })));
  assert.deepEqual(told(decide(classes('a vg1/p'), host)), {
    refuse: [
      'lvmd.yaml:2: device-classes[0].thin-pool.name is "p": vg1 has a linear volume of that ' +
        'name: choose another, or name one that is here: q',
    ],
  });
});

const mountOf = (lv: ObservedLv): ObservedMount => ({
  ...{ mountPoint: '/m', fsType: 'ext4', source: '/dev/x', isWhole: true, isReadOnly: false },
  ...{ isFileSystemReadOnly: false, isNode: true },
  owner: { kind: 'lv', dmUuid: 'x', dmName: `vg1-${lv.name}` },
});

const broken = 'device-classes: [';
const old = classes('a vg1', 'b vg2');

type Row = readonly [title: string, host: ObservedHost, given: Given, isServed: boolean];

const starts: readonly Row[] = [
  ['there is no last good one', used, {}, false],
  ['nothing is used', both, { last: old }, false],
  ['a volume of ours is there', used, { last: old }, true],
  [
    'an open volume is there',
    hostOf(group('vg2', theirs('x', { isOpen: true }))),
    { last: old },
    true,
  ],
  [
    'only an open pool is there',
    hostOf(group('vg2', samplePool({ isOpen: true }))),
    { last: old },
    false,
  ],
  ['a volume nobody uses is there', hostOf(group('vg2', theirs('x'))), { last: old }, false],
  [
    'an open volume is in a group that was never ours',
    hostOf(group('vg9', theirs('x', { isOpen: true }))),
    { last: old },
    false,
  ],
  ['sockets are open', both, { last: old, isServing: true }, true],
];

for (const [title, host, given, isServed] of starts) {
  test(`a broken file ${isServed ? 'leaves the last good one in force' : 'stops the start'} where ${title}`, () => {
    const decision = decide(broken, host, given);
    assert.equal(decision.kind, isServed ? 'serve' : 'refuse');
    assert.ok(decision.problems.length > 0);
    if (decision.kind === 'serve') assert.equal(decision.source, 'last-good');
  });
}

test('a bound raw device counts as used, though it is not open', () => {
  const lv = theirs('x');
  const vg = group('vg1', lv);
  const owner = { kind: 'lv', dmUuid: dmUuidOf(lv), dmName: 'vg1-x' } as const;
  const mounts = [{ ...mountOf(lv), owner }];
  assert.equal(decide(broken, hostOf(vg), { last: old, mounts }).kind, 'serve');
});

test('an edit with one wrong class changes nothing, and says what is wrong', () => {
  const edit = classes('a vg1', 'c vg3');
  const given = { last: old, isServing: true };
  assert.deepEqual(told(decide(edit, both, given)), {
    ...{ source: 'last-good', classes: ['a vg1', 'b vg2'], refused: [], problems: [noVg3] },
  });
});

test('a group that is gone stops only its class while others are used, and comes back by itself', () => {
  const host = hostOf(group('vg1', volume('v', 'a')));
  const decision = decide(old, host, { last: old });
  assert.ok(decision.kind === 'serve');
  const {
    source,
    classes: names,
    refused,
  } = told(decision) as ReturnType<typeof told> & {
    classes: readonly string[];
  };
  assert.deepEqual([source, names, refused], ['file', ['a vg1', 'b vg2'], ['b']]);
  assert.equal(decision.problems.length, 1);
  const back = hostOf(...host.vgs, group('vg2'));
  const again = decide(old, back, { last: old, isServing: true });
  assert.deepEqual([again.problems.length, (again as Configuration).refused], [0, []]);
});

test('a file that was in force stays so while a group is away, though nothing is used', () => {
  const text = classes('a vg1', 'c vg3');
  const here = hostOf(group('vg1'));
  assert.deepEqual(told(decide(text, here, { last: text })), {
    ...{ source: 'file', classes: ['a vg1', 'c vg3'], refused: ['c'] },
    problems: [
      noVg3.replace(', or name one that is here: vg1 and vg2', ', or name one that is here: vg1'),
    ],
  });
  // What was never in force is told, and nothing is begun.
  for (const last of [undefined, classes('a vg1')]) {
    const given = last === undefined ? {} : { last };
    assert.equal(decide(text, here, given).kind, 'refuse');
  }
});

test('without a last good one, volumes of ours keep the sound classes in force', () => {
  const text = `device-classes:
- {name: a, volume-group: vg1}
- {name: b, volume-group: vg2, spare-gb: -1}
`;
  const decision = decide(text, used);
  assert.ok(decision.kind === 'serve');
  assert.deepEqual(
    [decision.classes.map(({ name }) => name), decision.refused],
    [['a'], [{ name: 'device-classes[1]', reason: 'it cannot be read' }]],
  );
});

test('a class that is taken out of the file is kept for the volumes in it', () => {
  const edit = classes('b vg2');
  const decision = decide(edit, used, { last: old, isServing: true });
  assert.deepEqual(told(decision), {
    ...{ source: 'file', classes: ['b vg2', 'a vg1 retired'], refused: ['a'], problems: [] },
  });
  assert.ok(decision.kind === 'serve');
  assert.match(decision.retired[0]?.refusal ?? '', /no longer in lvmd.yaml.*: v$/);
  const { spec, retired } = decision;
  const later = {
    file,
    decoded: decodeLvmdFile({ file, text: edit }),
    mounts: [],
    isServing: true,
  };
  const next = decideConfiguration({ ...later, last: { spec, retired }, host: used });
  assert.deepEqual((next as Configuration).retired, retired, 'also after the next look');
  const emptied = decideConfiguration({ ...later, last: { spec, retired }, host: both });
  assert.deepEqual((emptied as Configuration).retired, [], 'until the last volume is gone');
});

test('a class that is renamed keeps its volumes under the old name', () => {
  const decision = decide(classes('new vg1', 'b vg2'), used, { last: old, isServing: true });
  assert.deepEqual((told(decision) as { classes: unknown }).classes, [
    'new vg1',
    'b vg2',
    'a vg1 retired',
  ]);
});

test('a class does not leave its volumes behind in another group', () => {
  const host = hostOf(
    group('vg1', ...['v', 'w', 'x', 'y', 'z'].map((name) => volume(name, 'a'))),
    group('vg2'),
    group('vg4'),
  );
  const decision = decide(classes('a vg4', 'b vg2'), host, { last: old, isServing: true });
  assert.deepEqual(told(decision), {
    ...{ source: 'last-good', classes: ['a vg1', 'b vg2'], refused: [] },
    problems: [
      'lvmd.yaml:2: device-classes[0].volume-group is "vg4": volumes of this class are in vg1 ' +
        '(v, w, x and 2 more): keep vg1, and give vg4 a class of another name',
    ],
  });
  const empty = decide(classes('a vg2'), both, { last: classes('a vg1'), isServing: true });
  assert.deepEqual((told(empty) as { classes: unknown }).classes, ['a vg2']);
});

test('thin classes of one group are told apart', () => {
  const host = hostOf(group('vg1', samplePool({ name: 'p' }), sampleThin({ pool: 'p' })));
  const decision = decide(classes('a vg1', 't vg1/p'), host);
  assert.deepEqual(told(decision), {
    ...{ source: 'file', classes: ['a vg1', 't vg1'], refused: [], problems: [] },
  });
});

/** `LVM-` and both UUIDs without their hyphens; only the end tells the volume. */
function dmUuidOf(lv: ObservedLv): string {
  return `LVM-${'0'.repeat(32)}${lv.uuid.replaceAll('-', '')}`;
}

const ofA = sampleLv({ name: 'v', tags: [ownerTag, tagOf('class', 'a')] });
const whole = hostOf(sampleVg({ name: 'vg1', lvs: [ofA] }), sampleVg({ name: 'vg2' }));

/** One edit after another while we serve. */
function edits(...steps: readonly (readonly [text: string, host: ObservedHost])[]) {
  let last: LastGood | undefined;
  let decision: ReturnType<typeof decideConfiguration> | undefined;
  for (const [text, host] of steps) {
    const decoded = decodeLvmdFile({ file, text });
    const isServing = last !== undefined;
    decision = decideConfiguration({ file, decoded, host, mounts: [], isServing, last });
    assert.ok(decision.kind === 'serve');
    last = decision;
  }
  assert.ok(decision?.kind === 'serve');
  return decision;
}

test('a retired class outlives a moment without its group', () => {
  const both = classes('a vg1', 'b vg2');
  const without = classes('b vg2');
  const away = hostOf(sampleVg({ name: 'vg2' }));
  const { retired } = edits([both, whole], [without, whole], [without, away], [without, whole]);
  assert.deepEqual(
    retired.map(({ name, vg }) => [name, vg]),
    [['a', 'vg1']],
  );
});

test('an edit is none the worse for a disk that is away, but for what it changes', () => {
  const away = hostOf(sampleVg({ name: 'vg2' }));
  const before = classes('a vg1', 'b vg2');
  const good = edits([before, whole], [before, away], [classes('a vg1', 'c vg2'), away]);
  assert.deepEqual([good.source, good.refused.map(({ name }) => name)], ['file', ['a']]);
  assert.match(good.problems.map(showFinding).join('\n'), /"vg1": there is no such volume group/);
  for (const edit of [classes('a vg1', 'c vg3'), classes('d vg1'), classes('a vg1/pool')]) {
    assert.equal(edits([before, whole], [edit, away]).source, 'last-good', edit);
  }
});

test('a class outlives its group’s absence only where that is known to be one of ours', () => {
  const away = hostOf(sampleVg({ name: 'vg2' }));
  const [before, without] = [classes('a vg1', 'b vg2'), classes('b vg2')];
  const asked = { last: before, isServing: true };
  const decision = decide(without, away, { ...asked, made: new Map([['vg1', 'U1']]) });
  assert.ok(decision.kind === 'serve');
  const [kept, ...more] = decision.retired;
  assert.deepEqual([kept?.name, kept?.vgUuid, more], ['a', 'U1', []]);
  assert.match(kept?.refusal ?? '', /no longer in lvmd.yaml, and its volume group vg1 is away$/);
  const decoded = decodeLvmdFile({ file, text: without });
  const view = { file, decoded, last: decision, host: away, mounts: [], isServing: true };
  const later = (known: Partial<ConfigurationView>) => {
    const next = decideConfiguration({ ...view, ...known });
    assert.ok(next.kind === 'serve');
    return next.retired.map(({ name }) => name);
  };
  assert.deepEqual(later({ made: new Map([['vg1', 'U1']]) }), ['a']);
  assert.deepEqual(later({ made: new Map(), givenUp: new Set(['vg1']) }), ['a'], 'for its volumes');
  assert.deepEqual(later({ made: new Map(), givenUp: new Set() }), []);
  assert.deepEqual(later({}), ['a'], 'where nobody can say');
});

test('the name of a retired class is not given to another group', () => {
  const { source, problems } = edits(
    [classes('a vg1', 'b vg2'), whole],
    [classes('b vg2'), whole],
    [classes('b vg2', 'a vg2'), whole],
  );
  assert.equal(source, 'last-good');
  assert.match(problems.map(showFinding).join('\n'), /volumes of this class are in vg1/);
});

const poolWith = (attributes: string) =>
  hostOf(group('vg1', samplePool({ name: 'p', attributes })), group('vg2'));
const withPolicy = (policy: string) =>
  classes('a vg1/p', 'b vg2').replace('ratio: 2}', `ratio: 2}, wipe-policy: ${policy}`);

for (const policy of ['zero', 'full']) {
  test(`a class that promises ${policy} is refused where its pool does not zero`, () => {
    const decision = decide(withPolicy(policy), poolWith('twi-aot---'));
    assert.ok(decision.kind === 'serve');
    const { refused, advice, problems } = decision;
    assert.deepEqual([refused.map(({ name }) => name), advice, problems], [['a'], [], []]);
    assert.match(refused[0]?.reason ?? '', new RegExp(`${policy}, .*lvchange --zero y vg1/p`));
    const [first, second] = decision.classes;
    assert.equal(first?.refusal, refused[0]?.reason);
    assert.equal(second?.refusal, undefined);
    const zeroing = decide(withPolicy(policy), poolWith('twi-aotz--'));
    assert.ok(zeroing.kind === 'serve');
    assert.deepEqual([zeroing.refused, zeroing.advice], [[], []]);
  });
}

for (const text of [classes('a vg1/p', 'b vg2'), withPolicy('discard')]) {
  test(`a pool that does not zero is told of where nothing was promised: ${text}`, () => {
    const decision = decide(text, poolWith('twi-aot---'));
    assert.ok(decision.kind === 'serve');
    assert.deepEqual(decision.refused, []);
    assert.match(decision.advice.join(), /^the class a .*lvchange --zero y vg1\/p/);
    const zeroing = decide(text, poolWith('twi-aotz--'));
    assert.ok(zeroing.kind === 'serve');
    assert.deepEqual(zeroing.advice, []);
  });
}

for (const { what, host, isOpen } of [
  { what: 'ours', host: hostOf(sampleVg({ name: 'vg1', uuid: 'U1' })), isOpen: true },
  { what: 'another one', host: hostOf(sampleVg({ name: 'vg1', uuid: 'U2' })), isOpen: false },
  {
    what: 'another one, and ours was renamed',
    host: hostOf(sampleVg({ name: 'vg1', uuid: 'U2' }), sampleVg({ name: 'vg9', uuid: 'U1' })),
    isOpen: false,
  },
]) {
  test(`a class is ${isOpen ? 'open' : 'refused'} where the group of its name is ${what}`, () => {
    const decision = decide(classes('a vg1'), host, { made: new Map([['vg1', 'U1']]) });
    assert.ok(decision.kind === 'serve');
    assert.equal(decision.classes[0]?.refusal === undefined, isOpen);
  });
}

test('no room is told of where a second group has the name of a class', () => {
  const host = hostOf(sampleVg({ name: 'vg1', uuid: 'U1' }), sampleVg({ name: 'vg1', uuid: 'U2' }));
  for (const made of [new Map(), new Map([['vg1', 'U1']])]) {
    const decision = decide(classes('a vg1'), host, { made });
    assert.ok(decision.kind === 'serve');
    const [a] = decision.classes;
    assert.equal(a?.refusal, 'two volume groups are called vg1: U1 and U2');
    assert.ok(a !== undefined && host.vgs[0] !== undefined);
    assert.equal(capacityOf(a, host.vgs[0]).availableBytes, 0n);
    assert.deepEqual(decision.refused, [{ name: 'a', reason: a.refusal }]);
  }
});

test('a class knows the identity of the group that was made for it', () => {
  const host = hostOf(sampleVg({ name: 'vg1', uuid: 'U1' }));
  const decision = decide(classes('a vg1'), host, { made: new Map([['vg1', 'U1']]) });
  assert.ok(decision.kind === 'serve');
  assert.equal(decision.classes[0]?.vgUuid, 'U1');
});

test('a file is none the worse for a group that was given up', () => {
  const host = hostOf(sampleVg({ name: 'vg2' }));
  const text = classes('a vg1', 'b vg2');
  assert.equal(decide(text, host).kind, 'refuse');
  const decision = decide(text, host, { made: new Map(), givenUp: new Set(['vg1']) });
  assert.ok(decision.kind === 'serve');
  const reason = 'vg1 was given up here, and no other was made since';
  assert.deepEqual(decision.refused, [{ name: 'a', reason }]);
  assert.equal(decision.classes[0]?.isGivenUp, true);
});

test('what is known is in doubt where a group is away, or one is here that was given up', () => {
  const host = hostOf(sampleVg({ name: 'vg1', uuid: 'U1' }));
  assert.equal(isInDoubt({}, host), false);
  assert.equal(isInDoubt({ made: new Map([['vg1', 'U1']]) }, host), false);
  assert.equal(isInDoubt({ made: new Map([['vg1', 'U2']]) }, host), true);
  assert.equal(isInDoubt({ made: new Map([['vg2', 'U1']]) }, host), true);
  assert.equal(isInDoubt({ givenUp: new Set(['vg2']) }, host), false);
  assert.equal(isInDoubt({ givenUp: new Set(['vg1']) }, host), true);
});
