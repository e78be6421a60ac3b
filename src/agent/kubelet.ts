import { type FSWatcher, watch } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OperationError } from '../base/failures.ts';
import type { CallEvent } from '../csi/call.ts';
import { registrationService } from '../csi/registration.ts';
import { type RunningServer, startServer } from '../csi/server.ts';
import { agentLimits } from './limits.ts';
import type { Log } from './log.ts';

export type RegistrationOptions = {
  readonly kubeletRoot: string;
  readonly driver: string;
  readonly endpoint: string;
  readonly log: Log;
  readonly logCall: (event: CallEvent) => void;
  /** Kubelet does not want us: a new start may help, waiting does not. */
  readonly refused: (error: OperationError) => void;
};

export function registrationSocket({
  kubeletRoot,
  driver,
}: Pick<RegistrationOptions, 'kubeletRoot' | 'driver'>): string {
  return join(kubeletRoot, 'plugins_registry', `${driver}-reg.sock`);
}

/**
 * The socket by which kubelet knows us. It calls whatever appears in its directory, and some of its
 * starts empty that directory: then the socket is made anew.
 */
export class Registration {
  readonly #options: RegistrationOptions;
  readonly #path: string;
  #server: { readonly running: RunningServer; readonly inode: string } | undefined;
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #turn: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: RegistrationOptions) {
    this.#options = options;
    this.#path = registrationSocket(options);
  }

  /** Called when the CSI socket answers: kubelet calls it at once. */
  async start(): Promise<void> {
    await this.#serve();
    this.#timer = setInterval(() => void this.look(), agentLimits.registrationLookMs);
    this.#timer.unref();
    this.#listen();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#watcher?.close();
    await this.#turn;
    await this.#server?.running.stop();
  }

  /** Is the socket still ours and still there? */
  look(): Promise<void> {
    this.#turn = this.#turn.then(() => this.#look());
    return this.#turn;
  }

  async #look(): Promise<void> {
    if (this.#isStopped) return;
    const inode = await inodeOf(this.#path);
    // Without a server of ours, after a look that failed, there is none to be still there.
    if (this.#server !== undefined && this.#server.inode === inode) return;
    const { log } = this.#options;
    try {
      const old = this.#server;
      // It is done with, however it ends.
      this.#server = undefined;
      await old?.running.stop(0);
      await this.#serve();
      this.#listen();
    } catch (error) {
      // Kubelet may be at its directory in this very moment: the next look finds what it left.
      const { syscall, message } = error as NodeJS.ErrnoException;
      if (!(error instanceof OperationError) && syscall === undefined) throw error;
      log({ level: 'warn', message: `kubelet cannot find us: ${message}` });
    }
  }

  async #serve(): Promise<void> {
    const { driver, endpoint, log, logCall } = this.#options;
    const told = (error: string) => this.#told(error);
    const services = [registrationService({ driver, endpoint, told })];
    const running = await startServer({ path: this.#path, services, log: logCall });
    this.#server = { running, inode: (await inodeOf(this.#path)) ?? '' };
    log({ level: 'info', message: `kubelet finds us at ${this.#path}` });
  }

  #told(error: string): void {
    const { log, refused, driver } = this.#options;
    if (error === '') {
      log({ level: 'info', message: `kubelet has registered ${driver}` });
      return;
    }
    const message = `kubelet did not register ${driver}: ${error}`;
    log({ level: 'error', message });
    // Its own call is answered first.
    setImmediate(() => refused(new OperationError('RegistrationRefused', message)));
  }

  /** Where the kernel tells nothing, time does. */
  #listen(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    try {
      this.#watcher = watch(dirname(this.#path), { persistent: false }, () => void this.look());
      this.#watcher.on('error', () => this.#watcher?.close());
    } catch {
      // Not there right now: the next look makes it.
    }
  }
}

async function inodeOf(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined);
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}
