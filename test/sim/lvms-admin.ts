import { dump, load } from 'js-yaml';
import type { LvmCluster } from '../../src/api/objects/lvm-cluster.ts';
import type { Machine } from '../cluster/machine.ts';
import { type ClusterStage, namespace } from '../cluster/stage.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { nothing } from '../world/content.ts';
import { isInUse } from '../world/machine.ts';
import type { Device } from '../world/model.ts';
import { edited, nodeLabel, nodeTaint } from './lvms-classes.ts';
import { paths } from './lvms-disks.ts';
import type { LvmsRules } from './lvms-rules.ts';
import { clusterName, type LvmsDeed } from './lvms-story.ts';
import { classesIn, clustersOf, groupsOf, isOneOf, namedBy, vgOn } from './lvms-truth.ts';

type Of<K extends LvmsDeed['kind']> = Extract<LvmsDeed, { kind: K }>;

export const foreignGroup = 'foreign';
/** Of a StorageClass that is somebody else's, and has a name of ours. */
export const strangeProvisioner = 'example.com/other';
/** An LV that a person made by hand in a group of ours. */
export const byHand = 'byhand';

/** What administrators do: to objects, to disks and to files. */
export class LvmsAdmin {
  readonly #stage: ClusterStage;
  readonly #rules: LvmsRules;
  /** What was in lvmd.yaml before somebody broke it. */
  readonly #readable = new Map<string, string | undefined>();

  constructor(stage: ClusterStage, rules: LvmsRules) {
    this.#stage = stage;
    this.#rules = rules;
  }

  make({ name, classes }: Of<'make'>): void {
    const metadata = { name, namespace };
    const spec = { storage: { deviceClasses: classes } };
    this.#stage.admin.create(collections.lvmClusters, { metadata, spec });
  }

