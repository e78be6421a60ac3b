import type { Lv } from './model.ts';

/** What is mounted on a fake machine, oldest first, and the paths volumes are shown at. */
export class MountTable {
  mounts: FakeMount[] = [];
  /** Directories and files that somebody made; what holds them is on the machine's own disk. */
  readonly paths = new Map<string, 'directory' | 'file'>();
  /** Device nodes that somebody made by hand, such as old TopoLVM. */
  readonly nodes = new Map<string, string>();
  /** Directories that are links to other directories. */
  readonly links = new Map<string, string>();
  /** Mount points somebody works in, and directories with something in them. */
  readonly busy = new Set<string>();
  readonly full = new Set<string>();
  #minors = new Map<Lv, number>();
  #count = 0;

  /** The kernel gives the lowest free number to a device, and keeps it while the device lives. */
  minors(active: readonly Lv[]): ReadonlyMap<Lv, number> {
    const kept = new Map<Lv, number>();
    for (const lv of active) {
      const minor = this.#minors.get(lv);
      if (minor !== undefined) kept.set(lv, minor);
    }
    const taken = new Set(kept.values());
    let next = 0;
    for (const lv of active) {
      if (kept.has(lv)) continue;
      while (taken.has(next)) next += 1;
      taken.add(next);
      kept.set(lv, next);
    }
    this.#minors = kept;
    return kept;
  }

  add(mount: Omit<FakeMount, 'id'>): void {
    this.#count += 1;
    const added = { ...mount, id: this.#count };
    this.mounts.push(added);
    // Binding a node opens no device: only a file system keeps its volume busy.
    if (mount.node === undefined) mount.lv.users.add(userOf(added));
  }

  at(path: string): FakeMount | undefined {
    return this.mounts.findLast((mount) => mount.mountPoint === path);
  }

  /** Takes away what is on top at a path. */
  remove(mount: FakeMount): void {
    this.mounts = this.mounts.filter((other) => other !== mount);
    mount.lv.users.delete(userOf(mount));
  }

  /** Everything that lives in memory is gone. */
  clear(): void {
    this.mounts = [];
    this.busy.clear();
    this.nodes.clear();
    this.#minors.clear();
  }

  resolve(path: string): string {
    for (const [from, to] of this.links) {
      if (path.startsWith(`${from}/`)) return `${to}${path.slice(from.length)}`;
    }
    return path;
  }
}

export type FakeMount = {
  readonly id: number;
  readonly mountPoint: string;
  readonly lv: Lv;
  /** `major:minor` of the device when it was mounted. */
  readonly number: string;
  /** The path below /dev of a bound device node. */
  readonly node: string | undefined;
  /** Where the node lies if not in /dev: a file system of the machine, as its lines begin. */
  readonly nodeOn?: { readonly number: string; readonly fsType: string; readonly source: string };
  readonly fsType: string;
  readonly source: string;
  isReadOnly: boolean;
  /** One for all mounts of a file system. */
  readonly fileSystem: { isReadOnly: boolean };
};

/** How a volume knows that a file system on it is mounted. */
export const mountUser = 'mount:';

function userOf(mount: FakeMount): string {
  return `${mountUser}${mount.id}`;
}

export function mountLine(mount: FakeMount): string {
  const { id, node, mountPoint, isReadOnly, fsType, source, number, fileSystem, nodeOn } = mount;
  const state = isReadOnly ? 'ro' : 'rw';
  const point = mountPoint.replaceAll(' ', '\\040');
  if (node !== undefined && nodeOn !== undefined) {
    const from = `${nodeOn.fsType} ${nodeOn.source} rw`;
    return `${id + 100} 1 ${nodeOn.number} ${node} ${point} ${state},relatime shared:5 - ${from}`;
  }
  if (node !== undefined) {
    return `${id + 100} 1 0:7 ${node} ${point} ${state},relatime shared:5 - devtmpfs devtmpfs rw,mode=755`;
  }
  // btrfs shows a number that the kernel made up.
  const shown = fsType === 'btrfs' ? `0:${id + 30}` : number;
  const own = fileSystem.isReadOnly ? 'ro' : 'rw';
  return `${id + 100} 1 ${shown} / ${point} ${state},relatime shared:1 - ${fsType} ${source} ${own}`;
}
