import assert from 'node:assert/strict';
import type { ObservedVg } from '../../src/core/observed.ts';
import type { Step } from '../../src/core/step.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';
import { absentVolume, desiredVolume } from '../../src/core/volume/desired.ts';
import type { VolumeStatus } from '../../src/core/volume/status.ts';
import { Job, type Task } from '../../src/engine/job.ts';
import { Lane } from '../../src/engine/lane.ts';
import { HostModel } from '../../src/engine/model.ts';
import type { Signal, TraceEvent } from '../../src/engine/ports.ts';
import { volumeTask } from '../../src/engine/tasks.ts';
import type { Witness } from '../../src/engine/witness.ts';
import { extents, thickClass } from './observed.ts';
import { TinyClock } from './tiny-clock.ts';
import { TinyHost } from './tiny-host.ts';

/** Nothing can be seen but by a report. */
const blind: Witness = { see: () => Promise.resolve(undefined) };

export function world(...vgs: readonly ObservedVg[]) {
  return worldWith(new TinyHost(...vgs), blind);
}

/** The kernel shows what is. */
export function seeingWorld(...vgs: readonly ObservedVg[]) {
  const host = new TinyHost(...vgs);
  const see = async (step: Step) => {
    const lv = host.state.vgs[0]?.lvs.find(({ name }) => 'lv' in step && name === step.lv);
    if (step.kind === 'remove-lv') return lv === undefined ? step.lvUuid : undefined;
    const isStill =
      step.kind === 'change-tags' && step.remove.some((tag) => lv?.tags.includes(tag));
    return isStill ? undefined : lv?.uuid;
  };
  return worldWith(host, { see });
}

function worldWith(host: TinyHost, witness: Witness) {
  const model = new HostModel(host, new TinyClock());
  const events: TraceEvent[] = [];
  const lane = new Lane({ host, model, witness, trace: (event) => events.push(event) });
  const submit = <Status>(task: Task<Status>, signal?: Signal) => {
    const job = new Job(task, signal);
    lane.add(job as Job);
    // A test that only looks at the effect must not be ended by a failure it expects.
    job.outcome.catch(() => undefined);
    return job.outcome;
  };
  return { host, model, lane, events, submit };
}

export function volume(name: string, size = 1): Task<VolumeStatus> {
  const request = { name, className: '', sizeBytes: extents(size) };
  const desired = desiredVolume(request, [thickClass()]);
  assert.ok(!isBlocked(desired));
  return volumeTask(desired);
}

export const removal = (name: string) => volumeTask(absentVolume('vg1', name));
export const names = (host: TinyHost) => host.state.vgs[0]?.lvs.map((lv) => lv.name) ?? [];
