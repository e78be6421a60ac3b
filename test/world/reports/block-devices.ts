import type { Machine } from '../machine.ts';
import { type Device, type Lv, type Strand, strandsOf, virtualBytes } from '../model.ts';
import { mountLine } from '../mount-table.ts';
import { type Outcome, Voice } from '../text.ts';
import { dmNameOf, dmUuid, mapperPath, moveDmName } from './names.ts';

/** `lsblk --json`: disks with their partitions and the volumes that stand on them. */
export function lsblk(machine: Machine, argv: readonly string[]): Outcome {
  const minors = machine.minors();
  const columns = (argv[argv.indexOf('--output') + 1] ?? '').toLowerCase().split(',');
  const tree = machine.devices
    .filter((device) => device.isPresent)
    .map((device) => node(machine, device, minors))
    .map((item) => onlyColumns(item, columns));
  return new Voice().out(JSON.stringify({ blockdevices: tree }, null, 3)).end();
}

type Node = { readonly [column: string]: unknown; readonly children?: readonly Node[] };

function onlyColumns(item: Node, columns: readonly string[]): Node {
  const cells = columns.map((column) => {
    if (!(column in item)) throw new Error(`the fake lsblk knows no column ${column}`);
    return [column, item[column]] as const;
  });
  const children = item.children?.map((child) => onlyColumns(child, columns));
  return { ...Object.fromEntries(cells), ...(children === undefined ? {} : { children }) };
}

function node(machine: Machine, device: Device, minors: ReadonlyMap<Lv, number>): Node {
  const children = [
    ...device.partitions.map((part) => node(machine, part, minors)),
    ...volumesOn(machine, device).map((lv) => lvNode(lv, minors)),
    ...movesOn(machine, device),
  ];
  const { signatures } = device.content;
  const fileSystem = signatures.find(({ usage }) => usage !== 'partition-table');
  return {
    name: device.path,
    kname: device.path,
    'maj:min': device.number,
    type: device.type,
    size: device.sizeBytes,
    ro: device.isReadOnly,
    state: device.type === 'disk' ? 'running' : null,
    model: orNull(device.model),
    serial: orNull(device.serial),
    wwn: orNull(device.wwn),
    mountpoint: device.isSwap ? '[SWAP]' : (device.mountPoints.at(-1) ?? null),
    fstype: device.isBroken ? null : (fileSystem?.type ?? null),
    pttype: orNull(device.partitionTable),
    partlabel: orNull(device.partitionLabel),
    parttype: orNull(device.partitionType),
    ...(children.length > 0 ? { children } : {}),
  };
}

function lvNode(lv: Lv, minors: ReadonlyMap<Lv, number>): Node {
  const minor = minors.get(lv) ?? 0;
  const [fileSystem] = lv.content.signatures;
  return {
    name: mapperPath(lv),
    kname: `/dev/dm-${minor}`,
    'maj:min': `254:${minor}`,
    type: 'lvm',
    size: lv.body.kind === 'cow' ? virtualBytes(lv) : lv.activeExtents * lv.vg.extentBytes,
    ro: lv.isReadOnly,
    state: lv.isSuspended ? 'suspended' : 'running',
    model: null,
    serial: null,
    wwn: null,
    mountpoint: [...lv.users].findLast((user) => user.startsWith('/')) ?? null,
    fstype: fileSystem?.type ?? null,
    pttype: null,
    partlabel: null,
    parttype: null,
  };
}

/** Active volumes with an extent on the device; a thin volume stands where its pool does. */
function volumesOn(machine: Machine, device: Device): readonly Lv[] {
  const uuid = device.label?.pvUuid;
  const vg = uuid === undefined ? undefined : machine.vgOfPv(uuid);
  if (vg === undefined) return [];
  return vg.lvs.filter((lv) => {
    const bearer = lv.body.kind === 'thin' ? lv.body.pool : lv;
    return lv.isActive && strandsOf(bearer).some(({ strand }) => strandIsOn(strand, uuid));
  });
}

/** What a pvmove copies with stands on the device that is emptied, and on those that are filled. */
function movesOn(machine: Machine, device: Device): readonly Node[] {
  const uuid = device.label?.pvUuid;
  const vg = uuid === undefined ? undefined : machine.vgOfPv(uuid);
  const nothing = { model: null, serial: null, wwn: null, mountpoint: null, fstype: null };
  return (vg?.moves ?? []).flatMap((move, at) => {
    const filled = move.parts.flatMap(({ targets }) => targets.map(({ area }) => area.pv));
    if (vg === undefined || ![move.pv, ...filled].some((pv) => pv.uuid === uuid)) return [];
    const size = machine.deviceOf(move.pv)?.sizeBytes ?? 0;
    return [
      {
        name: `/dev/mapper/${moveDmName(vg, at)}`,
        kname: `/dev/dm-${900 + at}`,
        'maj:min': `254:${900 + at}`,
        ...{ type: 'lvm', size, ro: false, state: 'running', ...nothing },
        ...{ pttype: null, partlabel: null, parttype: null },
      },
    ];
  });
}

