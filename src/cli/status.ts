import type { Bytes } from '../base/bytes.ts';
import { showBytes } from '../base/show.ts';
import { capacityOf } from '../core/capacity.ts';
import type { DesiredNode } from '../core/node.ts';
import { findVg, type ObservedHost, type ObservedLv } from '../core/observed.ts';
import { copyingTag, isOurs, pendingTag, readTag } from '../core/tags.ts';
import { thinPoolStatus } from '../core/thin-pool/status.ts';
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

function classTable(desired: DesiredNode, host: ObservedHost): string {
  const rows = desired.deviceClasses.map((entry) => {
    const vg = findVg(host, entry.vg);
    const capacity = vg === undefined ? undefined : capacityOf(entry, vg);
    const name = entry.isDefault ? `${entry.name} (default)` : entry.name;
    return [name, entry.layout.kind, size(capacity?.availableBytes), size(capacity?.largestBytes)];
  });
  return table(['CLASS', 'LAYOUT', 'AVAILABLE', 'LARGEST VOLUME'], rows);
}

export function volumeTable(host: ObservedHost, desired: DesiredNode): string {
  const wanted = new Set(desired.volumeGroups.map((vg) => vg.name));
  const rows = host.vgs
    .filter((vg) => wanted.has(vg.name))
    .flatMap((vg) =>
      vg.lvs
        .filter((lv) => !lv.isInternal && lv.kind !== 'thin-pool')
        .map((lv) => [
          lv.name,
          vg.name,
          readTag(lv.tags, 'class') ?? '-',
          lv.kind,
          showBytes(lv.sizeBytes),
          readTag(lv.tags, 'source') ?? lv.origin ?? '-',
          lvState(lv),
        ]),
    );
  return table(['VOLUME', 'GROUP', 'CLASS', 'KIND', 'SIZE', 'SOURCE', 'STATE'], rows);
}

function lvState(lv: ObservedLv): string {
  if (lv.isInvalid) return 'invalid';
  if (lv.health !== '') return lv.health;
  if (lv.tags.includes(copyingTag)) return 'copying';
  if (!lv.isActive) return 'inactive';
  const owner = isOurs(lv.tags) ? '' : ', not ours';
  const sync =
    lv.syncPercent !== undefined && lv.syncPercent < 100 ? `, sync ${lv.syncPercent} %` : '';
  const pending = lv.tags.includes(pendingTag) ? ', not yet published' : '';
  return `active${pending}${sync}${owner}`;
}

function size(value: Bytes | undefined): string {
  return value === undefined ? '-' : showBytes(value);
}

function percent(value: number | undefined): string {
  return value === undefined ? '-' : `${value} %`;
}
