import assert from 'node:assert/strict';
import { MiB, times } from '../../src/base/bytes.ts';
import { desiredClone } from '../../src/core/clone/desired.ts';
import {
  type AbsentPublication,
  absentPublication,
  desiredPublication,
  type PresentPublication,
  type PublicationRequest,
  type PublishedVolume,
} from '../../src/core/publication/desired.ts';
import type { PublicationStatus } from '../../src/core/publication/status.ts';
import { tagOf } from '../../src/core/tags.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';
import type { Outcome } from '../../src/engine/job.ts';
import { Publisher } from '../../src/engine/publisher.ts';
import { cloneTask, volumeTask } from '../../src/engine/tasks.ts';
import type { Lv } from '../world/model.ts';
import { Stage } from './stage.ts';

export const target = '/var/lib/kubelet/pods/p1/volumes/kubernetes.io~csi/db/mount';

/** A stage with volumes that are shown and taken away. */
export class PublishingStage extends Stage {
  publisher: Publisher = this.#life();

  /** The process starts anew, with all it had in mind gone. */
  override restart(): void {
    super.restart();
    this.publisher = this.#life();
  }

  #life(): Publisher {
    const { engine, host } = this;
    const trace = (event: (typeof this.ran)[number]) => this.ran.push(event);
    return new Publisher({ engine, host, clock: this.world.clock, trace });
  }

  async make(name: string, className = 'thick', mib = 400): Promise<PublishedVolume> {
    const wanted = volumeTask(this.volume(name, className, mib));
    const made = await this.run(this.engine.submit(wanted));
    assert.ok(made.kind === 'settled');
    return { vg: 'data', name, uuid: this.lv(name).uuid };
  }

  async clone(name: string, source: string, mib = 400): Promise<PublishedVolume> {
    const sizeBytes = times(MiB, mib);
    // The driver notes what was asked for.
    const tags = [tagOf('asked', String(sizeBytes))];
    const request = { name, source, className: 'thin', sizeBytes, tags };
    const wanted = desiredClone(request, this.node.deviceClasses);
    assert.ok(!isBlocked(wanted));
    const made = await this.run(this.engine.submit(cloneTask(wanted)));
    assert.ok(made.kind === 'settled');
    return { vg: 'data', name, uuid: this.lv(name).uuid };
  }

  lv(name: string): Lv {
    const lv = this.world.lv('data', name);
    assert.ok(lv !== undefined, name);
    return lv;
  }

  publish(
    volume: PublishedVolume,
    given: Partial<PublicationRequest> = {},
  ): Promise<Outcome<PublicationStatus>> {
    return this.run(this.publisher.publish(wish(volume, given)));
  }

  unpublish(volume: PublishedVolume, path = target): Promise<Outcome<PublicationStatus>> {
    return this.run(this.publisher.unpublish(absence(volume, path)));
  }

  mountsAt(path = target): number {
    return this.world.machine.table.mounts.filter((mount) => mount.mountPoint === path).length;
  }
}

export function wish(
  volume: PublishedVolume,
  given: Partial<PublicationRequest> = {},
): PresentPublication {
  const access = { kind: 'mount', fsType: '', flags: [] } as const;
  const request = { volume, targetPath: target, access, isReadOnly: false, ...given };
  const desired = desiredPublication(request);
  assert.ok(!isBlocked(desired));
  return desired;
}

export function absence(volume: PublishedVolume, targetPath = target): AbsentPublication {
  const desired = absentPublication({ volume, targetPath });
  assert.ok(!isBlocked(desired));
  return desired;
}

export const raw = { kind: 'block' } as const;

export function mounted(fsType: string, ...flags: readonly string[]) {
  return { kind: 'mount', fsType, flags } as const;
}

/** What was done, in the words of the steps. */
export function stepsOf(stage: Stage): readonly string[] {
  return stage.ran.map((event) => event.step);
}
