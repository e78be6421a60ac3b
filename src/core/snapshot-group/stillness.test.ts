import assert from 'node:assert/strict';
import test from 'node:test';
import { sampleLv } from '../../../test/samples/observed.ts';
import type { ObservedMount } from '../publication/observed.ts';
import { planStillness } from './stillness.ts';

const uuid = 'hhhhhh-iiii-jjjj-kkkk-llll-mmmm-nnnnnn';
const volume = { vg: 'vg1', name: 'a', uuid };

function member(isOpen: boolean) {
  return { volume, lv: sampleLv({ name: 'a', uuid, isOpen }) };
}

function mount(change: Partial<ObservedMount> = {}): ObservedMount {
  const dmUuid = `LVM-${'g'.repeat(32)}${uuid.replaceAll('-', '')}`;
  return {
    mountPoint: '/pods/a',
    fsType: 'ext4',
    source: '/dev/mapper/vg1-a',
    isWhole: true,
    isReadOnly: false,
    isFileSystemReadOnly: false,
    isNode: false,
    owner: { kind: 'lv', dmUuid, dmName: 'vg1-a' },
    ...change,
  };
}

function plan(isOpen: boolean, mounts: readonly ObservedMount[], kernelRelease = '6.12.1') {
  const onTop = new Set(
    mounts.map(({ mountPoint }) => mountPoint).filter((path) => path !== '/hidden'),
  );
  return planStillness([member(isOpen)], { mounts, onTop, kernelRelease });
}

test('a volume that nobody has open is still', () => {
  assert.deepEqual(plan(false, []), { kind: 'still', freeze: [] });
});

test('a file system is frozen once, however often it is mounted', () => {
  const twice = [mount(), mount({ mountPoint: '/pods/b' })];
  assert.deepEqual(plan(true, twice), { kind: 'still', freeze: ['/pods/a'] });
});

test('a file system that is read-only everywhere needs no freezing, on any kernel', () => {
  const readOnly = [mount({ isFileSystemReadOnly: true })];
  assert.deepEqual(plan(true, readOnly, '5.14.0'), { kind: 'still', freeze: [] });
});

test('the path that is chosen leads to the file system', () => {
  const hidden = mount({ mountPoint: '/hidden' });
  assert.deepEqual(plan(true, [hidden, mount()]), { kind: 'still', freeze: ['/pods/a'] });
  assert.match(refusal(plan(true, [hidden])), /hidden below another mount at \/hidden/);
});

test('what is written to in another way is refused', () => {
  assert.match(refusal(plan(true, [mount({ isNode: true })])), /raw device at \/pods\/a/);
  assert.match(refusal(plan(true, [])), /is open, and not as a file system/);
});

test('mounts of other volumes do not count', () => {
  const other = mount({ owner: { kind: 'lv', dmUuid: 'LVM-x', dmName: 'vg1-b' } });
  assert.deepEqual(plan(false, [other]), { kind: 'still', freeze: [] });
});

const kernels: readonly (readonly [string, boolean])[] = [
  ['5.14.0-611.el9', false],
  ['6.1.0-40-amd64', false],
  ['6.7.12', false],
  ['6.8.0', true],
  ['6.12.107+deb13-cloud-amd64', true],
  ['7.2.7', true],
  ['strange', false],
];

for (const [release, isEnough] of kernels) {
  test(`kernel ${release} can${isEnough ? '' : 'not'} take snapshots of what is frozen`, () => {
    const outcome = plan(true, [mount()], release);
    assert.equal(outcome.kind === 'still', isEnough);
    if (!isEnough) assert.match(refusal(outcome), /needs 6\.8/);
  });
}

function refusal(outcome: ReturnType<typeof planStillness>): string {
  assert.ok(outcome.kind === 'blocked');
  assert.equal(outcome.code, 'CannotHoldStill');
  return outcome.message;
}
