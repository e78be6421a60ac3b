import assert from 'node:assert/strict';
import type { WipePolicy } from '../../src/api/lvmd-file/spec.ts';
import { MiB } from '../../src/base/bytes.ts';
import { OperationError } from '../../src/base/failures.ts';
import type { VolumeRecord } from '../../src/core/catalog.ts';
import {
  VolumeCapability_AccessMode_Mode as Mode,
  NodeDefinition,
  type NodePublishVolumeRequest,
} from '../../src/csi/generated/csi.ts';
import { nodeService } from '../../src/csi/node.ts';
import { pathOf } from '../../src/csi/service.ts';
import { type CreateVolume, Volumes } from '../../src/csi/volumes.ts';
import { type Content, leftovers } from '../world/content.ts';
import type { Lv } from '../world/model.ts';
import { PublishingStage } from './publishing.ts';

export const path = '/pods/a/volume';

/** The driver on the stage's node, with one wipe policy for all its classes. */
export class TenantsScene {
  readonly stage = new PublishingStage();
  readonly #policy: WipePolicy | undefined;
  volumes: Volumes;
  #ids = 0;

  private constructor(policy: WipePolicy | undefined) {
    this.#policy = policy;
    this.volumes = this.#life();
  }

  static async begin(policy?: WipePolicy): Promise<TenantsScene> {
    const scene = new TenantsScene(policy);
    await scene.stage.setUp();
    return scene;
  }

  /** What a dead process started comes to its end; then the next one is there. */
  async restart(): Promise<void> {
    await this.stage.world.clock.advance(120_000);
    this.stage.restart();
    this.volumes = this.#life();
    await this.run(this.stage.engine.recover(['data']));
  }

  run<T>(work: Promise<T>): Promise<T> {
    return this.stage.run(work);
  }

  create(
    name: string,
    mib: number,
    given: Partial<CreateVolume> = {},
    signal?: AbortSignal,
  ): Promise<VolumeRecord> {
    const range = rangeOf(mib);
    const wanted = { name, className: 'thick', optionClass: '', range, uses: [] };
    return this.volumes.create({ ...wanted, source: undefined, ...given }, signal);
  }

  expand(id: string, mib: number): Promise<VolumeRecord> {
    return this.volumes.expand(id, rangeOf(mib));
  }

  async publish(id: string, use: 'raw' | 'ext4', targetPath = path): Promise<void> {
    const service = nodeService({ volumes: this.volumes, publisher: this.stage.publisher }, names);
    const wanted = pathOf(NodeDefinition, NodeDefinition.methods.nodePublishVolume);
    const route = service.find((each) => each.path === wanted);
    assert.ok(route !== undefined);
    const { signal } = new AbortController();
    const about = { signal, deadlineMs: undefined, peer: '', nameVolume: () => undefined };
    await route.handler(publication(id, use, targetPath), about);
  }

  lv(id: string): Lv {
    return this.stage.lv(id);
  }

  /** Where a reader of the whole device sees what former tenants left. */
  leftIn(id: string): Content['writes'] {
    return leftovers(this.lv(id).content);
  }

  lvmRuns(): readonly string[] {
    const lines = this.stage.ran.map(({ argv }) => argv.slice(0, 2));
    return lines.filter(([program]) => program === 'lvm').map(([, command = '']) => command);
  }

  /** Does something, and dies at the so-manieth change; `false` when there were fewer. */
  async dies(nth: number, when: 'before' | 'during' | 'after', work: () => Promise<unknown>) {
    let left = nth;
    const takeBack = this.stage.world.faults.next(
      ({ effect }) => {
        if (effect === 'changes') left -= 1;
        return effect === 'changes' && left === 0;
      },
      { kind: 'crash', when },
    );
    const { host } = this.stage;
    const death = new Promise<'dead'>((resolve) => host.onDeath(() => resolve('dead')));
    const end = await this.run(Promise.race([work().catch(refused), death]));
    takeBack();
    return end === 'dead';
  }

  #life(): Volumes {
    const { stage } = this;
    const policy = this.#policy === undefined ? {} : { wipePolicy: this.#policy };
    return new Volumes({
      engine: stage.engine,
      publisher: stage.publisher,
      classes: () => stage.node.deviceClasses.map((each) => ({ ...each, ...policy })),
      newId: () => {
        this.#ids += 1;
        return `id-${this.#ids}`;
      },
      nowMs: () => stage.world.clock.nowMs(),
    });
  }
}

const names = { driver: 'topolvm.io', domain: 'topolvm.io', version: '0', node: 'n1' };

function rangeOf(mib: number) {
  return { requiredBytes: BigInt(mib) * MiB, limitBytes: 0n };
}

function publication(
  volumeId: string,
  use: 'raw' | 'ext4',
  targetPath: string,
): NodePublishVolumeRequest {
  const accessType =
    use === 'raw'
      ? { $case: 'block', value: {} }
      : { $case: 'mount', value: { fsType: use, mountFlags: [] } };
  const accessMode = { mode: Mode.SINGLE_NODE_WRITER };
  return NodeDefinition.methods.nodePublishVolume.requestType.fromPartial({
    ...{ volumeId, targetPath, volumeCapability: { accessType, accessMode } },
  } as never);
}

function refused(error: unknown): void {
  if (!(error instanceof OperationError)) throw error;
}
