import assert from 'node:assert/strict';
import { GiB, type Guest, type Lab, MiB, startLab } from '../../lab/index.ts';
import { TroubleDriver } from './trouble-driver.ts';

/** Each trouble has a group of its own: what one leaves behind is not in the way of the next. */
const groups = {
  thin: ['t1'],
  grows: ['g1'],
  room: ['r1'],
  disks: ['p1', 'p2'],
  mirror: ['m1', 'm2'],
  single: ['s1'],
  admin: ['a1'],
  moves: ['v1'],
} as const;

export const allBad = { kind: 'failing', requests: ['read', 'write', 'flush'] } as const;

type Disk = (typeof groups)[keyof typeof groups][number];

const lvmdFile = `device-classes:
- name: thin
  volume-group: thin
  type: thin
  thin-pool: {name: pool, overprovision-ratio: 10}
- name: grows
  volume-group: grows
  spare-gb: 0
  type: thin
  thin-pool: {name: pool, overprovision-ratio: 10, grow: true}
- {name: room, volume-group: room, spare-gb: 1, default: true}
- {name: disks, volume-group: disks, spare-gb: 0}
- name: mirror
  volume-group: mirror
  spare-gb: 0
  lvcreate-options: [--type=raid1, --mirrors=1]
- {name: single, volume-group: single, spare-gb: 0}
- {name: admin, volume-group: admin, spare-gb: 0}
- {name: moves, volume-group: moves, spare-gb: 0}
`;

/** A guest with real LVM on real disks, and `quarry standalone` in it. */
export class Scene {
  readonly lab: Lab;
  readonly guest: Guest;
  readonly driver: TroubleDriver;

  constructor(lab: Lab) {
    this.lab = lab;
    this.guest = lab.guest('n1');
    this.driver = new TroubleDriver(this.guest, lab);
  }

  /** What an administrator types. */
  sh(script: string): Promise<string> {
    return this.guest.sh(script);
  }

  async stop(): Promise<void> {
    await this.driver.stop();
    await this.lab.stop();
  }

  /** A volume with a file system and a file in it, which is on the disk for good. */
  async filled(name: string, where: string): Promise<string> {
    const id = await this.driver.create(name, where, 40);
    await this.driver.must({ op: 'publish', id, path: `/pods/${name}` });
    await this.sh(`echo ${name} >/pods/${name}/file && sync`);
    return id;
  }

  /** The same on one disk of the group `disks`. */
  async filledOn(disk: 'p1' | 'p2', name: string): Promise<string> {
    const other = await this.guest.devicePath(disk === 'p1' ? 'p2' : 'p1');
    await this.sh(`pvchange --quiet --allocatable n ${other}`);
    const id = await this.filled(name, 'disks');
    await this.sh(`pvchange --quiet --allocatable y ${other}`);
    const where = await this.sh(`lvs --noheadings --options devices disks/${id}`);
    assert.match(where, new RegExp(`^ *${await this.guest.devicePath(disk)}\\(`));
    return id;
  }

  /** The volume is shown with all that was ever written to it. */
  async holds(id: string, name: string): Promise<void> {
    await this.driver.must({ op: 'publish', id, path: `/pods/${name}` });
    assert.equal(await this.sh(`cat /pods/${name}/file`), `${name}\n`);
  }

  async hide(id: string, name: string): Promise<void> {
    await this.driver.must({ op: 'unpublish', id, path: `/pods/${name}` });
  }

  /**
   * A copy on m2 fails under a file system in use. The kernel tries a failed write sector by
   * sector, each several times, before it gives the copy up, and writes wait that long: so nothing
   * big is under way here, and each sector is tried once.
   */
  async failsCopy(name: string): Promise<void> {
    const device = await this.guest.devicePath('m2');
    await this.sh(
      `set -e
      mount -o remount,noinit_itable /pods/${name}; sync
      echo 0 | tee /sys/block/${device.slice('/dev/'.length)}/device/scsi_disk/*/max_retries`,
    );
    await this.guest.setDiskFault('m2', allBad);
    await this.guest.sh(`echo more >/pods/${name}/more && sync`, { timeoutMs: 300_000 });
  }

  /** LVM's own word on what is in a group, pools left out. */
  async volumesIn(group: string): Promise<readonly string[]> {
    const names = await this.sh(`lvs --noheadings --options lv_name ${group} 2>/dev/null`);
    return names
      .split(/\s+/)
      .filter((name) => name !== '' && name !== 'pool')
      .toSorted();
  }
}

export async function startScene(): Promise<Scene> {
  const names: readonly Disk[] = Object.values(groups).flat();
  const disks = names.map((name) => ({ name, sizeBytes: name === 'r1' ? 2n * GiB : 512n * MiB }));
  const lab = await startLab({ guests: [{ name: 'n1', disks }] });
  try {
    const guest = lab.guest('n1');
    for (const [group, members] of Object.entries(groups)) {
      const paths = await Promise.all(members.map((disk) => guest.devicePath(disk)));
      await guest.sh(`vgcreate --quiet ${group} ${paths.join(' ')}`);
    }
    await guest.sh(
      `set -e
      lvcreate --quiet --yes --type thin-pool --size 128m --name pool thin
      lvcreate --quiet --yes --type thin-pool --size 100m --name pool grows
      mkdir -p /etc/topolvm /pods; cat >/etc/topolvm/lvmd.yaml`,
      { stdin: lvmdFile },
    );
    const scene = new Scene(lab);
    await scene.driver.must({ op: 'start' });
    return scene;
  } catch (error) {
    await lab.stop();
    throw error;
  }
}
