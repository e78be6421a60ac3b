import { decodeNodeFile } from '../../src/api/node-file/decode.ts';
import { GiB } from '../../src/base/bytes.ts';
import { ownProtocols } from '../../src/core/cluster/protocol.ts';
import { desiredNode } from '../../src/core/node.ts';
import { KubeClient } from '../../src/kube/client.ts';
import type { Transport } from '../../src/kube/transport.ts';
import { Life } from '../../test/cluster/life.ts';
import { NodeDisk } from '../../test/cluster/node-disk.ts';
import { ourAgent } from '../../test/cluster/our-agent.ts';
import { Chance } from '../../test/world/chance.ts';
import { FakeClock } from '../../test/world/clock.ts';
import { plainDisks } from '../../test/world/devices.ts';
import { freeExtentsOf } from '../../test/world/model.ts';
import { FakeWorld } from '../../test/world/world.ts';
import { counted, type Heard, nothingHeard } from './counted.ts';

export const group = 'data';
const diskBytes = 100n * GiB;

/** Fake machines want the clock of a made-up world; this one is that of the real one. */
export class PlainClock extends FakeClock {
  constructor() {
    super(new Chance(1));
  }

  override nowMs(): number {
    return performance.now();
  }

  override after(ms: number, run: () => void): () => void {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  }
}

/** A node without a machine: the agent is real, its LVM is not. */
export class FleetNode {
  readonly name: string;
  readonly world: FakeWorld;
  heard: Heard = nothingHeard();
  readonly #clock: FakeClock;
  readonly #transport: () => Transport;
  #stop = new AbortController();

  constructor(name: string, seed: number, clock: FakeClock, transport: () => Transport) {
    this.name = name;
    this.#clock = clock;
    this.#transport = transport;
    this.world = new FakeWorld({ seed, devices: plainDisks(1, diskBytes), clock });
    const [disk] = this.world.machine.devices;
    if (disk === undefined) throw new Error('the world has no disk');
    this.world.admin.run('lvm', 'vgcreate', '--metadatasize', '64m', group, disk.path);
  }

  /** What the group has left, as the scheduler should hear of it. */
  get freeBytes(): number {
    const vg = this.world.vg(group);
    if (vg === undefined) throw new Error(`${this.name} has no group`);
    return vg.pvs.reduce((sum, pv) => sum + freeExtentsOf(pv), 0) * vg.extentBytes;
  }

  start(failed: (error: unknown) => void): void {
    this.heard = nothingHeard();
    this.#stop = new AbortController();
    const clock = this.#clock;
    const transport = counted(this.#transport(), this.heard);
    const chance = () => Math.random();
    const decoded = decodeNodeFile({
      volumeGroups: [
        { name: group, devices: { paths: this.world.machine.devices.map(({ path }) => path) } },
      ],
      deviceClasses: [{ name: 'thick', volumeGroup: group, default: true }],
    });
    if (decoded.kind !== 'node') throw new Error(JSON.stringify(decoded.problems));
    const program = ourAgent({
      ...{ transport: () => transport, clock, chance, wall: Date.now },
      client: () => new KubeClient({ transport, clock, chance }),
      ...{ life: new Life(clock), self: this.name, log: () => undefined },
      build: { version: '0', protocols: ownProtocols },
      ...{ node: this.name, host: this.world.host(), desired: desiredNode(decoded.spec) },
      ...{ disk: new NodeDisk(new Chance(1)), serve: () => undefined },
      ...{ stored: () => [], judge: () => undefined },
    });
    program.run(this.#stop.signal).then(
      () => transport.close(),
      (error: unknown) => failed(error),
    );
  }

  stop(): void {
    this.#stop.abort();
  }
}
