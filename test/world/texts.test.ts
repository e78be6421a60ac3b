import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainDisks } from './devices.ts';
import { execute } from './programs.ts';
import { type FakeWorld, fakeWorld } from './world.ts';

/**
 * What lvm2 2.03.31 printed in a guest for the same commands, word for word. `+` is stdout,
 * `!` is stderr, the number is the exit code.
 */
const transcripts: readonly (readonly [string, string])[] = [
  [
    'a group is made',
    `$ lvm vgcreate --metadatasize 16777216b --addtag lvms vg1 /dev/sda /dev/sdb /dev/sdc
+  Physical volume "/dev/sda" successfully created.
+  Physical volume "/dev/sdb" successfully created.
+  Physical volume "/dev/sdc" successfully created.
+  Volume group "vg1" successfully created
0`,
  ],
  [
    'sizes are rounded aloud',
    `$ lvm lvcreate --yes --type striped --stripes 2 --size 104857600b --name str vg1
+  Using default stripesize 64.00 KiB.
+  Rounding size 100.00 MiB (25 extents) up to stripe boundary size 104.00 MiB (26 extents).
+  Logical volume "str" created.
0
$ lvm lvextend --size 209715200b vg1/str
+  Using stripesize of last segment 64.00 KiB
+  Size of logical volume vg1/str changed from 104.00 MiB (26 extents) to 200.00 MiB (50 extents).
+  Logical volume vg1/str successfully resized.
0
$ lvm lvextend --size 209715200b vg1/str
+  Using stripesize of last segment 64.00 KiB
+  New size (50 extents) matches existing size (50 extents).
!  No size change.
5
$ lvm lvextend --size 209715201b vg1/str
!  Size is not a multiple of 512. Try using 209715200 or 209715712.
!  Invalid argument for --size: 209715201b
!  Error during parsing of command line.
3`,
  ],
  [
    'a snapshot gets no more than it can use',
    `$ lvm lvcreate --yes --type linear --size 104857600b --name lin vg1
+  Logical volume "lin" created.
0
$ lvm lvcreate --yes --snapshot --name snap --size 225165824b --permission r vg1/lin
+  Rounding up size to full physical extent 216.00 MiB
+  Reducing COW size 216.00 MiB down to maximum usable size 104.00 MiB.
+  Logical volume "snap" created.
0
$ lvm lvextend --size 945165824b vg1/snap
+  Rounding size to boundary between physical extents: 904.00 MiB.
+  Reached maximum COW size 104.00 MiB (26 extents).
+  Size of logical volume vg1/snap unchanged from 104.00 MiB (26 extents).
+  Logical volume vg1/snap successfully resized.
0
$ lvm lvextend --size 209715200b vg1/lin
!  Snapshot origin volumes can be resized only while inactive: try lvchange -an.
5
$ lvm lvcreate --yes --snapshot --size 8m --name again vg1/snap
!  Snapshots of snapshots are not supported.
5
$ lvm lvchange --activate y --ignoreactivationskip vg1/snap
!Change of snapshot vg1/snap will also change its origin vg1/lin. Proceed? [y/n]: [n]
!  Logical volume vg1/snap not changed.
5`,
  ],
  [
    'pools and what is in them',
    `$ lvm lvcreate --yes --type thin-pool --size 100m --chunksize 128k \
--poolmetadatasize 8m --name pool vg1
+  Thin pool volume with chunk size 128.00 KiB can address at most 31.75 TiB of data.
+  Logical volume "pool" created.
0
$ lvm lvcreate --yes --type thin --virtualsize 104857600b --thinpool pool --name t1 vg1
+  Logical volume "t1" created.
0
$ lvm lvcreate --yes --snapshot --name t1s --setactivationskip n --permission r vg1/t1
!  WARNING: Sum of all thin volume sizes (200.00 MiB) exceeds the size of \
thin pool vg1/pool (100.00 MiB).
+  WARNING: You have not turned on protection against thin pools running out of space.
+  WARNING: Set activation/thin_pool_autoextend_threshold below 100 to trigger \
automatic extension of thin pools before they get full.
+  Logical volume "t1s" created.
0
$ lvm lvextend --poolmetadatasize 4194304b vg1/pool
!  New size given (1 extents) not larger than existing size (2 extents)
5
$ lvm lvcreate --yes --snapshot --size 8m --name s vg1/pool
!  Snapshots of thin pool type volumes are not supported.
5
$ lvm lvcreate --yes --type thin --virtualsize 104857600b --thinpool nopool --name t2 vg1
!  Pool nopool not found in Volume group vg1.
5
$ lvm lvcreate --yes --snapshot --name s vg1/nosuch
!  Snapshot origin LV nosuch not found in Volume group vg1.
5`,
  ],
  [
    'refusals',
    `$ lvm lvcreate --yes --type linear --size 1099511627776b --name big vg1
!  Volume group "vg1" has insufficient free space (623 extents): 262144 required.
5
$ lvm lvcreate --yes --type linear --size 104857600b --name str vg1
!  Logical Volume "str" already exists in volume group "vg1"
5
$ lvm lvcreate --yes --type raid6 --stripes 3 --size 104857600b --name r6 vg1
+  Using default stripesize 64.00 KiB.
+  Rounding size 100.00 MiB (25 extents) up to stripe boundary size 108.00 MiB (27 extents).
!  Insufficient suitable allocatable extents for logical volume r6: 30 more required
5
$ lvm lvcreate --yes --type raid5 --stripes 4 --size 104857600b --name r5 vg1
+  Using default stripesize 64.00 KiB.
+  Rounding size 100.00 MiB (25 extents) up to stripe boundary size 112.00 MiB (28 extents).
!  Number of stripes (4) must not exceed number of physical volumes (3)
5
$ lvm lvcreate --yes --type linear --size 104857600b --name x nosuch
!  Volume group "nosuch" not found
!  Cannot process volume group nosuch
5
$ lvm lvcreate --yes --type linear --sizzze 104857600b --name x vg1
!lvcreate: unrecognized option '--sizzze'
!  Error during parsing of command line.
3
$ lvm lvremove --yes vg1/nosuch
!  Failed to find logical volume "vg1/nosuch"
5
$ lvm vgcreate vg1 /dev/sdd
!  /dev/vg1: already exists in filesystem
!  Run \`vgcreate --help' for more information.
3
$ lvm vgcreate vg2 /dev/nosuch
!  No device found for /dev/nosuch.
5
$ lvm vgcreate vg2 /dev/sda
!  Physical volume '/dev/sda' is already in volume group 'vg1'
!  Unable to add physical volume '/dev/sda' to volume group 'vg1'
!  /dev/sda: physical volume not initialized.
5
$ lvm vgreduce vg1 /dev/sda
!  Physical volume "/dev/sda" still in use
5
$ lvm vgreduce vg1 /dev/sdd
!  Failed to find physical volume "/dev/sdd".
5
$ lvm pvremove /dev/sda
!  PV /dev/sda is used by VG vg1 so please use vgreduce first.
!  (If you are certain you need pvremove, then confirm by using --force twice.)
!  /dev/sda: physical volume label not removed.
5
$ lvm pvremove /dev/sdd
!  No PV found on device /dev/sdd.
5
$ lvm vgremove vg1
!Do you really want to remove volume group "vg1" containing 6 logical volumes? [y/n]: [n]
!  Volume group "vg1" not removed
5`,
  ],
  [
    'selections that match nothing do nothing and succeed',
    `$ lvm lvremove --yes --select lv_uuid=zzzz vg1/str
0
$ lvm vgremove --select lv_count=0 vg1
0`,
  ],
  [
    'removal',
    `$ lvm lvremove --yes vg1/lin
+  Logical volume "snap" successfully removed.
+  Logical volume "lin" successfully removed.
0
$ lvm lvremove --yes vg1/pool
+  Logical volume "t1" successfully removed.
+  Logical volume "t1s" successfully removed.
+  Logical volume "pool" successfully removed.
0
$ lvm lvremove --yes vg1/str
+  Logical volume "str" successfully removed.
0
$ lvm pvmove --interval 1 /dev/sda
!  No data to move for vg1.
5
$ lvm vgreduce vg1 /dev/sda
+  Removed "/dev/sda" from volume group "vg1"
0
$ lvm pvremove /dev/sda
+  Labels on physical volume "/dev/sda" successfully wiped.
0
$ lvm vgremove vg1
+  Volume group "vg1" successfully removed
0
$ wipefs --all /dev/nosuch
!wipefs: error: /dev/nosuch: probing initialization failed: No such file or directory
1
$ blkid --probe --output export /dev/sda
2
$ dmsetup resume nosuch
!device-mapper: resume ioctl on nosuch  failed: No such device or address
!Command failed.
1`,
  ],
];

const world = fakeWorld({ seed: 1, devices: plainDisks(4) });

for (const [name, transcript] of transcripts) {
  test(`says what lvm2 says: ${name}`, () => {
    for (const part of transcript.split(/^\$ /m).filter((text) => text !== '')) replay(world, part);
  });
}

function replay(on: FakeWorld, part: string): void {
  const [command = '', ...lines] = part.trimEnd().split('\n');
  const outcome = execute(on.machine, command.split(' '));
  const of = (mark: string) =>
    lines.filter((line) => line.startsWith(mark)).map((line) => `${line.slice(1)}\n`);
  assert.equal(outcome?.stdout, of('+').join(''), command);
  assert.equal(outcome?.stderr, of('!').join(''), command);
  assert.equal(outcome?.exitCode, Number(lines.at(-1)), command);
}
