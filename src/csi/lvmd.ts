import { type FailureCode, OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { show } from '../base/show.ts';
import type { LvmdCapacity } from '../core/lvmd-capacity.ts';
import { deviceNumber } from '../engine/device-number.ts';
import type { Engine, PlacedLv } from '../engine/engine.ts';
import type { Clock, Host } from '../engine/ports.ts';
import type { Call } from './call.ts';
import {
  type LogicalVolume,
  LVServiceDefinition,
  VGServiceDefinition,
  type WatchResponse,
} from './generated/lvmd.ts';
import type { LvmdVolumes } from './lvmd-volumes.ts';
import { type Service, service } from './service.ts';
import { failureMessage, type Status, StatusError } from './status.ts';

export type LvmdParts = {
  readonly volumes: LvmdVolumes;
  readonly engine: Engine;
  readonly host: Host;
  readonly clock: Clock;
};

/** TopoLVM's socket: its words for what `LvmdVolumes` does. */
export function lvmdServices(parts: LvmdParts): readonly Service[] {
  return [lvService(parts), vgService(parts)];
}

function lvService(parts: LvmdParts): Service {
  const { volumes } = parts;
  return service(LVServiceDefinition, {
    createLV: (request, call) => {
      const { name, deviceClass, lvcreateOptionClass, sizeBytes, tags } = request;
      call.nameVolume(name);
      const classes = { className: deviceClass, optionClass: lvcreateOptionClass };
      return answer(async () => {
        const made = await volumes.create({ name, ...classes, sizeBytes, tags }, call.signal);
        return { volume: await messageOf(made, parts) };
      });
    },
    removeLV: ({ name, deviceClass }, call) => {
      call.nameVolume(name);
      return answer(async () => {
        await volumes.remove({ name, className: deviceClass }, call.signal);
        return {};
      }, removalStatuses);
    },
    resizeLV: ({ name, deviceClass, sizeBytes }, call) => {
      call.nameVolume(name);
      const wanted = { name, className: deviceClass, sizeBytes };
      return answer(async () => ({ sizeBytes: await volumes.resize(wanted, call.signal) }));
    },
    createLVSnapshot: (request, call) => {
      const { name, deviceClass, sourceVolume, sizeBytes, tags } = request;
      call.nameVolume(name);
      return answer(async () => {
        const access = accessOf(request.accessType);
        const wanted = { name, className: deviceClass, source: sourceVolume, access };
        const made = await volumes.snapshot({ ...wanted, sizeBytes, tags }, call.signal);
        return { snapshot: await messageOf(made, parts) };
      });
    },
  });
}

function vgService(parts: LvmdParts): Service {
  const { volumes } = parts;
  return service(VGServiceDefinition, {
    getLVList: ({ deviceClass }) =>
      answer(async () => {
        const found = await volumes.list(deviceClass);
        return { volumes: await Promise.all(found.map((one) => messageOf(one, parts))) };
      }),
    getFreeBytes: ({ deviceClass }) =>
      answer(async () => ({ freeBytes: await volumes.freeBytes(deviceClass) })),
    watch: (_request, call) => watch(parts, call),
  });
}

/**
 * Figures at once, whenever they changed, and now and then though they did not. They come from
 * looks that others take, but for the first ones: whoever was told that a volume is gone finds its
 * room here. A look that fails says nothing here. While a slow reader is waited for
 * nothing piles up, and it gets the newest figures next.
 */
async function* watch(
  { volumes, engine, clock }: LvmdParts,
  { signal }: Call,
): AsyncGenerator<WatchResponse> {
  const bell = new Bell(clock);
  const ring = () => bell.ring();
  const unlisten = engine.model.onReport(ring);
  signal.addEventListener('abort', ring);
  let told = '';
  let dueAtMs = 0;
  try {
    await volumes.settled();
    while (!signal.aborted) {
      const capacities = volumes.capacities();
      const text = show(capacities ?? '');
      const isDue = text !== told || clock.nowMs() >= dueAtMs;
      if (capacities !== undefined && isDue) {
        told = text;
        dueAtMs = clock.nowMs() + limits.lvmdWatchMs;
        yield watchResponse(capacities);
      }
      const isKnown = capacities !== undefined;
      await bell.wait(isKnown ? dueAtMs - clock.nowMs() : limits.lvmdWatchMs);
    }
  } finally {
    unlisten();
    signal.removeEventListener('abort', ring);
  }
}

/** One ring wakes whoever waits, or the next one who does: none is lost, and none is kept twice. */
class Bell {
  readonly #clock: Clock;
  #hasRung = false;
  #wake: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ring(): void {
    this.#hasRung = true;
    this.#wake();
  }

  async wait(ms: number): Promise<void> {
    if (!this.#hasRung) {
      const alarm = new AbortController();
      this.#wake = () => alarm.abort();
      await this.#clock.sleep(ms, alarm.signal);
    }
    this.#hasRung = false;
  }
}

function watchResponse(capacities: readonly LvmdCapacity[]): WatchResponse {
  const chosen = capacities.find(({ isDefault }) => isDefault);
  return {
    freeBytes: chosen?.thinPool?.overprovisionBytes ?? chosen?.vgFreeBytes ?? 0n,
    items: capacities.map(({ deviceClass, vgFreeBytes, vgSizeBytes, thinPool }) => ({
      deviceClass,
      freeBytes: vgFreeBytes,
      sizeBytes: vgSizeBytes,
      ...(thinPool === undefined ? {} : { thinPool }),
    })),
  };
}

/** A volume without a device has the numbers 0:0. */
async function messageOf({ vg, lv }: PlacedLv, doors: LvmdParts): Promise<LogicalVolume> {
  const number = await deviceNumber(doors, vg, lv);
  return {
    name: lv.name,
    devMajor: number?.major ?? 0,
    devMinor: number?.minor ?? 0,
    tags: lv.tags,
    sizeBytes: lv.sizeBytes,
    path: `/dev/${vg.name}/${lv.name}`,
    attr: lv.attributes,
  };
}

function accessOf(accessType: string): 'ro' | 'rw' {
  if (accessType === 'ro' || accessType === 'rw') return accessType;
  const message = `access_type is ${show(accessType)}: write ro or rw`;
  throw new OperationError('InvalidRequest', message);
}

type Statuses = { readonly [code in FailureCode]?: Status };

/** Where TopoLVM's callers read another status than CSI's do. */
const statuses: Statuses = {
  UnknownDeviceClass: 'NOT_FOUND',
  UnknownOptionClass: 'INTERNAL',
  InsufficientCapacityToExpand: 'RESOURCE_EXHAUSTED',
  InsufficientCapacityForSnapshot: 'RESOURCE_EXHAUSTED',
  SnapshotsUnsupported: 'UNIMPLEMENTED',
};

/** TopoLVM takes NOT_FOUND for "removed" and forgets the volume: only a look may say that. */
const removalStatuses: Statuses = { ...statuses, UnknownDeviceClass: 'FAILED_PRECONDITION' };

async function answer<T>(work: () => Promise<T>, rows: Statuses = statuses): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const status = error instanceof OperationError ? rows[error.code] : undefined;
    if (status === undefined || !(error instanceof OperationError)) throw error;
    throw new StatusError(status, failureMessage(error.code, error.message), { cause: error });
  }
}
