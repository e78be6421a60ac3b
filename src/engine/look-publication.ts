import { dmName } from '../api/lv-name.ts';
import { bytes } from '../base/bytes.ts';
import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { show } from '../base/show.ts';
import type { Signatures } from '../core/observed.ts';
import type { PublishedVolume, UnpublishedVolume } from '../core/publication/desired.ts';
import type {
  FoundFileSystem,
  MountOwner,
  ObservedMount,
  ObservedPath,
  ObservedRemoval,
  Probes,
  VolumeDevice,
} from '../core/publication/observed.ts';
import type { FsSpace } from '../core/publication/status.ts';
import { mountsPath, probeBlkid, probeWipefs } from '../lvm/looks.ts';
import {
  boundNode,
  devicePaths,
  type MountLine,
  parseMountLines,
  sysSectorBytes,
} from '../lvm/mounts.ts';
import { parseBlkid, parseWipefs } from '../lvm/probe.ts';
import { fileSystemIn, superblockRanges } from '../lvm/superblocks.ts';
import { within } from './deadline.ts';
import { asOperationError } from './execute.ts';
import type { Clock, Host, PathFacts } from './ports.ts';

/** Looks that need no lvm. A file operation on a dead disk may never end, so each has a deadline. */
export class PublicationEye {
  readonly #host: Host;
  readonly #clock: Clock;

  constructor(host: Host, clock: Clock) {
    this.#host = host;
    this.#clock = clock;
  }

