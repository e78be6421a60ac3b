import assert from 'node:assert/strict';
import test from 'node:test';
import { readRecorded, type Suite, suites } from '../../test/fixtures/recorded.ts';
import { isInVg, type MappedDevice, parseDevices } from './dmsetup.ts';
import { parseHost } from './report.ts';

function suspendedOf(suite: Suite, name: string): readonly MappedDevice[] {
  const devices = parseDevices(readRecorded(suite, `dmsetup-${name}`).stdout);
  return devices.filter(({ isSuspended }) => isSuspended);
}

function vgUuidOf(suite: Suite, name: string): string {
  const [vg] = parseHost(readRecorded(suite, `host-${name}`).stdout).vgs;
  assert.ok(vg !== undefined);
  return vg.uuid;
}

for (const suite of suites) {
  test(`${suite}: a host without device-mapper devices has none that hang`, () => {
    assert.deepEqual(suspendedOf(suite, 'blank'), []);
  });

  test(`${suite}: of many devices none hangs`, () => {
    assert.deepEqual(suspendedOf(suite, 'layouts'), []);
  });

  test(`${suite}: a suspended volume is told from a suspended device of somebody else`, () => {
    const devices = suspendedOf(suite, 'suspended');
    const vgUuid = vgUuidOf(suite, 'suspended');
    assert.deepEqual(
      devices.map((device) => [device.name, isInVg(device, vgUuid)]),
      [
        ['data-one', true],
        ['other', false],
      ],
    );
  });

  test(`${suite}: lvextend that is killed leaves a volume that hangs`, () => {
    const [device, ...others] = suspendedOf(suite, 'killed-extend-lv');
    assert.ok(device !== undefined && others.length === 0);
    assert.equal(device.name, 'data-one');
    assert.ok(isInVg(device, vgUuidOf(suite, 'killed-extend-lv')));
  });

  test(`${suite}: lvcreate that is killed leaves no device at all`, () => {
    assert.deepEqual(suspendedOf(suite, 'killed-create-lv'), []);
  });
}

const unreadable = ['', 'data-one:LVM-x:Susp', 'data-one:LVM-x:Active\nda', 'data-one:Suspended\n'];

for (const output of unreadable) {
  test(`a list that is not whole, ${JSON.stringify(output)}, proves nothing`, () => {
    assert.throws(() => parseDevices(output), { code: 'UnreadableReport' });
  });
}

test('a name with colons is read whole', () => {
  const [, device] = parseDevices('a:b:LVM-:Active\nc:d:mpath-1:Suspended\n');
  assert.deepEqual(device, { name: 'c:d', vgUuid: undefined, isSuspended: true });
});

test('a group of another UUID does not own the device', () => {
  const vgUuid = 'a'.repeat(32);
  const device = { name: 'x', vgUuid, isSuspended: false };
  assert.ok(isInVg(device, vgUuid.replace(/^(.{6})/, '$1-')));
  assert.ok(!isInVg(device, 'b'.repeat(32)));
  assert.ok(!isInVg({ ...device, vgUuid: undefined }, ''));
});
