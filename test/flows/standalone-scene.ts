import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogEvent } from '../../src/agent/log.ts';
import { type Standalone, startStandalone } from '../../src/agent/standalone.ts';
import { SocketClient } from '../../src/csi/client.ts';
import { LVServiceDefinition, VGServiceDefinition } from '../../src/csi/generated/lvmd.ts';
import type { Host } from '../../src/engine/ports.ts';
import { mib } from './lvmd-scene.ts';
import { Stage } from './stage.ts';

export const thick = '- {name: thick, volume-group: data, spare-gb: 0}';
export const thin =
  '- {name: thin, volume-group: data, type: thin, default: true, ' +
  'thin-pool: {name: pool, overprovision-ratio: 2}}';

const patience = { timeoutMs: 10_000 };

/** The whole program on the stage's node, with real files and sockets in a directory of its own. */
export class StandaloneScene {
  readonly stage = new Stage();
  readonly directory: string;
  readonly file: string;
  readonly log: LogEvent[] = [];
  metricsAddress = '127.0.0.1:0';
  version = '0';
  /** Programs that this host has no use of, such as dmsetup without a device mapper. */
  lacks: readonly string[] = [];
  /** Programs that were asked for while some were lacking. */
  readonly asked: string[] = [];
  /** How much of fake time passes in about a millisecond. */
  stepMs = 50;
  #standalone: Standalone | undefined;
  #isOver = false;

  private constructor(directory: string) {
    this.directory = directory;
    this.file = join(directory, 'etc', 'lvmd.yaml');
  }

  static async begin(t: TestContext): Promise<StandaloneScene> {
    const scene = new StandaloneScene(await mkdtemp(join(tmpdir(), 'quarry-')));
    await scene.stage.setUp();
    await mkdir(join(scene.directory, 'etc'));
    t.after(() => scene.#end());
    void scene.#passTime();
    return scene;
  }

  get standalone(): Standalone {
    if (this.#standalone === undefined) throw new Error('it was not started');
    return this.#standalone;
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  config(...entries: readonly string[]): string {
    return this.configOn('lvmd.sock', ...entries);
  }

  configOn(socket: string, ...entries: readonly string[]): string {
    return [`socket-name: ${this.path(socket)}`, 'device-classes:', ...entries, ''].join('\n');
  }

  async write(text: string): Promise<void> {
    await writeFile(this.file, text);
  }

  async replace(text: string): Promise<void> {
    await writeFile(`${this.file}.tmp`, text);
    await rename(`${this.file}.tmp`, this.file);
  }

  /** As kubelet fills the directory of a ConfigMap: only the link `..data` ever changes. */
  async swap(text: string): Promise<void> {
    const etc = join(this.directory, 'etc');
    const made = await mkdtemp(join(etc, '..2026-'));
    await writeFile(join(made, 'lvmd.yaml'), text);
    await symlink(made, join(etc, '..data_tmp'));
    await rename(join(etc, '..data_tmp'), join(etc, '..data'));
    await symlink('..data/lvmd.yaml', this.file).catch(() => undefined);
  }

  /** A new life of the process. The old one ends as if it were told to stop. */
  async start(): Promise<Standalone> {
    await this.#standalone?.stop();
    this.#standalone = undefined;
    this.stage.restart();
    const { host, world } = this.stage;
    const options = {
      ...{ lvmdFile: this.file, stateDirectory: this.path('state') },
      ...{ csiSocket: this.path('csi.sock'), node: 'n1', driver: 'topolvm.io' },
      ...{ prefix: [], path: '', metricsAddress: this.metricsAddress },
      version: this.version,
    };
    if (this.lacks.length > 0) this.#takeAway(host);
    const doors = () => ({ host, clock: world.clock });
    this.#standalone = await startStandalone(options, (event) => this.log.push(event), doors);
    return this.#standalone;
  }

  classes(): readonly string[] {
    return this.standalone.configuration.classes.map(({ name }) => name);
  }

  /** Waits for what an edit brings about. */
  async until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < 250; tries += 1) {
      if (await isSo()) return;
      await sleep(20);
    }
    throw new Error(`it did not come about: ${JSON.stringify(this.log.slice(-5))}`);
  }

  client(t: TestContext, socket = 'lvmd.sock'): SocketClient {
    const client = new SocketClient(this.path(socket));
    t.after(() => client.close());
    return client;
  }

  async make(client: SocketClient, name: string, deviceClass: string): Promise<string> {
    const request = { name, deviceClass, sizeBytes: mib(100) };
    const made = await client.call(LVServiceDefinition, 'createLV', request, patience);
    return made.kind === 'response' ? 'made' : `${made.code} ${made.message}`;
  }

  async names(client: SocketClient, deviceClass: string): Promise<readonly string[]> {
    const list = await client.call(VGServiceDefinition, 'getLVList', { deviceClass }, patience);
    return list.kind === 'response' ? list.response.volumes.map(({ name }) => name) : [list.code];
  }

  /** A page of the HTTP server, with its status. */
  page(path: string): Promise<string> {
    const { port } = this.log.findLast((event) => 'port' in event) as { readonly port?: number };
    return new Promise((resolve, reject) => {
      get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
        text(response).then((body) => resolve(`${response.statusCode} ${body}`), reject);
      }).on('error', reject);
    });
  }

  #takeAway(host: Host): void {
    const start = host.start.bind(host);
    host.start = (command, signal) => {
      const [program] = command.argv;
      this.asked.push(program);
      if (!this.lacks.includes(program)) return start(command, signal);
      const stderr = 'Failure to communicate with kernel device-mapper driver.';
      const ending = { exitCode: 1, signal: undefined, stdout: '', stderr, durationMs: 1 };
      return { result: Promise.resolve(ending), gone: Promise.resolve() };
    };
  }

  async #passTime(): Promise<void> {
    while (!this.#isOver) {
      await this.stage.world.clock.advance(this.stepMs);
      await sleep(1);
    }
  }

  async #end(): Promise<void> {
    await this.#standalone?.stop();
    this.#isOver = true;
    await rm(this.directory, { recursive: true, force: true });
  }
}