  /** What is at a path, and every mount on top of it with its owner. */
  async path(targetPath: string, lines?: readonly MountLine[]): Promise<ObservedPath> {
    const facts = await this.#soon(this.#host.inspect(targetPath), targetPath);
    const kind = facts.isLink ? 'other' : facts.kind;
    const { path, mode, sizeBytes } = facts;
    const found = (lines ?? (await this.mountLines())).filter((line) => line.mountPoint === path);
    const here: ObservedMount[] = [];
    for (const [index, line] of found.entries()) {
      const top = index === found.length - 1 ? facts : undefined;
      here.push(mountOf(line, await this.#owner(line, top), top?.kind === 'device'));
    }
    // What is below /dev was made by the kernel, and is not shown to anybody's pod.
    const isBare = found.length === 0 && kind === 'device' && !path.startsWith('/dev/');
    if (isBare) here.push(await this.#bareNode(facts));
    return { target: { path, kind, mode, sizeBytes }, here };
  }

  async removal(volume: UnpublishedVolume, targetPath: string): Promise<ObservedRemoval> {
    return { ...(await this.path(targetPath)), legacyNode: await this.#legacyNode(volume) };
  }

  async device(volume: Pick<PublishedVolume, 'vg' | 'name'>): Promise<VolumeDevice | undefined> {
    const path = `/dev/mapper/${dmName(volume.vg, volume.name)}`;
    const { kind, number } = await this.#soon(this.#host.inspect(path), path);
    if (kind !== 'device') return undefined;
    const paths = devicePaths(number);
    const size = await this.#sysText(paths.size);
    if (size === undefined || !/^\d+$/.test(size)) return undefined;
    return {
      path,
      number,
      sizeBytes: bytes(BigInt(size) * sysSectorBytes),
      dmUuid: (await this.#sysText(paths.dmUuid)) ?? '',
      isSuspended: (await this.#sysText(paths.suspended)) === '1',
    };
  }

  /** Mounts and bound nodes of one device at other places than the given one. */
  async elsewhere(
    device: VolumeDevice,
    path: string,
    lines: readonly MountLine[],
  ): Promise<readonly ObservedMount[]> {
    const found: ObservedMount[] = [];
    for (const line of lines.filter((candidate) => candidate.mountPoint !== path)) {
      if (!(await this.#isOn(device, line))) continue;
      const { dmUuid } = device;
      found.push(mountOf(line, { kind: 'lv', dmUuid, dmName: '' }));
    }
    return found;
  }

  /** Everything on this node that shows a volume of LVM. */
  async volumeMounts(): Promise<readonly ObservedMount[]> {
    const mounts: ObservedMount[] = [];
    const lines = await this.mountLines();
    const tops = new Map(lines.map((line) => [line.mountPoint, line]));
    for (const line of lines) {
      const isTop = tops.get(line.mountPoint) === line;
      const node = isTop && mayBeNode(line) ? await this.#nodeAt(line.mountPoint) : undefined;
      mounts.push(mountOf(line, await this.#owner(line, node), node !== undefined));
    }
    return mounts.filter((mount) => mount.owner.kind === 'lv');
  }

  /**
   * A device node that is bound over a file. TopoLVM makes nodes of its own, in whatever file
   * system, and may have removed one that is still bound: then only the mount point tells which
   * device it is. One that gives no answer is judged by its line alone: it is somebody else's.
   */
  async #nodeAt(mountPoint: string): Promise<PathFacts | undefined> {
    try {
      const facts = await this.#soon(this.#host.inspect(mountPoint), mountPoint);
      return facts.kind === 'device' ? facts : undefined;
    } catch (error) {
      asOperationError(error);
      return undefined;
    }
  }

  statFs(path: string): Promise<FsSpace> {
    return this.#soon(this.#host.statFs(path), path);
  }

  async mountLines(): Promise<readonly MountLine[]> {
    return parseMountLines(await this.#host.readText(mountsPath));
  }

  /** Superblocks, and statfs where it is mounted: XFS and btrfs write theirs late. */
  async fileSystem(device: VolumeDevice, mountedAt?: string): Promise<FoundFileSystem> {
    try {
      const [first, second] = superblockRanges;
      const read = (range: { readonly offset: number; readonly length: number }) =>
        this.#soon(this.#host.readBytes(device.path, range), device.path);
      const blocks = [await read(first), await read(second)] as const;
      const mounted = mountedAt === undefined ? undefined : await this.statFs(mountedAt);
      const sizes = { deviceBytes: device.sizeBytes, mountedBytes: mounted?.totalBytes };
      return fileSystemIn(blocks, sizes);
    } catch (error) {
      return { kind: 'unknown', why: `it cannot be read: ${asOperationError(error).message}` };
    }
  }

  /** Both programs must succeed and agree that there is nothing: see `lvm/probe.ts`. */
  async probes(device: VolumeDevice): Promise<Probes> {
    const wipefs = await this.#probe(async () =>
      parseWipefs(await this.#host.start(probeWipefs(device.path)).result),
    );
    const blkid = await this.#probe(async () =>
      parseBlkid(await this.#host.start(probeBlkid(device.path)).result),
    );
    const open = this.#host.exclusiveOpen(device.path);
    const exclusiveOpen = await this.#soon(open, device.path);
    return { signatures: [wipefs, blkid], exclusiveOpen };
  }

  async #probe(look: () => Promise<Signatures>): Promise<Signatures> {
    try {
      return await look();
    } catch (error) {
      return { kind: 'unknown', why: asOperationError(error).message };
    }
  }

  async #bareNode({ path, number }: PathFacts): Promise<ObservedMount> {
    const node = { mountPoint: path, fsType: 'a device node', source: number, isNode: true };
    const flags = { isWhole: false, isReadOnly: false, isFileSystemReadOnly: false };
    return { ...node, ...flags, isBare: true, owner: await this.#ownerOf(number) };
  }

  /** Whose device a line is about. Only what is on top of a path can be asked through the path. */
  async #owner(line: MountLine, top: PathFacts | undefined): Promise<MountOwner> {
    const node = boundNode(line);
    if (top?.kind === 'device') return this.#ownerOf(top.number);
    const path = node ?? (isUnnumbered(line) ? line.source : undefined);
    if (path === undefined)
      return line.number.startsWith('0:') ? other : this.#ownerOf(line.number);
    const { kind, number } = await this.#soon(this.#host.inspect(path), path);
    if (kind === 'absent') return { kind: 'gone' };
    return kind === 'device' ? this.#ownerOf(number) : other;
  }

  async #ownerOf(number: string): Promise<MountOwner> {
    const paths = devicePaths(number);
    if ((await this.#sysText(paths.size)) === undefined) return { kind: 'gone' };
    const dmUuid = await this.#sysText(paths.dmUuid);
    const name = await this.#sysText(paths.dmName);
    if (dmUuid === undefined || name === undefined || !dmUuid.startsWith('LVM-')) return other;
    return { kind: 'lv', dmUuid, dmName: name };
  }

  async #isOn(device: VolumeDevice, line: MountLine): Promise<boolean> {
    const node = boundNode(line);
    const path = node ?? (isUnnumbered(line) ? line.source : undefined);
    if (path === undefined) return line.number === device.number;
    if (path === device.path) return true;
    if (node !== undefined && !isVolumeNode.test(node)) return false;
    const { number } = await this.#soon(this.#host.inspect(path), path);
    return number === device.number;
  }

  /** Old TopoLVM made a node of its own for each volume, which nobody removes any more. */
  async #legacyNode({ name }: UnpublishedVolume): Promise<string | undefined> {
    if (!/^[A-Za-z0-9_+.-]+$/.test(name) || name === '.' || name === '..') return undefined;
    const path = `/dev/topolvm/${name}`;
    const { kind, isLink } = await this.#soon(this.#host.inspect(path), path);
    return kind === 'device' && !isLink ? path : undefined;
  }

  async #sysText(path: string): Promise<string | undefined> {
    try {
      return (await this.#host.readText(path)).trim();
    } catch (error) {
      const { code } = error as { readonly code?: unknown };
      if (code === 'ENOENT' || code === 'ENXIO' || code === 'ENODEV') return undefined;
      const message = `${path} cannot be read: ${show((error as Error).message)}`;
      throw new OperationError('FileFailed', message, { cause: error });
    }
  }

  #soon<T>(work: Promise<T>, path: string): Promise<T> {
    const { fileTimeoutMs } = limits;
    return within(this.#clock, work, {
      ms: fileTimeoutMs,
      failure: () =>
        new OperationError('CommandTimedOut', `${path} gave no answer in ${fileTimeoutMs} ms`),
    });
  }
}

const other: MountOwner = { kind: 'other' };

/** Nodes that can be a volume's: device-mapper's own, by either name, and old TopoLVM's. */
const isVolumeNode = /^\/dev\/(?:dm-\d+|mapper\/.+|topolvm\/.+)$/;

/** Somebody may make a node in any of these; a server that is gone must not be asked for one. */
const localTypes = /^(?:devtmpfs|tmpfs|overlay|btrfs)$/;

function mayBeNode({ root, number, fsType }: MountLine): boolean {
  return root !== '/' && (!number.startsWith('0:') || localTypes.test(fsType));
}

/** The kernel makes a number up for btrfs, which may lie on several devices. */
function isUnnumbered(line: MountLine): boolean {
  return line.fsType === 'btrfs' && line.source.startsWith('/');
}

function mountOf(line: MountLine, owner: MountOwner, isDevice = false): ObservedMount {
  const { mountPoint, fsType, source, isReadOnly, isFileSystemReadOnly, root } = line;
  const node = boundNode(line);
  const isNode = node !== undefined || isDevice;
  return {
    mountPoint,
    fsType,
    source: node ?? source,
    isWhole: root === '/',
    isReadOnly,
    isFileSystemReadOnly: !isNode && isFileSystemReadOnly,
    isNode,
    owner,
  };
}
