import type { LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import type {
  LvmVolumeGroup,
  LvmVolumeGroupNodeStatus,
} from '../../src/api/objects/lvm-volume-group.ts';
import type { Machine } from '../cluster/machine.ts';
import type { ClusterStage } from '../cluster/stage.ts';
import type { Stored } from '../kube/fake-api.ts';
import { collections, isEqual } from '../kube/fake-api-rules.ts';
import type { Content } from '../world/content.ts';
import type { Destruction, Joining } from '../world/machine.ts';
import type { Device, Vg } from '../world/model.ts';
import { byHand, foreignGroup, parsed } from './lvms-admin.ts';
import { LvmsDefaults } from './lvms-defaults.ts';
import { classesIn, membersOf, namedBy } from './lvms-truth.ts';

/** What administrators ever allowed a class to do. */
type Leave = {
  isGreedy: boolean;
  /** Devices that appear later may be taken. */
  isOpen: boolean;
  /** Undefined: on every node. */
  nodes: Set<string> | undefined;
  readonly named: Set<string>;
  readonly mayWipe: Set<string>;
};

/** One LVMVolumeGroup, from its making to its end. */
type Incarnation = {
  readonly uid: string;
  readonly fromMs: number;
  goingAtMs: number;
  goneAtMs: number;
};

type Entry = Readonly<Record<string, unknown>>;

/**
 * What is never true of the disks and files of a node, whatever goes wrong. Seen on the fake disks,
 * and in what administrators wrote; our own code is not asked.
 */
export class LvmsRules {
  readonly #stage: ClusterStage;
  readonly #say: (text: string) => void;
  readonly #leaves = new Map<string, Leave>();
  readonly #incarnations = new Map<string, Incarnation[]>();
  /** By machine and device: what somebody else has on it. */
  readonly #theirs = new Map<string, Content>();
  /** By machine and group: devices that were ever in it. */
  readonly #members = new Map<string, Set<string>>();
  readonly #madeAtMs = new Map<string, number>();
  readonly #wiped = new Set<string>();
  /** PVs that their groups let go while they were out of their slots: nobody could clear them. */
  readonly excused = new Set<string>();
  readonly defaults: LvmsDefaults;
  readonly #wereAway = new Set<string>();
  readonly #seen = new Map<string, { joined: number; destroyed: number }>();

  constructor(stage: ClusterStage, say: (text: string) => void) {
    this.#stage = stage;
    this.#say = say;
    this.defaults = new LvmsDefaults(stage);
    for (const machine of stage.machines.values()) {
      machine.disk.writes.add((before, after) => this.#words(machine, before, after));
    }
    stage.api.listeners.add(({ collection, before, after }) => {
      if (collection === collections.lvmClusters && after !== undefined) this.#allowed(after);
      if (collection === collections.lvmVolumeGroups) this.#group(before, after);
      if (collection === collections.classes && after === undefined) this.#classGone(before);
      const isTold = after !== undefined && !isEqual(before?.['spec'], after['spec']);
      if (collection === collections.lvmNodeStatuses && isTold) this.#told(after);
    });
  }

  /** A person has just worked on the disks: as they are now they are theirs. */
  trust(machine: Machine): void {
    const { joined, destroyed, devices, caches } = machine.world.machine;
    this.#seen.set(machine.name, { joined: joined.length, destroyed: destroyed.length });
    caches?.flush(devices.map(({ path }) => path));
    for (const device of devices.flatMap((disk) => [disk, ...disk.partitions])) {
      const key = `${machine.name} ${device.path}`;
      if (isTheirs(device, machine)) this.#theirs.set(key, device.content);
      else this.#theirs.delete(key);
    }
  }

  /** It was named for a class once, and was never away: then it is known what shall leave. */
  isGivenUp({ name }: Machine, of: string, { path, links }: Device): boolean {
    const leave = this.#leaves.get(of);
    if (leave === undefined || leave.isGreedy || this.#wereAway.has(`${name} ${path}`))
      return false;
    return isAny([path, ...links], leave.named);
  }

  /** Somebody is about to put disks into their slots. */
  returning({ name, world }: Machine): void {
    const { machine } = world;
    for (const { path, label, isPresent } of machine.devices) {
      if (!isPresent) this.#wereAway.add(`${name} ${path}`);
      const isLeft = label !== undefined && machine.vgOfPv(label.pvUuid) === undefined;
      if (isLeft && !isPresent) this.excused.add(label.pvUuid);
    }
  }

  check(): void {
    for (const machine of this.#stage.machines.values()) {
      const { joined, destroyed, devices } = machine.world.machine;
      const seen = this.#seen.get(machine.name) ?? { joined: 0, destroyed: 0 };
      this.#seen.set(machine.name, { joined: joined.length, destroyed: destroyed.length });
      for (const one of joined.slice(seen.joined)) this.#joined(machine, one);
      for (const one of destroyed.slice(seen.destroyed)) this.#destroyed(machine, one);
      this.#sharing(machine);
      for (const device of devices.flatMap((disk) => [disk, ...disk.partitions])) {
        const theirs = this.#theirs.get(`${machine.name} ${device.path}`);
        if (theirs === undefined || theirs === device.content) continue;
        this.#say(`${device.path} on ${machine.name} is somebody else's, and was written to`);
      }
    }
  }

  #allowed(object: Stored): void {
    for (const one of classesIn(object)) {
      const leave = this.#leaves.get(one.name) ?? noLeave();
      const names = namedBy(one);
      if (names.length === 0) leave.isGreedy = true;
      if (names.length > 0 || one.deviceDiscoveryPolicy !== 'Static') leave.isOpen = true;
      const nodes = nodesNamedBy(one);
      if (nodes === undefined) leave.nodes = undefined;
      for (const node of nodes ?? []) leave.nodes?.add(node);
      for (const name of names) leave.named.add(name);
      if (one.deviceSelector?.forceWipeDevicesAndDestroyAllData === true) {
        for (const name of names) leave.mayWipe.add(name);
      }
      this.#leaves.set(one.name, leave);
    }
  }

  #group(before: Stored | undefined, after: Stored | undefined): void {
    const object = (after ?? before) as unknown as LvmVolumeGroup | undefined;
    if (object === undefined) return;
    const { name, uid, deletionTimestamp } = object.metadata;
    const all = this.#incarnations.get(name) ?? [];
    this.#incarnations.set(name, all);
    const nowMs = this.#stage.clock.nowMs();
    const never = Number.POSITIVE_INFINITY;
    if (all.at(-1)?.uid !== uid) {
      all.push({ uid, fromMs: nowMs, goingAtMs: never, goneAtMs: never });
    }
    const last = all.at(-1);
    if (last === undefined) return;
    if (deletionTimestamp !== undefined && last.goingAtMs === never) {
      last.goingAtMs = nowMs;
      this.#holding(name, 'LVMVolumeGroup');
    }
    if (after === undefined) last.goneAtMs = nowMs;
  }

  /** Without it no claim of the class grows any more. */
  #classGone(before: Stored | undefined): void {
    const [, name] = /^lvms-(.*)$/.exec(before?.metadata.name ?? '') ?? [];
    if (name !== undefined) this.#holding(name, 'StorageClass of');
  }

  /** A person may do what is wrong; the operator lets nothing go that holds a volume. */
  #holding(name: string, kind: string): void {
    const { api, admin, clock } = this.#stage;
    if (!(api.writes.at(-1)?.who ?? '').startsWith('operator ')) return;
    // What has just been made may not be known to anybody yet.
    const isOld = (text = '') => clock.nowMs() - Date.parse(text) > 60_000;
    for (const { metadata, spec } of admin.logicalVolumes) {
      const { deletionTimestamp: going, creationTimestamp } = metadata;
      if (spec.deviceClass !== name || going !== undefined || !isOld(creationTimestamp)) continue;
      this.#say(`the ${kind} ${name} is deleted, and holds ${metadata.name}`);
    }
  }

  #incarnationAt(name: string, atMs: number): Incarnation | undefined {
    const all = this.#incarnations.get(name) ?? [];
    return all.find(({ fromMs, goneAtMs }) => fromMs <= atMs && atMs <= goneAtMs);
  }

  #joined({ name: node }: Machine, { vg, vgUuid, names, atMs, isDoubtful }: Joining): void {
    const leave = this.#leaves.get(vg);
    const key = `${node} ${vg}`;
    const members = this.#members.get(key) ?? new Set();
    this.#members.set(key, members);
    for (const name of names) members.add(name);
    const isAllowed = leave !== undefined && (leave.isGreedy || isAny(names, leave.named));
    if (!isAllowed) this.#say(`${names[0]} on ${node} was taken for ${vg}, and nobody said so`);
    if (leave?.nodes?.has(node) === false) {
      this.#say(`${names[0]} was taken for ${vg} on ${node}, which is not meant`);
    }
    const madeAtMs = this.#madeAtMs.get(vgUuid) ?? atMs;
    this.#madeAtMs.set(vgUuid, madeAtMs);
    if (leave?.isOpen === false && madeAtMs < atMs) {
      this.#say(`${names[0]} on ${node} was taken for ${vg}, which takes no new disks`);
    }
    if (isDoubtful) this.#say(`${names[0]} on ${node} was taken for ${vg}, whatever it is`);
  }

  #destroyed(machine: Machine, one: Destruction): void {
    const { deed, what, atMs, wasInUse } = one;
    const where = `${what} on ${machine.name}`;
    if (deed === 'wipefs') this.#wipe(machine, one);
    if (deed === 'lvremove' && what.endsWith(`/${byHand}`)) this.#say(`${where} was removed`);
    if (deed === 'lvremove' && what.startsWith(`${foreignGroup}/`)) {
      this.#say(`${where} was removed`);
    }
    if (deed !== 'vgremove') return;
    if (wasInUse || one.heldData) this.#say(`${where} was removed with volumes in it`);
    if (!one.tags.includes('lvms')) this.#say(`${where} was removed, and is somebody else's`);
    const group = this.#incarnationAt(what, atMs);
    if (group === undefined || group.goingAtMs > atMs) {
      this.#say(`${where} was removed, and its LVMVolumeGroup is wanted`);
    }
  }

  /** What somebody has on a disk is destroyed once, where just that was allowed. */
  #wipe({ name: node, world }: Machine, { what, signatures = [], atMs, wasInUse }: Destruction) {
    if (wasInUse) this.#say(`${what} on ${node} was wiped while in use`);
    if (signatures.every((type) => type === 'LVM2_member')) return;
    const disk = world.machine.devices.find(
      ({ path, partitions }) => path === what || partitions.some((part) => part.path === what),
    );
    const whole = disk ?? world.machine.devices.find(({ path }) => what.startsWith(path));
    const names = [whole?.path ?? what, ...(whole?.links ?? [])];
    const allowing = [...this.#leaves].filter(([, { mayWipe }]) => isAny(names, mayWipe));
    if (allowing.length === 0) this.#say(`${what} on ${node} was wiped, and nobody said so`);
    const isMade = ({ uuid }: Vg) => (this.#madeAtMs.get(uuid) ?? atMs) < atMs;
    const there = world.machine.vgs.filter(isMade).map(({ name }) => name);
    const isLate = allowing.length > 0 && allowing.every(([name]) => there.includes(name));
    if (isLate) this.#say(`${what} on ${node} was wiped for a group that is there`);
    // Whatever became of class and node: what is on it now came after that.
    const key = `${node} ${what}`;
    if (this.#wiped.has(key)) this.#say(`${what} on ${node} was wiped a second time`);
    this.#wiped.add(key);
    this.#theirs.delete(`${node} ${what}`);
    for (const path of names) this.#theirs.delete(`${node} ${path}`);
  }

  #sharing({ name, world }: Machine): void {
    const owners = new Map<string, string>();
    for (const vg of world.machine.vgs) {
      for (const { uuid, device } of vg.pvs) {
        const other = owners.get(uuid);
        if (other !== undefined) this.#say(`${device} on ${name} is in ${other} and ${vg.name}`);
        owners.set(uuid, vg.name);
      }
    }
  }

  /** What a node tells is so on its disks. */
  #told(object: Stored): void {
    const { metadata, spec } = object as unknown as LvmVolumeGroupNodeStatus;
    const machine = this.#stage.machines.get(metadata.name);
    if (machine === undefined) return;
    this.check();
    for (const { name = '', status, devices = [] } of spec?.nodeStatus ?? []) {
      const vg = machine.world.machine.vgs.find((one) => one.name === name);
      const members = this.#members.get(`${machine.name} ${name}`) ?? new Set();
      const here = vg === undefined ? [] : membersOf(machine, vg).map(({ path }) => path);
      for (const path of devices) {
        if (path === '[unknown]' || members.has(path) || here.includes(path)) continue;
        this.#say(`${machine.name} tells that ${path} is in ${name}, and it never was`);
      }
      if (status === 'Ready' && vg === undefined) {
        this.#say(`${machine.name} tells that ${name} is Ready, and there is no such group`);
      }
    }
  }

  /** Of lvmd.yaml only what the LVMCluster may change is changed. */
  #words({ name: node }: Machine, before: string | undefined, after: string): void {
    const old = before === undefined ? {} : (parsed(before) ?? {});
    const now = parsed(after) ?? {};
    const rest = ({ 'device-classes': _classes, ...others }: Entry) => others;
    if (!isEqual(rest(old), rest(now))) this.#say(`lvmd.yaml on ${node} lost words: ${before}`);
    const classes = (now['device-classes'] ?? []) as readonly Entry[];
    for (const entry of (old['device-classes'] ?? []) as readonly Entry[]) {
      const name = String(entry['name']);
      const kept = classes.find((one) => one['name'] === name);
      const isOurs = this.#leaves.has(name);
      if (kept !== undefined && isEqual(fixedIn(entry, isOurs), fixedIn(kept, isOurs))) continue;
      const group = this.#incarnations.get(name)?.at(-1);
      const isGoing = group !== undefined && Number.isFinite(group.goingAtMs);
      if (kept === undefined && isOurs && isGoing) continue;
      this.#say(`lvmd.yaml on ${node} lost words about ${name}: ${before}`);
    }
  }
}