  edit(deed: Of<'edit'>): void {
    const { api, admin } = this.#stage;
    const [cluster] = clustersOf(this.#stage);
    if (cluster?.spec === undefined) return;
    const spec = edited(cluster.spec, deed);
    if (spec === undefined) return;
    // As kubectl replaces it: what is not there any more is gone.
    const { name } = cluster.metadata;
    const before = api.one(collections.lvmClusters, name, namespace);
    if (before !== undefined) admin.put(collections.lvmClusters, { ...before, spec } as LvmCluster);
  }

  unmake(name = clusterName): void {
    this.#stage.admin.delete(collections.lvmClusters, { name, namespace });
  }

  /** A person does nothing to a disk that is plainly in use by others. */
  disk({ kind, node, path }: Of<'pull' | 'insert' | 'mkfs' | 'mount' | 'unmount' | 'blank'>): void {
    const machine = this.#stage.machine(node);
    const { admin, machine: host } = machine.world;
    this.#rules.returning(machine);
    if (kind === 'pull') admin.pull(path);
    if (kind === 'insert') admin.insert(path);
    const device = host.device(path);
    if (device === undefined) return;
    const isPlain = device.label === undefined && device.partitionTable === '';
    const holds = device.content.signatures.length > 0;
    if (kind === 'mkfs' && isPlain && !isInUse(device) && !device.isReadOnly) admin.mkfs(path);
    if (kind === 'mount' && isPlain && holds) admin.mount(path, `/by-hand/${path.slice(-1)}`);
    if (kind === 'unmount') admin.unmount(`/by-hand/${path.slice(-1)}`);
    if (kind === 'blank' && device.label === undefined && !isUsed(device)) blank(device);
    this.#rules.trust(machine);
  }

  lv({ kind, node, vg: name }: Of<'lv' | 'lv-gone'>): void {
    const machine = this.#stage.machine(node);
    const vg = vgOn(machine, name);
    const lv = vg?.lvs.find((one) => one.name === byHand);
    const { admin, machine: host } = machine.world;
    if (vg === undefined || host.missingPvs(vg).length > 0) return;
    try {
      if (kind === 'lv' && lv === undefined) {
        admin.run('lvm', 'lvcreate', '--yes', '--size', '8m', '--name', byHand, name);
      }
      if (kind === 'lv-gone' && lv !== undefined) {
        admin.run('lvm', 'lvremove', '--yes', `${name}/${byHand}`);
      }
    } catch {
      // The group is full, or what is in it is being moved.
    }
    this.#rules.trust(machine);
  }

  lvmd({ node, how }: Of<'lvmd'>): void {
    const { disk } = this.#stage.machine(node);
    const text = disk.lvmd;
    const file = text === undefined ? undefined : parsed(text);
    if (how === 'mended') {
      if (text !== undefined && file === undefined) disk.lvmd = this.#readable.get(node);
      return;
    }
    if (file === undefined || text === undefined) return;
    this.#readable.set(node, text);
    const classes = (file['device-classes'] ?? []) as readonly Entry[];
    switch (how) {
      case 'own-class': {
        const own = { name: 'own', 'volume-group': foreignGroup, type: 'thick', 'spare-gb': 0 };
        const isThere = vgOn(this.#stage.machine(node), foreignGroup) !== undefined;
        if (!isThere || classes.some(({ name }) => name === 'own')) return;
        disk.lvmd = dump({ ...file, 'device-classes': [...classes, own] });
        return;
      }
      case 'options': {
        const changed = classes.map((one) =>
          one['type'] === 'thick' && !('lvcreate-options' in one) ? { ...one, 'spare-gb': 1 } : one,
        );
        const socket = '/run/topolvm/lvmd.sock';
        disk.lvmd = dump({ 'socket-name': socket, ...file, 'device-classes': changed });
        return;
      }
      case 'remark':
        disk.lvmd = `# seen\n${text}`;
        return;
      case 'broken':
        disk.lvmd = `${text}\n  : [`;
        return;
      case 'gone':
        disk.lvmd = undefined;
    }
  }

  meddle({ what, name }: Of<'meddle'>): void {
    const { admin } = this.#stage;
    const object = { name, namespace };
    switch (what) {
      case 'delete-class':
        admin.delete(collections.classes, { name: `lvms-${name}` });
        return;
      case 'strange-class':
        admin.create(collections.classes, {
          ...{ metadata: { name: `lvms-${name}` }, provisioner: strangeProvisioner },
        });
        return;
      case 'delete-group':
        admin.delete(collections.lvmVolumeGroups, object);
        return;
      case 'delete-report':
        admin.delete(collections.lvmNodeStatuses, object);
        return;
      case 'annotate': {
        const metadata = { annotations: { 'example.com/seen': `${this.#stage.clock.nowMs()}` } };
        admin.patch(collections.lvmVolumeGroups, object, { metadata });
        return;
      }
      case 'group-spec': {
        const { spec } = groupsOf(this.#stage).find((one) => one.metadata.name === name) ?? {};
        const isDefault = spec?.default === true;
        admin.patch(collections.lvmVolumeGroups, object, { spec: { default: !isDefault } });
      }
    }
  }

  node({ kind, node: name }: Of<'taint' | 'taint-not' | 'label' | 'label-not'>): void {
    const { admin } = this.#stage;
    const taints = kind === 'taint' ? [nodeTaint] : [];
    const label = kind === 'label' ? 'ssd' : null;
    const isTaint = kind === 'taint' || kind === 'taint-not';
    const body = isTaint ? { spec: { taints } } : { metadata: { labels: { [nodeLabel]: label } } };
    admin.patch(collections.nodes, { name }, body);
  }

  guard(isOn: boolean): void {
    const { api, webhook } = this.#stage;
    api.admission = isOn ? (asked) => webhook.ask(asked) : undefined;
  }

  /** All disks are in their slots, and what a person has to say about those that were away is said. */
  bringDisks(machine: Machine): void {
    const { admin, machine: host } = machine.world;
    this.#rules.returning(machine);
    for (const { path } of host.devices) admin.insert(path);
    for (const vg of host.vgs) {
      for (const pv of vg.pvs) {
        pv.isFlaggedMissing = false;
        pv.sequence = vg.sequence;
      }
    }
    this.#rules.trust(machine);
  }

  /** Of a disk that others use, for a class that would take it; where there are both. */
  namingOfUsed(): Of<'edit'> | undefined {
    const [cluster] = clustersOf(this.#stage);
    const classes = cluster === undefined ? [] : classesIn(cluster);
    const one = classes.find((each) => namedBy(each).length > 0);
    const known = groupsOf(this.#stage).flatMap(({ spec = {} }) => namedBy(spec));
    const named = [...classes.flatMap(namedBy), ...known];
    const path = paths.find((each) => {
      const devices = [...this.#stage.machines.values()].flatMap(
        ({ world }) => world.machine.device(each) ?? [],
      );
      const isInGroup = devices.some(({ label }) => label !== undefined);
      const isNamed = devices.some((device) => isOneOf(device, named));
      return !isInGroup && !isNamed && devices.some(isTheirs);
    });
    if (one === undefined || path === undefined) return undefined;
    return { kind: 'edit', edit: 'add-optional', of: one.name, path };
  }

  /** Whoever had disks without partitions and groups gives them up, with all that is on them. */
  freeDisks(machine: Machine): void {
    const { admin, machine: host } = machine.world;
    for (const device of host.present().filter(isTheirs)) {
      for (const at of device.mountPoints) admin.unmount(at);
      device.isSwap = false;
      device.isHeld = false;
      device.openBy = '';
      blank(device);
    }
    this.#rules.trust(machine);
  }
}

type Entry = Readonly<Record<string, unknown>>;

/** Undefined where nobody can read it. */
export function parsed(text: string): Entry | undefined {
  try {
    return (load(text) ?? {}) as Entry;
  } catch {
    return undefined;
  }
}

function isUsed(device: Device): boolean {
  return isInUse(device) || device.partitions.some(isInUse);
}

/** A whole disk that somebody uses, other than the system's, and that no group has. */
function isTheirs(device: Device): boolean {
  const { type, label, partitionTable, mountPoints, content } = device;
  const isPlain = type === 'disk' && label === undefined && partitionTable === '';
  if (!isPlain || mountPoints.includes('/')) return false;
  return isInUse(device) || device.openBy !== '' || content.signatures.length > 0;
}

function blank(device: Device): void {
  device.content = nothing;
  device.partitionTable = '';
  device.partitions = [];
}
