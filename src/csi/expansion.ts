import { OperationError } from '../base/failures.ts';
import type { ObservedLv } from '../core/observed.ts';
import { rawTag, readBytes } from '../core/tags.ts';
import { isBlocked } from '../core/usable-vg.ts';
import type { PresentVolume } from '../core/volume/desired.ts';
import type { VolumeStatus } from '../core/volume/status.ts';
import type { Engine } from '../engine/engine.ts';
import { asOperationError } from '../engine/execute.ts';
import type { Task } from '../engine/job.ts';
import type { Publisher } from '../engine/publisher.ts';
import { volumeTask } from '../engine/tasks.ts';

export type Expansion<T> = {
  readonly engine: Engine;
  readonly publisher: Pick<Publisher, 'unseen'>;
  readonly lv: ObservedLv;
  readonly desired: PresentVolume;
  readonly bring: (task: Task<VolumeStatus>) => Promise<T>;
};

/** A volume that is there grows, whichever socket that was asked on. */
export async function expand<T extends object>(expansion: Expansion<T>): Promise<T> {
  const { lv, desired, bring } = expansion;
  const isGrowing =
    lv.sizeBytes < desired.sizeBytes || readBytes(lv.tags, 'grownFrom') !== undefined;
  const isFull = desired.deviceClass.wipePolicy === 'full';
  const isHidden = isFull && isGrowing && lv.tags.includes(rawTag);
  try {
    return await (isHidden ? growUnseen(expansion) : bring(volumeTask(desired)));
  } catch (error) {
    // If this fails too, the next expansion finds the note.
    await takeNoteBack(expansion).catch(asOperationError);
    throw error;
  }
}

/** Between lvextend and the last zero the new end can be read, so nobody may see it. */
async function growUnseen<T extends object>(expansion: Expansion<T>): Promise<T> {
  const { publisher, lv, desired, bring } = expansion;
  const volume = { vg: desired.deviceClass.vg, name: lv.name, uuid: lv.uuid };
  const grown = await publisher.unseen(volume, () => bring(volumeTask(desired)));
  if (!isBlocked(grown)) return grown;
  const why = 'the wipe policy full lets a raw volume grow only while it is shown nowhere';
  throw new OperationError(grown.code, `${grown.message}: ${why}; stop its pod first`);
}

/**
 * It was noted that the volume grows, and it did not. If an administrator grew it then, by hand,
 * the next expansion would take what is written there for what others left.
 */
async function takeNoteBack<T>({ engine, lv, desired }: Expansion<T>): Promise<void> {
  const { host } = engine.model.newest ?? (await engine.observe());
  const now = host.vgs.flatMap(({ lvs }) => lvs).find(({ uuid }) => uuid === lv.uuid);
  if (now === undefined || readBytes(now.tags, 'grownFrom') !== now.sizeBytes) return;
  await engine.submit(volumeTask({ ...desired, sizeBytes: now.sizeBytes }));
}
