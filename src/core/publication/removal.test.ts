import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBlocked } from '../../../test/samples/decisions.ts';
import {
  lvUuid,
  mountOf,
  nodeOf,
  published,
  targetPath,
} from '../../../test/samples/publications.ts';
import { bytes } from '../../base/bytes.ts';
import { show } from '../../base/show.ts';
import type { UnpublishedVolume } from './desired.ts';
import type { MountOwner, ObservedRemoval } from './observed.ts';
import { planUnpublication } from './removal.ts';

function plan(given: Partial<ObservedRemoval>, volume: UnpublishedVolume = published) {
  const target = { path: targetPath, kind: 'absent', mode: 0, sizeBytes: bytes(0n) } as const;
  const observed = { target, here: [], legacyNode: undefined, ...given };
  return planUnpublication({ presence: 'absent', volume, targetPath }, observed);
}

const at = (kind: ObservedRemoval['target']['kind'], size = 0n) => ({
  target: { path: targetPath, kind, mode: 0, sizeBytes: bytes(size) },
});

const steps: readonly (readonly [string, Partial<ObservedRemoval>, string])[] = [
  ['a mount of the volume is taken away', { ...at('directory'), here: [mountOf()] }, 'unmount'],
  ['each of several', { ...at('directory'), here: [mountOf(), mountOf()] }, 'unmount'],
  ['a bound node is taken away', { ...at('device'), here: [nodeOf()] }, 'unmount'],
  [
    'what has lost its device',
    { ...at('unreadable'), here: [mountOf({ owner: { kind: 'gone' } })] },
    'unmount',
  ],
  [
    'a node that TopoLVM made is removed',
    { ...at('device'), here: [nodeOf({ isBare: true })] },
    'remove-file',
  ],
  [
    'one whose device is gone, too',
    { ...at('device'), here: [nodeOf({ isBare: true, owner: { kind: 'gone' } })] },
    'remove-file',
  ],
  ['an empty directory goes', at('directory'), 'remove-directory'],
  ['an empty file goes', at('file'), 'remove-file'],
  ['a node of old TopoLVM goes last', { legacyNode: '/dev/topolvm/v1' }, 'remove-file'],
];

for (const [title, given, kind] of steps) {
  test(title, () => {
    const decision = plan(given);
    assert.ok(decision.kind === 'step', show(decision));
    assert.equal(decision.step.kind, kind);
  });
}

test('nothing there is nothing to do', () => assert.equal(plan({}).kind, 'rest'));

const other: MountOwner = { kind: 'other' };
const refusals: readonly (readonly [string, Partial<ObservedRemoval>, RegExp])[] = [
  [
    'a mount of somebody else',
    { here: [mountOf({ owner: other, source: 'tmpfs' })] },
    /tmpfs .*not v1/,
  ],
  [
    'a node of somebody else',
    { ...at('device'), here: [nodeOf({ isBare: true, owner: other })] },
    /not v1/,
  ],
  ['ours under another', { here: [mountOf(), mountOf({ owner: other })] }, /not v1/],
  ['a file with something in it', at('file', 1n), /something in it/],
  ['a device node that is not bound', at('device'), /device/],
  ['a link', at('other'), /other/],
  ['what cannot be looked at', at('unreadable'), /unreadable/],
];

for (const [title, given, names] of refusals) {
  test(`${title} is left`, () => assertBlocked(plan(given), 'TargetTaken', names));
}

const dmUuid = (lv: string) => `LVM-${'g'.repeat(32)}${lv.replaceAll('-', '')}`;
const lvIs = (dmName: string, uuid = lvUuid) =>
  ({ kind: 'lv', dmUuid: dmUuid(uuid), dmName }) as const;

const owners: readonly (readonly [string, UnpublishedVolume, MountOwner, boolean])[] = [
  [
    'its UUID, whatever its group is called',
    { name: 'v1', uuid: lvUuid },
    lvIs('other-name'),
    true,
  ],
  [
    'its UUID, not its name',
    { vg: 'vg1', name: 'v1', uuid: lvUuid },
    lvIs('vg1-v1', 'u'.repeat(32)),
    false,
  ],
  ['group and name', { vg: 'vg-1', name: 'v-1' }, lvIs('vg--1-v--1'), true],
  ['group and name, both', { vg: 'vg2', name: 'v1' }, lvIs('vg1-v1'), false],
  ['its name alone', { name: 'v-1' }, lvIs('vg--1-v--1'), true],
  ['its whole name', { name: '1' }, lvIs('vg-v--1'), false],
];

for (const [title, volume, owner, mayGo] of owners) {
  test(`a volume is known by ${title}`, () => {
    const decision = plan({ here: [mountOf({ owner })] }, volume);
    assert.equal(decision.kind, mayGo ? 'step' : 'blocked');
  });
}
