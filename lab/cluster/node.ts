import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Guest, Running } from '../index.ts';
import { cniConfig, importScript, kubeletConfig, prepareScript, shared } from './node-config.ts';
import { mountShare } from './share.ts';

export type NodeHome = {
  readonly guest: Guest;
  readonly dataDisk: string;
  readonly podRange: string;
  readonly routes: readonly { readonly range: string; readonly via: string }[];
  /** The host's side of what the guest sees as `shared`. */
  readonly shareDirectory: string;
  readonly logDirectory: string;
  readonly archives: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  /** The program as the guest sees it, with the words that come first. */
  readonly kubelet: readonly string[];
  readonly kubeletFlags: readonly string[];
};

/** The longest a timer can wait: daemons run until they are stopped. */
const foreverMs = 2 ** 31 - 1;
const prepareTimeoutMs = 60_000;
const importTimeoutMs = 600_000;

type Daemon = { readonly name: string; readonly running: Running; ended: string | undefined };

/** What makes a guest a node of the cluster: containerd and kubelet, started anew at each boot. */
export class ClusterNode {
  readonly #home: NodeHome;
  #containerd: Daemon | undefined;
  #kubelet: Daemon | undefined;

  constructor(home: NodeHome) {
    this.#home = home;
  }

  get name(): string {
    return this.#home.guest.name;
  }

  get guest(): Guest {
    return this.#home.guest;
  }

  /** Mounts, containerd, images: everything that needs no API server. */
  async prepare(signal?: AbortSignal): Promise<void> {
    const cancel = signal && { signal };
    const { guest, podRange, routes } = this.#home;
    await this.#write('cni.conflist', cniConfig(podRange));
    await this.#write('kubelet.yaml', kubeletConfig(this.#inGuest));
    await mountShare(guest, shared);
    const dataDevice = await guest.devicePath(this.#home.dataDisk);
    const script = prepareScript({ dataDevice, nodeDirectory: this.#inGuest, routes });
    await guest.sh(script, { timeoutMs: prepareTimeoutMs, ...cancel });
    this.#containerd = this.#spawn('containerd', [
      'containerd',
      ...['--config', `${shared}/containerd.toml`],
    ]);
    const bringImages = importScript(this.#home.archives);
    await guest.sh(bringImages, { timeoutMs: importTimeoutMs, ...cancel });
  }

  /** Hands the node its identity; kubelet cannot start without. */
  async install(files: {
    readonly kubeconfig: string;
    /** Paths without their ending, see `Certificates`. */
    readonly ca: string;
    readonly servingCertificate: string;
  }): Promise<void> {
    await this.#write('kubeconfig', files.kubeconfig);
    await this.#write('ca.crt', await readFile(`${files.ca}.crt`, 'utf8'));
    for (const ending of ['crt', 'key']) {
      const text = await readFile(`${files.servingCertificate}.${ending}`, 'utf8');
      await this.#write(`serving.${ending}`, text);
    }
  }

  startKubelet(): void {
    if (this.#kubelet?.ended === undefined && this.#kubelet !== undefined) {
      throw new Error(`kubelet of ${this.name} is running already`);
    }
    const { guest, kubelet, kubeletFlags, labels } = this.#home;
    const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
    this.#kubelet = this.#spawn('kubelet', [
      ...kubelet,
      `--config=${this.#inGuest}/kubelet.yaml`,
      `--kubeconfig=${this.#inGuest}/kubeconfig`,
      `--hostname-override=${this.name}`,
      `--node-ip=${guest.ip}`,
      ...(pairs.length === 0 ? [] : [`--node-labels=${pairs.join(',')}`]),
      '--v=2',
      ...kubeletFlags,
    ]);
  }

  /** Kills kubelet alone; containers go on. */
  async stopKubelet(): Promise<void> {
    const kubelet = this.#kubelet;
    if (kubelet === undefined) return;
    this.#kubelet = undefined;
    kubelet.running.kill('SIGKILL');
    await kubelet.running.result.catch(() => undefined); // the guest may be gone, which is as good
  }

  /** Boots the guest again, after a power cut or an orderly end, and makes it a node again. */
  async restart(): Promise<void> {
    this.#containerd = undefined;
    this.#kubelet = undefined;
    await this.guest.start();
    await this.prepare();
    this.startKubelet();
  }

  /** Throws with the end of its log when containerd or kubelet has died by itself. */
  async check(): Promise<void> {
    for (const daemon of [this.#containerd, this.#kubelet]) {
      if (daemon?.ended === undefined) continue;
      const path = join(this.#home.logDirectory, this.#logName(daemon.name));
      const log = await readFile(path, 'utf8').catch(() => '');
      const what = `${daemon.name} of ${this.name} ended (${daemon.ended})`;
      throw new Error(`${what}, see ${path}\n${log.slice(-2000)}`);
    }
  }

  get #inGuest(): string {
    return `${shared}/nodes/${this.name}`;
  }

  #logName(daemon: string): string {
    return `${this.name}.${daemon}.log`;
  }

  async #write(name: string, text: string): Promise<void> {
    const directory = join(this.#home.shareDirectory, 'nodes', this.name);
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, name), text, { mode: 0o600 });
  }

  #spawn(name: string, argv: readonly string[]): Daemon {
    const log = `${shared}/log/${this.#logName(name)}`;
    const shell = ['sh', '-c', `exec "$@" >>${log} 2>&1`, name];
    const running = this.guest.spawn([...shell, ...argv], { timeoutMs: foreverMs });
    running.endInput();
    const daemon: Daemon = { name, running, ended: undefined };
    void remember(daemon);
    return daemon;
  }
}

async function remember(daemon: Daemon): Promise<void> {
  try {
    const { signal, exitCode } = await daemon.running.result;
    daemon.ended = signal ?? `exit code ${exitCode}`;
  } catch (error) {
    daemon.ended = String(error);
  }
}
