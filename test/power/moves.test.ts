import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { GiB, type Guest, type Lab, startLab } from '../../lab/index.ts';
import type { Ran, Started } from '../host/protocol.ts';
import { changesOf, Remote } from '../host/remote.ts';
import { nodeFile } from '../host/scenarios.ts';

/**
 * The power goes while a device is emptied, with every write that was not flushed. After the
 * restart the device still leaves, and what was on it is what it was.
 */
const mebibytes = 256;
const fractions = [0.05, 0.4, 0.7, 0.95];
const patience = { timeoutMs: 300_000 };

describe('power cut while data moves to another device', { timeout: 1_800_000 }, () => {
  let lab: Lab;
  let guest: Guest;
  let paths: readonly string[] = [];
  let checksum = '';
  let durationMs = 0;
  let cutsWhileMoving = 0;

  before(async () => {
    const disks = ['a', 'b', 'c'].map((name) => ({ name, sizeBytes: GiB }));
    lab = await startLab({ guests: [{ name: 'n1', disks }] });
    guest = lab.guest('n1');
    paths = await Promise.all(['a', 'b', 'c'].map((name) => guest.devicePath(name)));
    await inLife((remote) => remote.must({ op: 'apply', node: thick() }));
    const request = { name: 'v', className: 'linear', size: `${mebibytes}Mi` };
    await inLife((remote) => remote.must({ op: 'create', node: thick(), request }));
    const fill = `dd if=/dev/urandom of=/dev/vg/v bs=1M count=${mebibytes} conv=fsync status=none`;
    await guest.sh(fill, patience);
    checksum = await content();
  });

  after(async () => {
    await lab?.stop();
  });

  test('without a cut, which says how long a move takes', async () => {
    const device = await holder();
    const ask = { op: 'release', node: thick(), device } as const;
    const { ran } = await inLife((remote) => remote.must(ask));
    durationMs = changesOf(ran).find(isMove)?.durationMs ?? 0;
    assert.ok(durationMs > 0, 'nothing was moved');
    await comesBack(device);
  });

  for (const fraction of fractions) {
    test(`after ${fraction} of the time`, async () => {
      const device = await holder();
      if (await cutDuringMove(device, fraction)) cutsWhileMoving += 1;
      await inLife((remote) => remote.must({ op: 'recover' }));
      await inLife((remote) => remote.must({ op: 'release', node: thick(), device }));
      await comesBack(device);
    });
  }

  test('some of the cuts came while it moved', () => assert.ok(cutsWhileMoving > 1));

  /** Without a pool, which would take room from what moves. */
  function thick() {
    const { volumeGroups, deviceClasses } = nodeFile(paths);
    return { volumeGroups, deviceClasses: deviceClasses.filter(({ name }) => name === 'linear') };
  }

  async function inLife<T>(work: (remote: Remote) => Promise<T>): Promise<T> {
    const remote = new Remote(guest);
    try {
      return await work(remote);
    } finally {
      await remote.close();
    }
  }

  async function holder(): Promise<string> {
    const devices = await guest.sh('lvm lvs --noheadings --options devices vg/v');
    const held = paths.filter((path) => devices.includes(`${path}(`));
    assert.equal(held.length, 1, devices);
    return held[0] ?? '';
  }

  /** It has left with nothing on it, and is taken again. */
  async function comesBack(device: string): Promise<void> {
    const pvs = await guest.sh('lvm pvs --noheadings --options pv_name,vg_name');
    assert.doesNotMatch(pvs, new RegExp(`${device} +vg`));
    const names = await guest.sh('lvm lvs --all --noheadings --options lv_name vg');
    assert.deepEqual(names.trim().split(/\s+/), ['v']);
    await guest.sh('lvm vgck vg');
    assert.equal(await content(), checksum, 'what was flushed must be there');
    await inLife((remote) => remote.must({ op: 'apply', node: thick() }));
  }

  async function cutDuringMove(device: string, fraction: number): Promise<boolean> {
    let isMoving = () => {};
    const moves = new Promise<void>((resolve) => {
      isMoving = resolve;
    });
    const onStarted = ({ started }: Started) => {
      if (started.includes('pvmove')) isMoving();
    };
    const remote = new Remote(guest, { onStarted });
    let hasEnded = false;
    const work = remote.ask({ op: 'release', node: thick(), device }).then(
      () => {
        hasEnded = true;
      },
      () => undefined,
    );
    await moves;
    await sleep(durationMs * fraction);
    const isCut = !hasEnded;
    await guest.cutPower({ loseUnflushed: true });
    await work;
    await guest.start();
    return isCut;
  }

  async function content(): Promise<string> {
    const script = 'dd if=/dev/vg/v bs=1M iflag=direct status=none | sha256sum';
    await guest.sh('lvm vgchange --activate y vg');
    return guest.sh(script, patience);
  }
});

function isMove({ argv }: Ran): boolean {
  return argv.includes('pvmove');
}
