import { parseQuantity } from '../api/quantity.ts';
import type { Bytes } from '../base/bytes.ts';
import { OperationError } from '../base/failures.ts';
import { showBytes } from '../base/show.ts';
import { desiredClone } from '../core/clone/desired.ts';
import { findDeviceClass } from '../core/device-class.ts';
import type { DesiredNode } from '../core/node.ts';
import { findLv, findVg } from '../core/observed.ts';
import { desiredSnapshot } from '../core/snapshot/desired.ts';
import { readTag } from '../core/tags.ts';
import { isBlocked } from '../core/usable-vg.ts';
import { absentVolume, desiredVolume } from '../core/volume/desired.ts';
import type { VolumeStatus } from '../core/volume/status.ts';
import { cloneTask, snapshotTask, volumeTask } from '../engine/tasks.ts';
import { type Context, recover, settled, UsageError } from './context.ts';
import { volumeTable } from './status.ts';

export type VolumeFlags = { readonly className: string; readonly size: string | undefined };

type Call = {
  readonly context: Context;
  readonly desired: DesiredNode;
  readonly flags: VolumeFlags;
};

/** `quarry volume VERB ...`: one volume operation on this host, without a daemon. */
export async function volume(call: Call, args: readonly string[]): Promise<void> {
  const [verb, name, source] = args;
  await recover(call.context, call.desired);
  switch (verb) {
    case 'list':
      return print(call, volumeTable((await call.context.engine.observe()).host, call.desired));
    case 'create':
      return create(call, needed(name, 'a name'));
    case 'expand':
      return expand(call, needed(name, 'a name'));
    case 'delete':
      return remove(call, needed(name, 'a name'));
    case 'snapshot':
      return snapshot(call, needed(name, 'a name'), needed(source, 'a source volume'));
    case 'clone':
      return clone(call, needed(name, 'a name'), needed(source, 'a source'));
    default:
      throw new UsageError(
        `volume knows list, create, expand, delete, snapshot, clone; not ${verb}`,
      );
  }
}

async function create(call: Call, name: string): Promise<void> {
  const { className } = call.flags;
  const request = { name, className, sizeBytes: sizeOf(call.flags) };
  const wanted = unblocked(desiredVolume(request, call.desired.deviceClasses));
  report(call, 'created', settled(await call.context.engine.submit(volumeTask(wanted))));
}

async function expand(call: Call, name: string): Promise<void> {
  const found = await locate(call, name);
  const { className, uuid } = found;
  const request = { name, className, sizeBytes: sizeOf(call.flags), uuid };
  if (request.sizeBytes < found.sizeBytes) {
    const message = `${name} has ${showBytes(found.sizeBytes)}: it cannot shrink`;
    throw new OperationError('ShrinkRefused', message);
  }
  const wanted = unblocked(desiredVolume(request, call.desired.deviceClasses));
  report(call, 'expanded', settled(await call.context.engine.submit(volumeTask(wanted))));
}

async function remove(call: Call, name: string): Promise<void> {
  const found = await find(call, name);
  if (found === undefined) return print(call, `${name} does not exist`);
  const wanted = absentVolume(found.vg, name, found.uuid);
  settled(await call.context.engine.submit(volumeTask(wanted)));
  print(call, `deleted ${found.vg}/${name}`);
}

async function snapshot(call: Call, name: string, source: string): Promise<void> {
  const { className, uuid: sourceUuid } = await locate(call, source);
  const deviceClass = unblocked(findDeviceClass(call.desired.deviceClasses, className));
  const wanted = unblocked(desiredSnapshot({ name, source, sourceUuid, deviceClass }));
  report(call, 'snapshot', settled(await call.context.engine.submit(snapshotTask(wanted))));
}

async function clone(call: Call, name: string, source: string): Promise<void> {
  const found = await locate(call, source);
  const sizeBytes = call.flags.size === undefined ? found.sizeBytes : sizeOf(call.flags);
  const { className, uuid: sourceUuid } = found;
  const request = { name, source, sourceUuid, className, sizeBytes };
  const wanted = unblocked(desiredClone(request, call.desired.deviceClasses));
  report(call, 'cloned', settled(await call.context.engine.submit(cloneTask(wanted))));
}

type Found = {
  readonly vg: string;
  readonly uuid: string;
  readonly className: string;
  readonly sizeBytes: Bytes;
};

async function find(call: Call, name: string): Promise<Found | undefined> {
  const { host } = await call.context.engine.observe();
  for (const { name: vgName } of call.desired.volumeGroups) {
    const vg = findVg(host, vgName);
    const lv = vg === undefined ? undefined : findLv(vg, name);
    if (lv === undefined) continue;
    const className = readTag(lv.tags, 'class') ?? '';
    return { vg: vgName, uuid: lv.uuid, className, sizeBytes: lv.sizeBytes };
  }
  return undefined;
}

async function locate(call: Call, name: string): Promise<Found> {
  const found = await find(call, name);
  if (found !== undefined) return found;
  const groups = call.desired.volumeGroups.map((vg) => vg.name).join(', ');
  throw new OperationError('VolumeNotFound', `there is no volume ${name} in ${groups}`);
}

function report(call: Call, verb: string, status: VolumeStatus): void {
  const size = status.sizeBytes === undefined ? '' : `, ${showBytes(status.sizeBytes)}`;
  print(call, `${verb} ${status.vg}/${status.name} (${status.kind}${size})`);
}

function print(call: Call, text: string): void {
  call.context.print(text);
}

function sizeOf(flags: VolumeFlags): Bytes {
  if (flags.size === undefined) throw new UsageError('say how large it shall be: --size 10Gi');
  const size = parseQuantity(flags.size);
  if (typeof size === 'bigint') return size;
  throw new OperationError(size.code, size.message);
}

function unblocked<T extends object>(value: T): Exclude<T, { kind: 'blocked' }> {
  if (isBlocked(value)) throw new OperationError(value.code, value.message);
  return value as Exclude<T, { kind: 'blocked' }>;
}

function needed(value: string | undefined, what: string): string {
  if (value === undefined) throw new UsageError(`${what} is missing`);
  return value;
}
