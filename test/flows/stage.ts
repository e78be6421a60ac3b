import { decodeNodeFile } from '../../src/api/node-file/decode.ts';
import { bytes, GiB, MiB } from '../../src/base/bytes.ts';
import { type DesiredNode, desiredNode } from '../../src/core/node.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';
import { desiredVolume, type PresentVolume } from '../../src/core/volume/desired.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { TraceEvent } from '../../src/engine/ports.ts';
import { thinPoolTask, volumeGroupTask } from '../../src/engine/tasks.ts';
import { type DeviceSpec, plainDisks } from '../world/devices.ts';
import type { FakeHost } from '../world/fake-host.ts';
import { FakeWorld } from '../world/world.ts';

/** One node with a group `data`, a pool and two classes, and one life of our process on it. */
export class Stage {
  readonly world: FakeWorld;
  readonly node: DesiredNode;
  readonly ran: TraceEvent[] = [];
  host: FakeHost;
  engine: Engine;

  constructor(
    options: {
      readonly seed?: number;
      readonly devices?: readonly DeviceSpec[];
      readonly file?: unknown;
    } = {},
  ) {
    const devices = options.devices ?? plainDisks(3, 4n * GiB);
    this.world = new FakeWorld({ seed: options.seed ?? 1, devices });
    const decoded = decodeNodeFile(options.file ?? nodeFile(devices.map((disk) => disk.path)));
    if (decoded.kind !== 'node') throw new Error(JSON.stringify(decoded.problems));
    this.node = desiredNode(decoded.spec);
    [this.host, this.engine] = this.#life();
  }

  /** The process starts anew; what the old one had in mind is gone. */
  restart(): void {
    this.host.die();
    [this.host, this.engine] = this.#life();
  }

  run<T>(work: Promise<T>): Promise<T> {
    return this.world.clock.run(work);
  }

  async setUp(): Promise<void> {
    for (const vg of this.node.volumeGroups) {
      await this.run(this.engine.submitNode(volumeGroupTask(vg, this.node)));
    }
    for (const pool of this.node.thinPools) await this.run(this.engine.submit(thinPoolTask(pool)));
    this.ran.length = 0;
  }

  volume(name: string, className: string, mib: number): PresentVolume {
    const sizeBytes = bytes(BigInt(mib) * MiB);
    const wanted = desiredVolume({ name, className, sizeBytes }, this.node.deviceClasses);
    if (isBlocked(wanted)) throw new Error(wanted.message);
    return wanted;
  }

  #life(): [FakeHost, Engine] {
    const host = this.world.host();
    const trace = (event: TraceEvent) => this.ran.push(event);
    return [host, new Engine({ host, clock: this.world.clock, trace })];
  }
}

export function nodeFile(paths: readonly string[]) {
  const thin = { poolName: 'pool', sizePercent: 40, overprovisionRatio: 2 };
  return {
    volumeGroups: [{ name: 'data', devices: { paths } }],
    deviceClasses: [
      { name: 'thin', volumeGroup: 'data', default: true, thin },
      { name: 'thick', volumeGroup: 'data', spare: '64Mi' },
    ],
  };
}
