import type { ChildProcess } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { projectDirectory } from '../cache.ts';
import type { Namespace } from '../host/namespace.ts';
import { ended, spawnOwned } from '../host/owned.ts';
import type { DiskAnswerLine, DiskOrder, DiskOrderLine } from './control.ts';

export type ShelfPlace = {
  readonly namespace: Namespace;
  readonly directory: string;
  readonly logFile: string;
  readonly address: string;
};

export const iscsiPort = 3260;

type Waiting = { resolve(): void; reject(error: Error): void };

/** The lab's end of the disk server: gives orders and waits until they are carried out. */
export class DiskShelf {
  readonly nbdSocket: string;
  readonly #place: ShelfPlace;
  readonly #waiting = new Map<number, Waiting>();
  #child: ChildProcess | undefined;
  #lastId = 0;
  #rest = '';

  constructor(place: ShelfPlace) {
    this.#place = place;
    this.nbdSocket = join(place.directory, 'nbd.sock');
  }

  open(): void {
    const program = join(projectDirectory, 'lab/disk/server.ts');
    const { namespace, address, logFile } = this.#place;
    const argv = [process.execPath, program, this.nbdSocket, address, String(iscsiPort)];
    const child = spawnOwned(namespace.enter(argv), {
      stdio: ['pipe', 'pipe', openSync(logFile, 'a')],
    });
    this.#child = child;
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => this.#read(chunk));
    child.stdin?.on('error', () => {}); // its end is told by the exit
    child.once('exit', (code, signal) => {
      this.#failAll(new Error(`the disk server ended (${signal ?? code}), see ${logFile}`));
    });
  }

  async close(): Promise<void> {
    if (this.#child === undefined) return;
    this.#child.kill('SIGKILL');
    await ended(this.#child);
  }

  order(order: DiskOrder): Promise<void> {
    this.#lastId += 1;
    const line: DiskOrderLine = { id: this.#lastId, order };
    return new Promise((resolve, reject) => {
      this.#waiting.set(line.id, { resolve, reject });
      this.#child?.stdin?.write(`${JSON.stringify(line)}\n`);
    });
  }

  #read(chunk: string): void {
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const answer = JSON.parse(line) as DiskAnswerLine;
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (answer.error === undefined) waiting?.resolve();
      else waiting?.reject(new Error(answer.error));
    }
  }

  #failAll(error: Error): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}