function strandIsOn(strand: Strand, uuid: string | undefined): boolean {
  return strand.segments.some((segment) => segment.areas.some((area) => area.pv.uuid === uuid));
}

export function losetup(machine: Machine): Outcome {
  const loops = machine
    .present()
    .filter((device) => device.type === 'loop')
    .map((device) => ({ name: device.path, 'back-file': device.backingFile }));
  return new Voice().out(JSON.stringify({ loopdevices: loops }, null, 3)).end();
}

export function dmsetupInfo(machine: Machine, argv: readonly string[]): Outcome {
  const voice = new Voice();
  if (argv.at(-1) === 'name,read_only') return accessOf(machine, voice);
  const active = [...machine.minors().keys()];
  const lines = active.flatMap((lv) => {
    const state = lv.isSuspended ? 'Suspended' : 'Active';
    const own = `${dmNameOf(lv)}:${dmUuid(lv.vg.uuid, lv.uuid)}:${state}`;
    const parts = strandsOf(lv)
      .filter(({ suffix }) => suffix !== '')
      .map(
        ({ suffix, strand }) =>
          `${dmNameOf(lv, suffix)}:${dmUuid(lv.vg.uuid, strand.uuid)}${layerOf(suffix)}:Active`,
      );
    return [own, ...parts];
  });
  const strays = [...machine.strayParts].flatMap(([lv, suffixes]) =>
    strandsOf(lv)
      .filter(({ suffix }) => suffixes.has(suffix))
      .map(
        ({ suffix, strand }) => `${dmNameOf(lv, suffix)}:${dmUuid(lv.vg.uuid, strand.uuid)}:Active`,
      ),
  );
  lines.push(...strays);
  if (lines.length === 0) return voice.out('No devices found').end();
  for (const line of lines.toSorted()) voice.out(line);
  return voice.end();
}

function accessOf(machine: Machine, voice: Voice): Outcome {
  const whole = [...machine.minors().keys()].map((lv) => `${dmNameOf(lv)}:Writeable`);
  const strays = [...machine.strayParts].flatMap(([lv, suffixes]) => {
    const access = machine.openedByHand.has(lv) ? 'Read-only' : 'Writeable';
    return [...suffixes].map((suffix) => `${dmNameOf(lv, suffix)}:${access}`);
  });
  const lines = [...whole, ...strays].toSorted();
  if (lines.length === 0) return voice.out('No devices found').end();
  for (const line of lines) voice.out(line);
  return voice.end();
}

/** `/proc/1/mountinfo`: one line for each place something is mounted at. */
export function mountInfo(machine: Machine): string {
  const minors = machine.minors();
  const devices = machine
    .present()
    .flatMap(({ number, path, mountPoints }) =>
      mountPoints.map((point) => ({ number, source: path, point })),
    );
  const volumes = [...minors].flatMap(([lv, minor]) =>
    [...lv.users]
      .filter((user) => user.startsWith('/'))
      .map((point) => ({ number: `254:${minor}`, source: mapperPath(lv), point })),
  );
  const lines = [...devices, ...volumes].map(
    ({ number, source, point }, index) =>
      `${index + 22} 1 ${number} / ${point} rw,relatime shared:1 - ext4 ${source} rw`,
  );
  return [...lines, ...machine.table.mounts.map(mountLine)].map((line) => `${line}\n`).join('');
}

/** `/proc/swaps`. */
export function swaps(machine: Machine): string {
  const lines = machine
    .present()
    .filter((device) => device.isSwap)
    .map(({ path, sizeBytes }) => `${path}\tpartition\t${sizeBytes / 1024}\t0\t-2`);
  return ['Filename\tType\tSize\tUsed\tPriority', ...lines, ''].join('\n');
}

/** Parts of pools carry their role in their identity as well, parts of RAIDs do not. */
function layerOf(suffix: string): string {
  return suffix.startsWith('_t') ? suffix.replace('_', '-') : '';
}

function orNull(value: string): string | null {
  return value === '' ? null : value;
}
