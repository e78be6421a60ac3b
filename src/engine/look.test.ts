import assert from 'node:assert/strict';
import test from 'node:test';
import { noFiles } from '../../test/samples/no-files.ts';
import { sampleVg } from '../../test/samples/observed.ts';
import { reportText } from '../../test/samples/report-text.ts';
import { OperationError } from '../base/failures.ts';
import type { ObservedDevice } from '../core/observed.ts';
import type { Command, CommandResult } from '../lvm/command.ts';
import { observeNode } from './look.ts';
import type { DeviceUser, Host } from './ports.ts';

/** What the programs of a host answer; anything not given is empty. */
type Answers = {
  readonly mounts?: string;
  readonly busy?: readonly string[];
  readonly users?: readonly DeviceUser[];
  readonly probe?: (command: Command) => Promise<CommandResult>;
};

const disks = ['/dev/sda', '/dev/sdb'];

function hostWith(answers: Answers) {
  const probed: string[] = [];
  const host: Host = {
    start: (command) => {
      const [program, verb = ''] = command.argv;
      const isProbe = program === 'wipefs' || program === 'blkid';
      if (isProbe) probed.push(`${program} ${command.argv.at(-1)}`);
      const result =
        isProbe && answers.probe !== undefined ? answers.probe(command) : output(program, verb);
      return { result, gone: Promise.resolve() };
    },
    strays: () => Promise.resolve([]),
    exclusiveOpen: (path) => Promise.resolve(answers.busy?.includes(path) ? 'busy' : 'free'),
    deviceUsers: () => Promise.resolve(answers.users ?? []),
    links: () => Promise.resolve([{ link: '/dev/disk/by-id/b', device: '/dev/sdb' }]),
    readText: (path) => Promise.resolve(path.includes('mountinfo') ? (answers.mounts ?? '') : ''),
    flush: () => Promise.resolve(),
    ...noFiles,
  };
  return { host, probed };
}

function output(program: string, verb: string): Promise<CommandResult> {
  if (program === 'lsblk') return done(0, JSON.stringify({ blockdevices: disks.map(lsblkRow) }));
  if (verb === 'fullreport') return done(0, reportText({ vgs: [sampleVg()], orphanPvs: [] }));
  if (verb === 'pvs') return done(0, JSON.stringify({ report: [{ pv: disks.map(labelRow) }] }));
  return program === 'blkid' ? done(2) : done(0);
}

function done(exitCode: number, stdout = ''): Promise<CommandResult> {
  return Promise.resolve({ exitCode, signal: undefined, stdout, stderr: '', durationMs: 1 });
}

function lsblkRow(path: string, index: number) {
  const number = `8:${16 * index}`;
  const common = { name: path, kname: path, 'maj:min': number, type: 'disk', ro: false };
  return { ...common, size: 2 ** 30, state: null, mountpoint: null, fstype: null };
}

const labelRow = (path: string) => ({ pv_name: path, pv_uuid: '', vg_name: '', pv_duplicate: '' });

async function devices(answers: Answers) {
  const { host, probed } = hostWith(answers);
  const node = await observeNode(host, []);
  const [sda, sdb] = node.devices;
  assert.ok(sda !== undefined && sdb !== undefined);
  return { sda, sdb, probed, node };
}

test('free devices are probed twice each, and what LVM knows comes with them', async () => {
  const { sda, sdb, probed, node } = await devices({});
  assert.deepEqual(probed, [
    ...['wipefs /dev/sda', 'blkid /dev/sda'],
    ...['wipefs /dev/sdb', 'blkid /dev/sdb'],
  ]);
  assert.deepEqual([sda.signatures, sda.label], [{ kind: 'none' }, { kind: 'none' }]);
  assert.deepEqual(sdb.links, ['/dev/disk/by-id/b']);
  assert.equal(node.vgs[0]?.name, 'vg1');
});

const mounts: readonly (readonly [how: string, line: string])[] = [
  ['by its number', '30 1 8:0 / /data rw - ext4 /dev/root rw'],
  ['by its path', '30 1 0:44 / /data rw - btrfs /dev/sda rw'],
  ['as a bare device node', '30 1 0:5 /sda /data rw - devtmpfs udev rw'],
];

