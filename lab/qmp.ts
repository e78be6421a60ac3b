import type { Duplex } from 'node:stream';

type Waiting = { resolve(): void; reject(error: Error): void };

type QmpMessage = {
  readonly id?: number;
  readonly return?: unknown;
  readonly error?: { readonly desc: string };
  readonly event?: string;
  readonly data?: { readonly device?: string };
};

const eventTimeoutMs = 30_000;

/** QEMU's control line: commands in, answers and events out. */
export class Qmp {
  readonly #stream: Duplex;
  readonly #waiting = new Map<number, Waiting>();
  readonly #deletions = new Map<string, () => void>();
  #lastId = 0;
  #rest = '';

  constructor(stream: Duplex) {
    this.#stream = stream;
  }

  /** Must be the first; QEMU takes no other command before. */
  async open(): Promise<void> {
    this.#stream.setEncoding('utf8');
    this.#stream.on('data', (chunk: string) => this.#read(chunk));
    this.#stream.on('error', () => {}); // the end of QEMU is told elsewhere
    this.#stream.once('close', () => this.#failAll());
    await this.execute('qmp_capabilities', '{}');
  }

  /** `argumentsJson` is text because world wide names do not fit into a JavaScript number. */
  execute(command: string, argumentsJson: string): Promise<void> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const name = JSON.stringify(command);
      this.#stream.write(`{"execute":${name},"id":${id},"arguments":${argumentsJson}}\n`);
    });
  }

  /** Removes a device and waits until QEMU has let go of it. */
  async deleteDevice(device: string): Promise<void> {
    const gone = new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`QEMU did not remove ${device} in ${eventTimeoutMs} ms`));
      }, eventTimeoutMs);
      this.#deletions.set(device, () => {
        clearTimeout(timer);
        resolve();
      });
    });
    await Promise.all([this.execute('device_del', JSON.stringify({ id: device })), gone]);
  }

  #read(chunk: string): void {
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') this.#handle(JSON.parse(line) as QmpMessage);
  }

  #handle(message: QmpMessage): void {
    if (message.event === 'DEVICE_DELETED' && message.data?.device !== undefined) {
      this.#deletions.get(message.data.device)?.();
      this.#deletions.delete(message.data.device);
      return;
    }
    const waiting = this.#waiting.get(message.id ?? 0);
    if (waiting === undefined) return;
    this.#waiting.delete(message.id ?? 0);
    if (message.error === undefined) waiting.resolve();
    else waiting.reject(new Error(`QEMU: ${message.error.desc}`));
  }

  #failAll(): void {
    for (const waiting of this.#waiting.values()) waiting.reject(new Error('QEMU ended'));
    this.#waiting.clear();
  }
}
