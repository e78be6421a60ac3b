import { unfitReasons } from '../core/device/reasons.ts';
import type { ObservedDevice, ObservedHost, ObservedNode, Signatures } from '../core/observed.ts';
import {
  assembleDevice,
  type BlockDevice,
  type DeviceFacts,
  parseBlockDevices,
  parseLoopDevices,
  parseMounts,
  parseSwaps,
} from '../lvm/devices.ts';
import { lookMirrors, parseMirrors } from '../lvm/dm-status.ts';
import { isHalfMade, lookHeaders, unknownGroup } from '../lvm/headers.ts';
import {
  linksDirectory,
  lookBlockDevices,
  lookHost,
  lookLabels,
  lookLoopDevices,
  mountsPath,
  probeBlkid,
  probeWipefs,
  swapsPath,
} from '../lvm/looks.ts';
import { combine, parseBlkid, parseWipefs } from '../lvm/probe.ts';
import { parseHost, parseLabels } from '../lvm/report.ts';
import { asOperationError, read } from './execute.ts';
import type { DeviceLink, Host, Signal } from './ports.ts';

/** One lvm run that shows everything LVM knows of this host. */
export async function observeHost(host: Host, signal?: Signal): Promise<ObservedHost> {
  return parseHost((await read(host, lookHost, signal)).stdout);
}

/**
 * The same with the host's block devices: for choosing devices, which is rare. `named` are paths
 * that somebody calls devices by: a link may be anywhere in /dev.
 */
export async function observeNode(
  host: Host,
  named: readonly string[],
  signal?: Signal,
): Promise<ObservedNode> {
  const lvm = await observeHost(host, signal);
  const found = parseBlockDevices((await read(host, lookBlockDevices, signal)).stdout);
  const common = await commonFacts(host, signal);
  const pvs = [...lvm.vgs.flatMap((vg) => vg.pvs), ...lvm.orphanPvs, ...common.labels];
  const names = [...named, ...pvs.map(({ device }) => device)];
  const links = [...common.links, ...(await otherLinks(host, names, { found, common }))];
  const facts = { ...common, links };
  const devices: ObservedDevice[] = [];
  for (const device of found) devices.push(await observeDevice(host, device, facts, signal));
  const moved = await withMoves(host, devices, signal);
  return { ...lvm, devices: await withUsers(host, moved) };
}

/** A move stands on what it empties and on what it fills: only the kernel tells them apart. */
async function withMoves(
  host: Host,
  devices: readonly ObservedDevice[],
  signal?: Signal,
): Promise<readonly ObservedDevice[]> {
  if (!devices.some(({ path }) => /-pvmove[0-9]+$/.test(path))) return devices;
  const mirrors = parseMirrors((await read(host, lookMirrors, signal)).stdout);
  return devices.map((device) => {
    const mirror = mirrors.find(({ name }) => device.path === `/dev/mapper/${name}`);
    const [emptied] = mirror?.devices ?? [];
    return emptied === undefined ? device : { ...device, emptied };
  });
}

/** As it is, or once it is wiped with its partitions. */
function mayBeTaken(device: ObservedDevice): boolean {
  const reasons = unfitReasons(device).filter(({ reason }) => reason !== 'has-holders');
  return reasons.length === 0 && device.label.kind !== 'member';
}

/** To ask all processes costs something, so it is done only where a device could be taken. */
async function withUsers(
  host: Host,
  devices: readonly ObservedDevice[],
): Promise<readonly ObservedDevice[]> {
  if (!devices.some(mayBeTaken)) return devices;
  const found = await host.deviceUsers();
  return devices.map((device) => {
    const users = found.filter(({ number }) => number === device.number).map(({ by }) => by);
    return users.length === 0 ? device : { ...device, users: [...new Set(users)].toSorted() };
  });
}

async function commonFacts(host: Host, signal?: Signal): Promise<DeviceFacts> {
  return {
    links: await host.links(linksDirectory),
    mounts: parseMounts(await host.readText(mountsPath)),
    swaps: parseSwaps(await host.readText(swapsPath)),
    backingFiles: parseLoopDevices((await read(host, lookLoopDevices, signal)).stdout),
    labels: parseLabels((await read(host, lookLabels, signal)).stdout),
    signatures: new Map(),
    halfMade: new Set(),
    exclusive: new Map(),
  };
}

/** Names that neither lsblk nor udev's directory has, by the numbers of what they lead to. */
async function otherLinks(
  host: Host,
  names: readonly string[],
  known: { readonly found: readonly BlockDevice[]; readonly common: DeviceFacts },
): Promise<DeviceFacts['links']> {
  const { found, common } = known;
  const told = new Set([
    ...found.flatMap(({ path, kernelPath }) => [path, kernelPath]),
    ...common.links.map(({ link }) => link),
  ]);
  const links: DeviceLink[] = [];
  for (const link of new Set(names)) {
    if (told.has(link) || !link.startsWith('/dev/')) continue;
    const number = await numberAt(host, link);
    const device = found.find((each) => each.number === number)?.path;
    if (number !== '' && device !== undefined) links.push({ link, device });
  }
  return links;
}

/** What cannot be asked for is not there, and hides nothing else. */
async function numberAt(host: Host, path: string): Promise<string> {
  try {
    return (await host.inspect(path)).number;
  } catch (error) {
    asOperationError(error);
    return '';
  }
}

/** Probing costs two programs, so a device that is ruled out anyway is not probed. */
async function observeDevice(
  host: Host,
  device: BlockDevice,
  facts: DeviceFacts,
  signal?: Signal,
): Promise<ObservedDevice> {
  const exclusive = new Map([[device.path, await host.exclusiveOpen(device.path)]]);
  const unprobed = assembleDevice(device, { ...facts, exclusive });
  const isRuledOut = unfitReasons(unprobed).some((exclusion) => exclusion.reason !== 'has-holders');
  if (isRuledOut) return unprobed;
  const signatures = new Map([[device.path, await probe(host, device.path, signal)]]);
  const halfMade = await findHalfMade(host, device, facts, signal);
  return assembleDevice(device, { ...facts, exclusive, signatures, halfMade });
}

/** Its headers are read only where LVM says "used", and cannot say by whom. */
async function findHalfMade(
  host: Host,
  { path, kernelPath }: BlockDevice,
  facts: DeviceFacts,
  signal?: Signal,
): Promise<ReadonlySet<string>> {
  const names = [path, kernelPath];
  const row = facts.labels.find(({ device }) => names.includes(device));
  if (row?.vg !== unknownGroup) return new Set();
  const { exitCode, stdout } = await host.start(lookHeaders(path), signal).result;
  return exitCode === 0 && isHalfMade(stdout) ? new Set([path]) : new Set();
}

/** One disk that hangs or gives no answer must not hide all the others. */
async function probe(host: Host, path: string, signal?: Signal): Promise<Signatures> {
  try {
    const wipefs = await host.start(probeWipefs(path), signal).result;
    const blkid = await host.start(probeBlkid(path), signal).result;
    return combine(parseWipefs(wipefs), parseBlkid(blkid));
  } catch (error) {
    const failure = asOperationError(error);
    if (failure.code === 'Cancelled') throw failure;
    return { kind: 'unknown', why: failure.message };
  }
}