function noLeave(): Leave {
  const none = { named: new Set<string>(), mayWipe: new Set<string>() };
  return { ...none, isGreedy: false, isOpen: false, nodes: new Set() };
}

/** Labels change; the names of nodes do not. */
function nodesNamedBy({ nodeSelector }: LvmDeviceClass): readonly string[] | undefined {
  const all = nodeSelector?.nodeSelectorTerms.flatMap(({ matchExpressions = [] }) =>
    matchExpressions.filter(({ key }) => key === 'kubernetes.io/hostname'),
  );
  if (all === undefined || all.length === 0) return undefined;
  return all.flatMap(({ values = [] }) => values);
}

function isTheirs(device: Device, { world }: Machine): boolean {
  if (device.content.signatures.some(({ type }) => type !== 'LVM2_member')) return true;
  const owner = world.machine.vgOfPv(device.label?.pvUuid ?? '');
  return owner?.name === foreignGroup || device.isSwap || device.isHeld || device.openBy !== '';
}

function isAny(names: readonly string[], among: ReadonlySet<string>): boolean {
  return names.some((name) => among.has(name));
}

function fixedIn(entry: Entry, isOurs: boolean): Entry {
  if (!isOurs) return entry;
  const pool = entry['thin-pool'] as Entry | undefined;
  return {
    ...{ ...entry, default: undefined },
    'thin-pool': pool === undefined ? undefined : { ...pool, 'overprovision-ratio': undefined },
  };
}
