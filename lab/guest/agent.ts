/**
 * Runs commands inside a guest for the host, over a serial line. The lab strips the types and puts
 * the result where the guest can read it, so this file imports types only from the project.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createReadStream, openSync, readFileSync, write } from 'node:fs';
import { release } from 'node:os';
import type { Readable } from 'node:stream';
import type { GuestMessage, HostMessage } from '../protocol.ts';

const graceAfterExitMs = 150;
const unsentBytesMax = 1024 * 1024;
// Well below what the host sends before it waits to be told.
const tellEveryBytes = 1024;

const channelPath = process.argv[2] ?? '/dev/ttyS0';
const channel = openSync(channelPath, 'r+');
const running = new Map<number, ChildProcess>();

// One write at a time keeps lines whole; the queue holds what the line is too slow for.
const unsent: Buffer[] = [];
let unsentBytes = 0;
let writing = false;
const paused = new Set<Readable>();

function send(message: GuestMessage): void {
  const line = Buffer.from(`${JSON.stringify(message)}\n`);
  unsent.push(line);
  unsentBytes += line.length;
  writeNext();
}

function writeNext(): void {
  const next = unsent[0];
  if (writing || next === undefined) return;
  writing = true;
  write(channel, next, (error, written) => {
    writing = false;
    if (error !== null && error.code !== 'EAGAIN') throw error;
    const done = error === null ? written : 0;
    unsentBytes -= done;
    if (done === next.length) unsent.shift();
    else unsent[0] = next.subarray(done);
    if (unsentBytes < unsentBytesMax) {
      for (const stream of paused) stream.resume();
      paused.clear();
    }
    if (done > 0) writeNext();
    else setTimeout(writeNext, 5);
  });
}

function forward(id: number, name: 'stdout' | 'stderr', stream: Readable): void {
  stream.on('data', (chunk: Buffer) => {
    send({ op: 'output', id, stream: name, base64: chunk.toString('base64') });
    if (unsentBytes < unsentBytesMax) return;
    stream.pause();
    paused.add(stream);
  });
}

function run(message: Extract<HostMessage, { op: 'run' }>): void {
  const { id } = message;
  const [program = '', ...args] = message.argv;
  const child = spawn(program, args, {
    cwd: message.cwd,
    env: { ...process.env, ...message.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true, // a process group of its own, so that a kill reaches its children too
  });
  running.set(id, child);
  child.stdin.on('error', () => {}); // a program may end without reading its input
  forward(id, 'stdout', child.stdout);
  forward(id, 'stderr', child.stderr);
  child.on('error', (error) => {
    if (!running.delete(id)) return;
    send({ op: 'refused', id, message: error.message });
  });
  child.on('exit', (exitCode, signal) => {
    const finish = (): void => {
      if (!running.delete(id)) return;
      send({ op: 'exit', id, exitCode, signal });
      child.stdout.destroy();
      child.stderr.destroy();
    };
    child.once('close', finish);
    // A daemon left behind may hold the streams open for ever; the command itself is over. While
    // the line is busy there can be more to come, so only a quiet moment counts as the end.
    const finishWhenQuiet = (): void => {
      if (paused.size === 0 && unsentBytes === 0) finish();
      else setTimeout(finishWhenQuiet, graceAfterExitMs);
    };
    setTimeout(finishWhenQuiet, graceAfterExitMs);
  });
}

function kill(id: number, signal: string): void {
  const pid = running.get(id)?.pid;
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // It ended in the meantime; its exit is on the way to the host.
  }
}

function handle(message: HostMessage): void {
  switch (message.op) {
    case 'run':
      run(message);
      break;
    case 'stdin':
      running.get(message.id)?.stdin?.write(Buffer.from(message.base64, 'base64'));
      break;
    case 'stdin-end':
      running.get(message.id)?.stdin?.end();
      break;
    case 'kill':
      kill(message.id, message.signal);
      break;
  }
}

let rest = '';
let heardBytes = 0;
let toldBytes = 0;
const input = createReadStream('', { fd: channel, autoClose: false, encoding: 'utf8' });
input.on('data', (chunk) => {
  heardBytes += Buffer.byteLength(chunk);
  if (heardBytes - toldBytes >= tellEveryBytes) {
    toldBytes = heardBytes;
    send({ op: 'heard', totalBytes: heardBytes });
  }
  const lines = `${rest}${String(chunk)}`.split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) if (line !== '') handle(JSON.parse(line) as HostMessage);
});

const uptimeSeconds = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]);
send({ op: 'hello', release: release(), uptimeSeconds });
