import { dmName } from '../../../src/api/lv-name.ts';
import type { Lv, Vg } from '../model.ts';

export function dmNameOf(lv: Lv, suffix = ''): string {
  return dmName(lv.vg.name, `${lv.name}${suffix}`);
}

export function mapperPath(lv: Lv): string {
  return `/dev/mapper/${dmNameOf(lv)}`;
}

/** What a pvmove copies with; a group may have several at a time. */
export function moveDmName(vg: Vg, at: number): string {
  return dmName(vg.name, `pvmove${at}`);
}

/** UUIDs as device-mapper knows them: both LVM identities without hyphens. */
export function dmUuid(vgUuid: string, lvUuid: string): string {
  return `LVM-${vgUuid.replaceAll('-', '')}${lvUuid.replaceAll('-', '')}`;
}
