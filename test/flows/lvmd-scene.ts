import assert from 'node:assert/strict';
import { bytes, MiB } from '../../src/base/bytes.ts';
import type { DeviceClass } from '../../src/core/device-class.ts';
import {
  type LogicalVolume,
  LVServiceDefinition,
  VGServiceDefinition,
  type WatchResponse,
} from '../../src/csi/generated/lvmd.ts';
import { lvmdServices } from '../../src/csi/lvmd.ts';
import { LvmdVolumes } from '../../src/csi/lvmd-volumes.ts';
import { type Definition, type PartialOf, pathOf, type Service } from '../../src/csi/service.ts';
import { endingOf } from '../../src/csi/status.ts';
import { Publisher } from '../../src/engine/publisher.ts';
import type { Lv } from '../world/model.ts';
import { Stage } from './stage.ts';

type Lvs = typeof LVServiceDefinition.methods;
type Vgs = typeof VGServiceDefinition.methods;

export const mib = (count: number) => BigInt(count) * MiB;

/** lvmd's services on the stage's node, called without a socket. A restart gives new ones. */
export class LvmdScene {
  readonly stage = new Stage();
  classes: readonly DeviceClass[] = this.stage.node.deviceClasses;
  services: readonly Service[] = this.#life();

  static async begin(): Promise<LvmdScene> {
    const scene = new LvmdScene();
    await scene.stage.setUp();
    return scene;
  }

  restart(): void {
    this.stage.restart();
    this.services = this.#life();
  }

  create(name: string, given: PartialOf<Lvs['createLV']> = {}): Promise<LogicalVolume> {
    const request = { name, deviceClass: 'thick', sizeBytes: mib(100), ...given };
    return this.run(this.callLv('createLV', request)).then(({ volume }) => must(volume));
  }

  snapshot(
    name: string,
    sourceVolume: string,
    given: PartialOf<Lvs['createLVSnapshot']> = {},
  ): Promise<LogicalVolume> {
    const base = { name, sourceVolume, deviceClass: 'thick', accessType: 'ro' };
    const made = this.run(this.callLv('createLVSnapshot', { ...base, ...given }));
    return made.then(({ snapshot }) => must(snapshot));
  }

  remove(name: string, deviceClass = 'thick'): Promise<object> {
    return this.run(this.callLv('removeLV', { name, deviceClass }));
  }

  async resize(name: string, sizeMib: number, deviceClass = 'thick'): Promise<bigint> {
    const request = { name, deviceClass, sizeBytes: mib(sizeMib) };
    return (await this.run(this.callLv('resizeLV', request))).sizeBytes;
  }

  async names(deviceClass = 'thick'): Promise<readonly string[]> {
    return (await this.list(deviceClass)).map(({ name }) => name);
  }

  async list(deviceClass = 'thick'): Promise<readonly LogicalVolume[]> {
    return (await this.run(this.callVg('getLVList', { deviceClass }))).volumes;
  }

  async free(deviceClass: string): Promise<bigint> {
    return (await this.run(this.callVg('getFreeBytes', { deviceClass }))).freeBytes;
  }

  callLv<K extends keyof Lvs>(name: K, request: PartialOf<Lvs[K]>, signal?: AbortSignal) {
    const method = LVServiceDefinition.methods[name];
    const answer = this.#call(
      LVServiceDefinition,
      name,
      method.requestType.fromPartial(request),
      signal,
    );
    return answer as Promise<ReturnType<Lvs[K]['responseType']['decode']>>;
  }

  callVg<K extends 'getLVList' | 'getFreeBytes'>(name: K, request: PartialOf<Vgs[K]>) {
    const method = VGServiceDefinition.methods[name];
    const answer = this.#call(VGServiceDefinition, name, method.requestType.fromPartial(request));
    return answer as Promise<ReturnType<Vgs[K]['responseType']['decode']>>;
  }

  watch(signal: AbortSignal): AsyncGenerator<WatchResponse> {
    return this.#call(VGServiceDefinition, 'watch', {}, signal) as AsyncGenerator<WatchResponse>;
  }

  run<T>(work: Promise<T>): Promise<T> {
    return this.stage.run(work);
  }

  /** The lvm commands that changed something. */
  runs(): readonly string[] {
    return this.stage.ran.map(({ argv }) => argv[1] ?? '');
  }

  lv(name: string): Lv | undefined {
    return this.stage.world.lv('data', name);
  }

  #call(definition: Definition, name: string, request: unknown, signal?: AbortSignal): unknown {
    const method = definition.methods[name];
    assert.ok(method !== undefined);
    const path = pathOf(definition, method);
    const route = this.services.flat().find((candidate) => candidate.path === path);
    assert.ok(route !== undefined);
    return route.handler(request, {
      signal: signal ?? new AbortController().signal,
      deadlineMs: undefined,
      peer: 'test',
      nameVolume: () => undefined,
    });
  }

  #life(): readonly Service[] {
    const { engine, host } = this.stage;
    const { clock } = this.stage.world;
    const publisher = new Publisher({ engine, host, clock, trace: () => undefined });
    const volumes = new LvmdVolumes({ engine, publisher, classes: () => this.classes });
    return lvmdServices({ volumes, engine, host, clock });
  }
}

/** The status and the words that a caller gets instead of an answer. */
export async function refusal(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    const { status, message } = endingOf(error);
    return `${status} ${message}`;
  }
  return assert.fail('it was not refused');
}

export function sizeOf(count: number) {
  return { sizeBytes: bytes(mib(count)) };
}

function must<T>(value: T | undefined): T {
  assert.ok(value !== undefined);
  return value;
}