for (const [how, line] of mounts) {
  test(`a device that is mounted ${how} is found so, and not probed`, async () => {
    const { sda, sdb, probed } = await devices({ mounts: `${line}\n` });
    assert.deepEqual([sda.mountPoints, sdb.mountPoints], [['/data'], []]);
    assert.deepEqual(probed, ['wipefs /dev/sdb', 'blkid /dev/sdb']);
    assert.equal(sda.signatures.kind, 'unknown');
  });
}

test('the device file system itself is no mount of a device', async () => {
  const { sda, sdb } = await devices({ mounts: '30 1 0:5 / /dev rw - devtmpfs udev rw\n' });
  assert.deepEqual([sda.mountPoints, sdb.mountPoints], [[], []]);
});

test('a device that somebody holds is not probed', async () => {
  const { sda, probed } = await devices({ busy: ['/dev/sda'] });
  assert.equal(sda.exclusiveOpen, 'busy');
  assert.deepEqual(probed, ['wipefs /dev/sdb', 'blkid /dev/sdb']);
});

test('who writes to a device without a claim is told, by its number', async () => {
  const users = [
    ...[
      { number: '8:0', by: 'the process qemu' },
      { number: '9:0', by: '/dev/loop1' },
    ],
    { number: '8:0', by: '/dev/loop0' },
  ];
  const { sda, sdb } = await devices({ users });
  assert.deepEqual([sda.users, sdb.users], [['/dev/loop0', 'the process qemu'], []]);
});

test('nobody asks for them where no device could be taken', async () => {
  const users = [{ number: '8:0', by: 'the process qemu' }];
  const { sda } = await devices({ users, busy: disks });
  assert.deepEqual(sda.users, []);
});

/** The same fault in either program, on one of the two disks. */
const faults: readonly (readonly [title: string, fault: () => Promise<CommandResult>])[] = [
  ['fails', () => done(1)],
  ['hangs', () => Promise.reject(new OperationError('CommandTimedOut', 'too slow'))],
  ['is not there', () => Promise.reject(new OperationError('CommandNotFound', 'no such program'))],
];

for (const program of ['wipefs', 'blkid']) {
  for (const [title, fault] of faults) {
    test(`what is on a disk is unknown when ${program} ${title}, and other disks are not`, async () => {
      const probe = (command: Command) => {
        const [name] = command.argv;
        const isBad = name === program && command.argv.at(-1) === '/dev/sda';
        return isBad ? fault() : output(name, '');
      };
      const { sda, sdb } = await devices({ probe });
      assert.equal(sda.signatures.kind, 'unknown');
      assert.deepEqual(sdb.signatures, { kind: 'none' } satisfies ObservedDevice['signatures']);
    });
  }
}

test('a look that is cancelled ends, and is no look at half of the disks', async () => {
  const probe = () => Promise.reject(new OperationError('Cancelled', 'nobody waits'));
  await assert.rejects(observeNode(hostWith({ probe }).host, []), { code: 'Cancelled' });
});

test('a bug in a probe stops us', async () => {
  const probe = () => Promise.reject(new TypeError('bug'));
  await assert.rejects(observeNode(hostWith({ probe }).host, []), TypeError);
});

test('a device is known by every name that it is asked for by', async () => {
  const { host } = hostWith({});
  const numbers = new Map([
    ['/dev/fast', '8:16'],
    ['/dev/other', '8:99'],
  ]);
  const inspect = async (path: string) => {
    if (path === '/dev/dead') throw new OperationError('FileFailed', 'no answer');
    return { ...(await host.inspect(path)), number: numbers.get(path) ?? '' };
  };
  const named = ['/dev/dead', '/dev/fast', '/dev/other', '/dev/none', '/etc/passwd'];
  const { devices } = await observeNode({ ...host, inspect }, named);
  assert.deepEqual(
    devices.map(({ path, links }) => [path, ...links]),
    [['/dev/sda'], ['/dev/sdb', '/dev/disk/by-id/b', '/dev/fast']],
  );
});
