import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SocketClient } from '../../src/csi/client.ts';
import { IdentityDefinition } from '../../src/csi/generated/csi.ts';
import type { Checker, Ending } from './checker.ts';
import type { Call, Round } from './history.ts';
import type { Driver } from './play.ts';
import { type WireCall, wireCall } from './requests.ts';

const socket = '/run/topolvm/csi-topolvm.sock';
const tree = join(import.meta.dirname, '../..');
const patience = { timeoutMs: 300_000 };
const dead: Ending = { code: 'DEAD', message: 'the driver died' };

/** `quarry standalone` on this host with real LVM, called over its socket and killed at will. */
export class RealDriver implements Driver {
  readonly #checker: Checker;
  /** What users wrote into files, by the id of the volume. */
  readonly #written = new Map<string, string>();
  #client: SocketClient | undefined;
  #process: ChildProcess | undefined;
  #writes = 0;

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  async setUp(): Promise<void> {
    await this.#live();
  }

  async play({ calls, fate }: Round): Promise<void> {
    const abort = new AbortController();
    const wires = calls.map((call) => this.#wire(call));
    const all = wires.map((wire, index) => this.#call(calls[index], wire, abort.signal));
    const timer = setTimeout(
      () => (fate.kind === 'crash' ? this.#kill() : abort.abort()),
      fate.kind === 'crash' ? fate.nth * 120 : fate.kind === 'cancel' ? fate.afterMs : 2 ** 30,
    );
    const endings = await Promise.all(all);
    clearTimeout(timer);
    if (fate.kind === 'crash') {
      this.#kill();
      await this.#live();
    }
    for (const [index, ending] of endings.entries()) {
      const call = calls[index];
      if (call !== undefined) this.#checker.check(call, ending, wires[index]);
      if (call?.op === 'publish' && ending.code === 'OK') this.#checkFile(call.name, call.path);
    }
  }

  async call(call: Call, wire = this.#wire(call)): Promise<Ending> {
    const ending = await this.#call(call, wire, new AbortController().signal);
    this.#checker.check(call, ending, wire);
    return ending;
  }

  async leftovers(): Promise<readonly string[]> {
    const names = execFileSync('lvm', ['lvs', '--noheadings', '--options', 'lv_name', 'data'], {
      encoding: 'utf8',
    });
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8');
    return [
      ...names.split(/\s+/).filter((name) => name !== '' && name !== 'pool'),
      ...(mounts.match(/\/pods\/\S+/g) ?? []),
    ];
  }

  stop(): void {
    this.#kill();
  }

  #wire(call: Call): WireCall | undefined {
    return call.op === 'write' ? undefined : wireCall(call, this.#checker);
  }

  async #call(
    call: Call | undefined,
    wire: WireCall | undefined,
    signal: AbortSignal,
  ): Promise<Ending> {
    if (wire === undefined) return this.#write(call?.op === 'write' ? call.name : '');
    const { definition, method, request, read } = wire;
    if (this.#client === undefined) return dead;
    const limits = { ...patience, signal };
    const result = await this.#client.call(definition, method, request as never, limits);
    if (result.kind === 'response') {
      return { code: 'OK', message: '', ...read(result.response as never) };
    }
    // The socket went away with the process: what became of the call nobody knows.
    const isDead = this.#process === undefined && result.code === 'UNAVAILABLE';
    return isDead ? dead : { code: result.code, message: result.message };
  }

  /** A user writes a file where the volume is mounted, and makes sure that it is on the disk. */
  #write(name: string): Ending {
    const one = this.#checker.all('volume').find((each) => each.name === name);
    const path = [...(one?.shown ?? [])].find(([, state]) => state === 'yes')?.[0];
    const done = { code: 'OK', message: '' };
    if (one?.id === undefined || path === undefined || !isDirectoryMount(path)) return done;
    this.#writes += 1;
    const text = `${one.id} ${this.#writes}`;
    try {
      const file = openSync(join(path, 'mine'), 'w');
      writeSync(file, text);
      fsyncSync(file);
      closeSync(file);
      this.#written.set(one.id, text);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EROFS') throw error;
    }
    return done;
  }

  #checkFile(name: string, path: string): void {
    const one = this.#checker.all('volume').find((each) => each.name === name);
    const text = one?.id === undefined ? undefined : this.#written.get(one.id);
    if (text === undefined || !isDirectoryMount(path)) return;
    const file = join(path, 'mine');
    const found = existsSync(file) ? readFileSync(file, 'utf8') : 'nothing';
    if (found !== text) this.#checker.say(`${name} holds "${found}", not "${text}"`);
  }

  #kill(): void {
    const child = this.#process;
    this.#process = undefined;
    child?.kill('SIGKILL');
  }

  async #live(): Promise<void> {
    this.#client?.close();
    rmSync('/tmp/driver.log', { force: true });
    const log = openSync('/tmp/driver.log', 'a');
    const args = [join(tree, 'build/quarry.cjs'), 'standalone', '--node-id', 'n1'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', log, log] });
    closeSync(log);
    this.#process = child;
    this.#client = new SocketClient(socket);
    for (let tries = 0; tries < 600; tries += 1) {
      const { kind } = await this.#client.call(
        IdentityDefinition,
        'probe',
        {},
        { timeoutMs: 1_000 },
      );
      if (kind === 'response') return;
      if (child.exitCode !== null) break;
      await sleep(100);
    }
    throw new Error(`the driver did not start: ${readFileSync('/tmp/driver.log', 'utf8')}`);
  }
}

function isDirectoryMount(path: string): boolean {
  const line = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .find((each) => each.split(' ')[4] === path);
  return line !== undefined && !line.includes(' - devtmpfs ');
}
