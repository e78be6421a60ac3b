/** A way to have a disk. `$d` is its path, `$n` a name for what belongs to it. */
export type Use = {
  readonly name: string;
  /** Only what is `in use` is safe from an administrator who allows it to be wiped. */
  readonly kind: 'free' | 'holds something' | 'in use';
  readonly begin: string;
  readonly end?: string;
  /** What is free is this, with `$d` for its path. */
  readonly device?: string;
};

const ext4 = 'mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0';
const words = 'yes "somebody needs this" | dd bs=1M count=2 seek=8 status=none iflag=fullblock';
const onePart = `printf 'label: gpt\\n,\\n' | sfdisk --quiet $d; udevadm settle`;

/** udev may be looking at it. */
export const unparted = 'until blockdev --rereadpt $d 2> /dev/null; do sleep 0.1; done';
const numbers = '$((0x$(stat -c %t $d))) $((0x$(stat -c %T $d)))';
const kubelet = 'k=/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/publish/$n';

/** It is open as long as nobody ends the process. */
const opened = `sh -c "exec 3<> $d; exec sleep 100000" > /dev/null 2>&1 &
  echo $! > /run/$n.pid; sleep 0.2`;
const closed = 'kill "$(cat /run/$n.pid)"; sleep 0.2';

export const uses: readonly Use[] = [
  { name: 'bare', kind: 'free', begin: ':' },
  {
    ...{ name: 'cleared after use', kind: 'free' },
    begin: `${ext4} $d; wipefs --all --quiet $d`,
  },
  {
    ...{ name: 'a partition with nothing in it', kind: 'free', device: '$d1' },
    begin: onePart,
    end: `wipefs --all --force --quiet $d; ${unparted}`,
  },
  {
    ...{ name: 'a half of a mirror of md', kind: 'free', device: '/dev/md7' },
    begin: `modprobe raid1
      mdadm --create /dev/md7 --run --quiet --level=1 --raid-devices=2 $d missing`,
    end: `wipefs --all --quiet /dev/md7
      until mdadm --stop --quiet /dev/md7; mdadm --zero-superblock $d; do sleep 0.1; done`,
  },
  { name: 'ext4', kind: 'holds something', begin: `${ext4} $d` },
  { name: 'xfs', kind: 'holds something', begin: 'mkfs.xfs -q -f $d' },
  { name: 'swap that is off', kind: 'holds something', begin: 'mkswap --quiet $d' },
  { name: 'an empty GPT', kind: 'holds something', begin: `echo label: gpt | sfdisk --quiet $d` },
  { name: 'an empty MBR', kind: 'holds something', begin: `echo label: dos | sfdisk --quiet $d` },
  {
    ...{ name: 'LUKS, closed', kind: 'holds something' },
    begin:
      'echo secret | cryptsetup luksFormat --batch-mode --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $d -',
  },
  {
    ...{ name: 'the magic of BlueStore', kind: 'holds something' },
    begin: "printf 'bluestore block device\\n' | dd of=$d conv=notrunc status=none",
  },
  {
    ...{ name: 'mounted', kind: 'in use' },
    begin: `${ext4} $d; mkdir -p /mnt/$n; mount $d /mnt/$n; echo mine > /mnt/$n/file`,
    end: 'cat /mnt/$n/file; umount /mnt/$n',
  },
  {
    ...{ name: 'mounted, and its signature is gone', kind: 'in use' },
    begin: `${ext4} $d; mkdir -p /mnt/$n; mount -o ro $d /mnt/$n; sync
      wipefs --all --force --quiet $d`,
    end: 'umount /mnt/$n',
  },
  { name: 'swap', kind: 'in use', begin: 'mkswap --quiet $d; swapon $d', end: 'swapoff $d' },
  {
    ...{ name: "somebody else's group", kind: 'in use' },
    begin: 'lvm vgcreate --quiet other-$n $d; lvm lvcreate --quiet -Wn -l 4 -n lv other-$n',
    end: 'lvm vgremove --quiet --force --yes other-$n; lvm pvremove --quiet $d',
  },
  {
    ...{ name: 'a mapping on bare ground', kind: 'in use' },
    begin: `${words} of=$d; dmsetup create $n-map --table "0 2048 linear $d 16384"`,
    end: 'dmsetup remove $n-map',
  },
  {
    ...{ name: 'a half of a mirror of md without a superblock, mounted', kind: 'in use' },
    begin: `modprobe raid1
      mdadm --build /dev/md8 --quiet --level=1 --raid-devices=2 $d missing; ${ext4} /dev/md8
      mkdir -p /mnt/$n; mount -o ro /dev/md8 /mnt/$n`,
    end: 'umount /mnt/$n; mdadm --stop --quiet /dev/md8',
  },
  {
    ...{ name: 'a path of a multipath device', kind: 'in use' },
    begin: `modprobe -a dm-multipath dm-round-robin
      ${words} of=$d; dmsetup create $n-paths --uuid mpath-$n --table \
      "0 $(blockdev --getsz $d) multipath 0 0 1 1 round-robin 0 1 1 $(stat -c %Hr:%Lr $d) 1"`,
    end: 'dmsetup remove $n-paths',
  },
  {
    ...{ name: 'LUKS, open', kind: 'in use' },
    begin: `echo secret | cryptsetup luksFormat --batch-mode --pbkdf pbkdf2 \\
      --pbkdf-force-iterations 1000 $d -
      echo secret | cryptsetup open --key-file - $d $n-crypt; ${ext4} /dev/mapper/$n-crypt`,
    end: 'cryptsetup close $n-crypt',
  },
  {
    ...{ name: 'a mounted partition', kind: 'in use' },
    begin: `${onePart}; ${ext4} \${d}1; mkdir -p /mnt/$n; mount \${d}1 /mnt/$n`,
    end: `umount /mnt/$n; wipefs --all --force --quiet \${d}1 $d; ${unparted}`,
  },
  {
    ...{ name: 'a loop device somewhere in it, mounted', kind: 'in use' },
    begin: `loop=$(losetup --find --show --offset 1048576 $d); ${ext4} $loop
      mkdir -p /mnt/$n; mount $loop /mnt/$n; echo mine > /mnt/$n/file`,
    end: 'umount /mnt/$n; losetup --detach "$(losetup -nO NAME --associated $d)"',
  },
  {
    ...{ name: 'a loop device on a node of its own, as kubelet has it', kind: 'in use' },
    begin: `${words} of=$d; ${kubelet}; mkdir -p "$k"; mknod "$k/dev" b ${numbers}
      losetup --find "$k/dev"`,
    end: `${kubelet}; losetup --detach "$(losetup -nO NAME --associated "$k/dev")"; rm -r "$k"`,
  },
  {
    ...{ name: 'a node that is bound into a container', kind: 'in use' },
    begin: `${words} of=$d; mkdir -p /srv/$n; touch /srv/$n/dev; mount --bind $d /srv/$n/dev`,
    end: 'umount /srv/$n/dev; rm -r /srv/$n',
  },
  {
    ...{ name: 'open for writing, as a virtual machine has it', kind: 'in use' },
    begin: `${words} of=$d; ${opened}`,
    end: closed,
  },
  {
    ...{ name: 'read-only', kind: 'in use' },
    begin: `${words} of=$d; blockdev --setro $d`,
    end: 'blockdev --setrw $d',
  },
];
