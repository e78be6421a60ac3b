import { parseQuantity, showQuantity } from '../api/quantity.ts';
import type { Bytes } from '../base/bytes.ts';
import { showBytes } from '../base/show.ts';
import { capacityOf } from '../core/capacity.ts';
import { pathsNamed } from '../core/device/plan.ts';
import type { DesiredNode } from '../core/node.ts';
import {
  findLv,
  findVg,
  type ObservedHost,
  type ObservedLv,
  type ObservedNode,
  type ObservedVg,
} from '../core/observed.ts';
import { copyingTag, isOurs, pendingTag, readTag } from '../core/tags.ts';
import { thinPoolStatus } from '../core/thin-pool/status.ts';
import { emptyReason } from '../core/volume/plan.ts';
import { volumeGroupStatus } from '../core/volume-group/status.ts';
import { observeNode } from '../engine/look.ts';
import type { Context } from './context.ts';
import { asDocument, type Format } from './output.ts';
import { table } from './table.ts';

/** What is on this host, and whether all of it is ready. */
export async function status(
  context: Context,
  desired: DesiredNode,
  format: Format,
): Promise<boolean> {
  const node = await observeNode(context.host, pathsNamed(desired.volumeGroups));
  const value = hostStatus(desired, node);
  if (format === 'json' || format === 'yaml') {
    context.print(asDocument('HostStatus', value, format));
  } else {
    context.print(groupTable(value.groups));
    if (value.thinPools.length > 0) context.print(`\n${poolTable(value.thinPools)}`);
    context.print(`\n${classTable(desired, node)}`);
    context.print(`\n${volumeTable(node, desired)}`);
  }
  return [...value.groups, ...value.thinPools].every((part) => part.state === 'Ready');
}

/** Sizes are quantities; what is not known is left out. */
export function hostStatus(desired: DesiredNode, node: ObservedNode) {
  const groups = desired.volumeGroups.map((vg) => {
    const others = desired.volumeGroups.filter((other) => other !== vg);
    const { name, state, reason, sizeBytes, freeBytes, devices } = volumeGroupStatus(
      vg,
      node,
      others,
    );
    return {
      ...{ name, state, reason, size: quantity(sizeBytes), free: quantity(freeBytes) },
      devices: devices.map(({ path, model, serial, state: use, reasons, sizeBytes: size }) => ({
        ...{ path, size: quantity(size), model, serial, state: use, reasons },
      })),
    };
  });
  const thinPools = desired.thinPools.map((pool) => {
    const { sizeBytes, ...told } = thinPoolStatus(pool, node);
    return { ...told, size: quantity(sizeBytes) };
  });
  return {
    groups,
    thinPools,
    classes: classLines(desired, node),
    volumes: volumeLines(node, desired),
  };
}

type HostStatus = ReturnType<typeof hostStatus>;

function groupTable(groups: HostStatus['groups']): string {
  const rows = groups.map((vg) => {
    const used = vg.devices.filter((device) => device.state === 'used').map(({ path }) => path);
    return [vg.name, vg.state, size(vg.size), size(vg.free), used.join(','), vg.reason];
  });
  return table(['GROUP', 'STATE', 'SIZE', 'FREE', 'DEVICES', 'REASON'], rows);
}

function poolTable(pools: HostStatus['thinPools']): string {
  return table(
    ['THIN POOL', 'STATE', 'SIZE', 'DATA', 'METADATA', 'REASON'],
    pools.map((pool) => [
      pool.name,
      pool.state,
      size(pool.size),
      percent(pool.dataPercent),
      percent(pool.metadataPercent),
      pool.reason,
    ]),
  );
}

function classLines(desired: DesiredNode, host: ObservedHost) {
  return desired.deviceClasses.map((entry) => {
    const vg = findVg(host, entry.vg);
    const capacity = vg === undefined ? undefined : capacityOf(entry, vg);
    const empty = emptyReason(entry, host);
    return {
      ...{ name: entry.name, isDefault: entry.isDefault, layout: entry.layout.kind },
      available: quantity(capacity?.availableBytes),
      largest: quantity(capacity?.largestBytes),
      reason: empty === undefined ? '' : `${empty.code}: ${empty.message}`,
    };
  });
}

export function classTable(desired: DesiredNode, host: ObservedHost): string {
  const rows = classLines(desired, host).map((entry) => {
    const name = entry.isDefault ? `${entry.name} (default)` : entry.name;
    return [name, entry.layout, size(entry.available), size(entry.largest), entry.reason];
  });
  return table(['CLASS', 'LAYOUT', 'AVAILABLE', 'LARGEST VOLUME', 'REASON'], rows);
}

/** The driver's volumes are called by UUIDs: what somebody named them stands beside. */
function volumeLines(host: ObservedHost, desired: DesiredNode) {
  const wanted = new Set(desired.volumeGroups.map((vg) => vg.name));
  return host.vgs
    .filter((vg) => wanted.has(vg.name))
    .flatMap((vg) =>
      vg.lvs
        .filter((lv) => !lv.isInternal && lv.kind !== 'thin-pool')
        .map((lv) => ({
          ...{ volume: lv.name, name: readTag(lv.tags, 'name') ?? '', group: vg.name },
          ...{ class: readTag(lv.tags, 'class') ?? '', kind: lv.kind },
          ...{ size: quantity(lv.sizeBytes), source: sourceText(lv, vg), state: lvState(lv) },
        })),
    );
}

export function volumeTable(host: ObservedHost, desired: DesiredNode): string {
  const rows = volumeLines(host, desired).map((line) => [
    ...[line.volume, line.name || '-', line.group, line.class || '-', line.kind],
    ...[size(line.size), line.source || '-', line.state],
  ]);
  return table(['VOLUME', 'NAME', 'GROUP', 'CLASS', 'KIND', 'SIZE', 'SOURCE', 'STATE'], rows);
}

function sourceText(lv: ObservedLv, vg: ObservedVg): string {
  const source = readTag(lv.tags, 'source') ?? lv.origin;
  if (source === undefined) return '';
  const name = readTag(findLv(vg, source)?.tags ?? [], 'name');
  return name === undefined ? source : `${source} (${name})`;
}

function lvState(lv: ObservedLv): string {
  const pending = isPending(lv) ? ', not yet published' : '';
  if (lv.isInvalid) return `invalid${pending}`;
  if (lv.health !== '') return `${lv.health}${pending}`;
  if (lv.tags.includes(copyingTag)) return `copying${pending}`;
  const owner = isOurs(lv.tags) ? '' : ', not ours';
  if (!lv.isActive) return `inactive${pending}${owner}`;
  const sync =
    lv.syncPercent !== undefined && lv.syncPercent < 100 ? `, sync ${lv.syncPercent} %` : '';
  return `active${pending}${sync}${owner}`;
}

function isPending(lv: ObservedLv): boolean {
  return isOurs(lv.tags) && lv.tags.includes(pendingTag);
}

function quantity(value: Bytes | undefined): string | undefined {
  return value === undefined ? undefined : showQuantity(value);
}

function size(value: string | undefined): string {
  const parsed = parseQuantity(value);
  return typeof parsed === 'bigint' ? showBytes(parsed) : '-';
}

function percent(value: number | undefined): string {
  return value === undefined ? '-' : `${value} %`;
}
