import type { Machine } from '../machine.ts';
import { type Lv, poolBody, sizeBytes, strandExtents, type Vg } from '../model.ts';
import { type Outcome, Voice } from '../text.ts';
import {
  cowChunks,
  cowUsedChunks,
  poolChunks,
  poolMetadataShare,
  poolUsedChunks,
} from '../writes.ts';
import { dmNameOf, moveDmName } from './names.ts';

/** `dmsetup status --target thin-pool` and `--target snapshot`: how full they are; also moves. */
export function dmsetupStatus(machine: Machine, argv: readonly string[]): Outcome {
  const voice = new Voice();
  const target = argv[argv.indexOf('--target') + 1];
  const vgs = machine.visibleVgs();
  const moves = target === 'mirror' ? vgs.flatMap((vg) => mirrorLines(machine, vg)) : [];
  const active = vgs.flatMap((vg) => vg.lvs.filter((lv) => lv.isActive));
  const fills = active.flatMap((lv) => {
    if (target === 'thin-pool' && lv.body.kind === 'pool') return [poolLine(lv)];
    if (target === 'snapshot' && lv.body.kind === 'cow') return [snapshotLine(lv, lv.body)];
    return [];
  });
  const lines = [...moves, ...fills];
  if (lines.length === 0) return voice.out('No devices found').end();
  for (const line of lines.toSorted()) voice.out(line);
  return voice.end();
}

function poolLine(pool: Lv): string {
  const { metadata, isOutOfData } = poolBody(pool);
  const blocks = (strandExtents(metadata) * pool.vg.extentBytes) / 4096;
  const used = Math.ceil(blocks * poolMetadataShare(pool, blocks * 4096));
  const state = isOutOfData ? 'out_of_data_space' : 'rw';
  const data = `${poolUsedChunks(pool)}/${poolChunks(pool)}`;
  const sectors = sizeBytes(pool) / 512;
  return (
    `${dmNameOf(pool)}-tpool: 0 ${sectors} thin-pool 1 ${used}/${blocks} ${data} - ${state} ` +
    'discard_passdown queue_if_no_space - 256 '
  );
}

function snapshotLine(lv: Lv, body: Extract<Lv['body'], { kind: 'cow' }>): string {
  const sectors = sizeBytes(lv) / 512;
  const chunk = body.chunkBytes / 512;
  const fill = `${cowUsedChunks(body) * chunk}/${cowChunks(lv, body) * chunk} ${chunk}`;
  return `${dmNameOf(lv)}: 0 ${sectors} snapshot ${body.isInvalid ? 'Invalid' : fill}`;
}

/** A mirror for each stretch, from where it is to where it goes. */
function mirrorLines(machine: Machine, vg: Vg): readonly string[] {
  return vg.moves.flatMap((move, at) => {
    let start = 0;
    const stretches = move.parts.flatMap(({ targets }) => targets);
    return stretches.flatMap(({ length, area }) => {
      const [from, to] = [machine.deviceOf(move.pv), machine.deviceOf(area.pv)];
      const sectors = (length * vg.extentBytes) / 512;
      const numbers = `${from?.number} ${to?.number}`;
      const line = `${moveDmName(vg, at)}: ${start} ${sectors} mirror 2 ${numbers}`;
      start += sectors;
      if (from === undefined || to === undefined) return [];
      return [`${line} 0/${sectors / 2048} 1 AA 1 core`];
    });
  });
}
