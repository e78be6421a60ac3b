import { decodeLvmdFile } from '../../src/api/lvmd-file/decode.ts';
import { decodeNodeFile } from '../../src/api/node-file/decode.ts';
import { GiB } from '../../src/base/bytes.ts';
import { lvmdDeviceClasses } from '../../src/core/lvmd.ts';
import { type DesiredNode, desiredNode } from '../../src/core/node.ts';
import { Engine } from '../../src/engine/engine.ts';
import { thinPoolTask, volumeGroupTask } from '../../src/engine/tasks.ts';
import { nodeFile } from '../flows/stage.ts';
import { Chance } from '../world/chance.ts';
import type { FakeClock } from '../world/clock.ts';
import { type DeviceSpec, plainDisks } from '../world/devices.ts';
import { FakeWorld } from '../world/world.ts';
import type { Served } from './driver.ts';
import type { Kubelet } from './kubelet.ts';
import { Life } from './life.ts';
import { NodeDisk } from './node-disk.ts';
import type { AgentProgram, NodeSurroundings, Surroundings } from './programs.ts';

type Parts = {
  readonly name: string;
  readonly clock: FakeClock;
  readonly chance: Chance;
  readonly agent: AgentProgram;
  /** Its disks where nothing is made of them yet; lvmd.yaml says later what was. */
  readonly bare?: BareMachine | undefined;
  /** What a process on this machine is given, for each of its lives. */
  readonly surround: (machine: string, role: string, life: Life) => Surroundings;
  /** Our agent runs on nodes of the cluster. */
  readonly isNode: () => boolean;
  /** A process of ours ended by a bug. */
  readonly bug: (error: unknown) => void;
};

export type BareMachine = {
  readonly devices: readonly DeviceSpec[];
  readonly hasVolatileCaches: boolean;
};

/** One node: its disks and its LVM, the agent, and kubelet. */
export class Machine {
  readonly name: string;
  readonly world: FakeWorld;
  readonly disk: NodeDisk;
  kubelet: Kubelet | undefined;
  readonly #parts: Parts;
  readonly #fixed: DesiredNode;
  #life: Life | undefined;
  #served: Served | undefined;
  #isUp = true;
  #isRetired = false;
  #lives = 0;

  constructor(parts: Parts) {
    this.name = parts.name;
    this.#parts = parts;
    const devices = plainDisks(2, 4n * GiB);
    const seed = parts.chance.bits();
    this.disk = new NodeDisk(new Chance(seed));
    this.world = new FakeWorld({ seed, devices, clock: parts.clock, ...parts.bare });
    const decoded = decodeNodeFile(nodeFile(devices.map(({ path }) => path)));
    if (decoded.kind !== 'node') throw new Error(JSON.stringify(decoded.problems));
    this.#fixed = desiredNode(decoded.spec);
  }

  /** What it shall be like, or is by its lvmd.yaml. */
  get desired(): DesiredNode {
    return this.#parts.bare === undefined ? this.#fixed : servedBy(this.disk.lvmd);
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  get lives(): number {
    return this.#lives;
  }

  served(): Served | undefined {
    return this.#isUp ? this.#served : undefined;
  }

  async setUp(): Promise<void> {
    if (this.#parts.bare !== undefined) return;
    const engine = new Engine({
      ...{ host: this.world.host(), clock: this.#parts.clock, trace: () => undefined },
    });
    for (const vg of this.desired.volumeGroups) {
      await engine.submitNode(volumeGroupTask(vg, this.desired));
    }
    for (const pool of this.desired.thinPools) await engine.submit(thinPoolTask(pool));
  }

  /** A new life of the agent; when it dies by itself the next one begins soon. */
  startAgent(): void {
    const { clock, agent, surround, bug } = this.#parts;
    const life = new Life(clock);
    const host = this.world.host();
    this.#lives += 1;
    host.onDeath(() => life.die());
    life.onDeath(() => {
      host.die();
      if (this.#isUp) clock.after(2_000, () => this.#startAgain(life), 'agent');
    });
    const around: NodeSurroundings = {
      ...surround(this.name, 'agent', life),
      ...{ node: this.name, host, desired: this.desired, disk: this.disk },
      serve: (service) => {
        this.#served = { service, life };
        void this.kubelet?.register();
      },
    };
    this.#life = life;
    agent(around).run(new AbortController().signal).catch(bug);
  }

  killAgent(): void {
    this.#life?.die();
  }

  /** Its own code does not run for a while. */
  holdUpAgent(ms: number): void {
    this.#life?.holdUp(ms);
  }

  powerOff(): void {
    this.#isUp = false;
    this.killAgent();
    this.kubelet?.restart();
    this.world.cutPower();
  }

  powerOn(): void {
    if (this.#isUp || this.#isRetired) return;
    this.#isUp = true;
    this.#startAgain(this.#life);
  }

  /** Nobody ever turns it on again. */
  retire(): void {
    this.#isRetired = true;
  }

  #startAgain(after: Life | undefined): void {
    if (!this.#isUp || this.#life !== after) return;
    if (this.#parts.isNode()) this.startAgent();
    else this.#parts.clock.after(2_000, () => this.#startAgain(after), 'agent');
  }
}

function servedBy(text = 'device-classes: []'): DesiredNode {
  const decoded = decodeLvmdFile({ file: 'lvmd.yaml', text, mayBeEmpty: true });
  const deviceClasses = decoded.kind === 'lvmd' ? lvmdDeviceClasses(decoded.spec) : [];
  return { volumeGroups: [], thinPools: [], deviceClasses };
}
