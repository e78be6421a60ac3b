import type { Bytes } from '../base/bytes.ts';
import { showBytes } from '../base/show.ts';
import { capacityOf } from '../core/capacity.ts';
import type { DesiredNode } from '../core/node.ts';
import {
  findLv,
  findVg,
  type ObservedHost,
  type ObservedLv,
  type ObservedVg,
} from '../core/observed.ts';
import { copyingTag, isOurs, pendingTag, readTag } from '../core/tags.ts';
import { thinPoolStatus } from '../core/thin-pool/status.ts';
import { emptyReason } from '../core/volume/plan.ts';
import { volumeGroupStatus } from '../core/volume-group/status.ts';
import { observeNode } from '../engine/look.ts';
import type { Context } from './context.ts';
import { table } from './table.ts';

export async function status(context: Context, desired: DesiredNode): Promise<boolean> {
  const node = await observeNode(context.host);
  const groups = desired.volumeGroups.map((vg) => {
    const others = desired.volumeGroups.filter((other) => other !== vg);
    return volumeGroupStatus(vg, node, others);
  });
  const pools = desired.thinPools.map((pool) => thinPoolStatus(pool, node));
  context.print(
    table(
      ['GROUP', 'STATE', 'SIZE', 'FREE', 'DEVICES', 'REASON'],
      groups.map((vg) => [
        vg.name,
        vg.state,
        size(vg.sizeBytes),
        size(vg.freeBytes),
        vg.devices
          .filter((device) => device.state === 'used')
          .map((device) => device.path)
          .join(','),
        vg.reason,
      ]),
    ),
  );
  if (pools.length > 0) context.print(`\n${poolTable(pools)}`);
  context.print(`\n${classTable(desired, node)}`);
  context.print(`\n${volumeTable(node, desired)}`);
  return [...groups, ...pools].every((part) => part.state === 'Ready');
}

function poolTable(pools: readonly ReturnType<typeof thinPoolStatus>[]): string {
  return table(
    ['THIN POOL', 'STATE', 'SIZE', 'DATA', 'METADATA', 'REASON'],
    pools.map((pool) => [
      pool.name,
      pool.state,
      size(pool.sizeBytes),
      percent(pool.dataPercent),
      percent(pool.metadataPercent),
      pool.reason,
    ]),
  );
}

export function classTable(desired: DesiredNode, host: ObservedHost): string {
  const rows = desired.deviceClasses.map((entry) => {
    const vg = findVg(host, entry.vg);
    const capacity = vg === undefined ? undefined : capacityOf(entry, vg);
    const name = entry.isDefault ? `${entry.name} (default)` : entry.name;
    const sizes = [size(capacity?.availableBytes), size(capacity?.largestBytes)];
    const empty = emptyReason(entry, host);
    const reason = empty === undefined ? '' : `${empty.code}: ${empty.message}`;
    return [name, entry.layout.kind, ...sizes, reason];
  });
  return table(['CLASS', 'LAYOUT', 'AVAILABLE', 'LARGEST VOLUME', 'REASON'], rows);
}

/** The driver's volumes are called by UUIDs: what somebody named them stands beside. */
export function volumeTable(host: ObservedHost, desired: DesiredNode): string {
  const wanted = new Set(desired.volumeGroups.map((vg) => vg.name));
  const rows = host.vgs
    .filter((vg) => wanted.has(vg.name))
    .flatMap((vg) =>
      vg.lvs
        .filter((lv) => !lv.isInternal && lv.kind !== 'thin-pool')
        .map((lv) => [
          lv.name,
          readTag(lv.tags, 'name') ?? '-',
          vg.name,
          readTag(lv.tags, 'class') ?? '-',
          lv.kind,
          showBytes(lv.sizeBytes),
          sourceText(lv, vg),
          lvState(lv),
        ]),
    );
  return table(['VOLUME', 'NAME', 'GROUP', 'CLASS', 'KIND', 'SIZE', 'SOURCE', 'STATE'], rows);
}

function sourceText(lv: ObservedLv, vg: ObservedVg): string {
  const source = readTag(lv.tags, 'source') ?? lv.origin;
  if (source === undefined) return '-';
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

function size(value: Bytes | undefined): string {
  return value === undefined ? '-' : showBytes(value);
}

function percent(value: number | undefined): string {
  return value === undefined ? '-' : `${value} %`;
}
