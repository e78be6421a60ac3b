import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { SocketClient } from '../../src/csi/client.ts';
import { ControllerDefinition, NodeDefinition } from '../../src/csi/generated/csi.ts';
import { LVServiceDefinition, VGServiceDefinition } from '../../src/csi/generated/lvmd.ts';
import { type Answer, type Ask, type Fate, fromLine, type Steps, toLine } from './protocol.ts';

/**
 * Runs inside a guest: starts `quarry standalone`, calls its sockets for a test outside, and lets
 * every program that the driver changes something with go through a script that can kill.
 */
const directory = '/run/rpc';
const bin = join(directory, 'bin');
const programs = [
  ...['lvm', 'dmsetup', 'dd', 'blkdiscard', 'mount', 'umount', 'wipefs'],
  ...['mkfs.ext4', 'mkfs.xfs', 'resize2fs', 'xfs_growfs'],
];

/** Only a changing program bears the mark of the life that started it. $PPID is the driver. */
const script = `#!/bin/sh
PATH=\${PATH#*:}
program=\${0##*/}
[ -n "$QUARRY_LIFE" ] || exec "$program" "$@"
echo "$program $*" >>${directory}/steps
nth=$(wc -l <${directory}/steps)
read -r when wanted delay <${directory}/fate
[ "$wanted" = "$nth" ] || when=never
case $when in
before) kill -9 $PPID; exit 1 ;;
during) "$program" "$@" & sleep "$delay"; kill -9 $PPID; wait ;;
torn|program)
  "$program" "$@" & child=$!
  sleep "$delay"
  [ $when = program ] || kill -9 $PPID
  kill -9 $child
  wait $child
  code=$?
  [ $code != 137 ] || echo >${directory}/torn
  exit $code ;;
after) "$program" "$@"; kill -9 $PPID ;;
*)
  read -r from rest </proc/uptime
  "$program" "$@"
  code=$?
  read -r to rest </proc/uptime
  echo "$nth $from $to" >>${directory}/times
  exit $code ;;
esac
`;

const definitions = {
  controller: ControllerDefinition,
  node: NodeDefinition,
  lv: LVServiceDefinition,
  vg: VGServiceDefinition,
} as const;

/** Enough to tell what a call did that failed. */
const logLength = 6_000;

let driver: ChildProcess | undefined;
let log = '';
let clients: { readonly csi: SocketClient; readonly lvmd: SocketClient } | undefined;

mkdirSync(bin, { recursive: true });
writeFileSync(join(directory, 'step'), script);
chmodSync(join(directory, 'step'), 0o755);
for (const program of programs) {
  rmSync(join(bin, program), { force: true });
  symlinkSync('../step', join(bin, program));
}
arm({ when: 'never' });

for await (const line of createInterface({ input: process.stdin })) {
  const { id, ask } = fromLine(line) as { id: number; ask: Ask };
  void answerTo(ask).then(
    (value) => process.stdout.write(`${toLine({ id, value })}\n`),
    (error: Error) => process.stdout.write(`${toLine({ id, error: error.message })}\n`),
  );
}
driver?.kill('SIGKILL');
process.exit(0);

async function answerTo(ask: Ask): Promise<unknown> {
  switch (ask.op) {
    case 'serve':
      return serve();
    case 'call':
      return call(ask);
    case 'arm':
      return arm(ask.fate);
    case 'steps':
      return steps();
    case 'log':
      return log;
    case 'mourn':
      return driver?.exitCode === null && driver.signalCode === null
        ? once(driver, 'exit').then(() => undefined)
        : undefined;
  }
}

async function serve(): Promise<void> {
  clients?.csi.close();
  clients?.lvmd.close();
  log = '';
  const tree = join(import.meta.dirname, '../..');
  const args = [join(tree, 'build/quarry.cjs'), 'standalone', '--node-id', 'n1'];
  const env = { PATH: `${bin}:/usr/sbin:/usr/bin:/sbin:/bin` };
  const child = spawn(process.execPath, [...args, '--metrics-address', '0'], { env });
  driver = child;
  await new Promise<void>((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      log = (log + String(chunk)).slice(-logLength);
      if (log.includes('serving lvmd on')) resolve();
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.on('exit', () => reject(new Error(`the driver did not start: ${log}`)));
  });
  const sockets = '/run/topolvm';
  clients = {
    csi: new SocketClient(`${sockets}/csi-topolvm.sock`),
    lvmd: new SocketClient(`${sockets}/lvmd.sock`),
  };
}

async function call({ wire, cancelAfterMs }: Extract<Ask, { op: 'call' }>): Promise<Answer> {
  if (clients === undefined) throw new Error('the driver was not started');
  const { service, method, request } = wire;
  const client = service === 'controller' || service === 'node' ? clients.csi : clients.lvmd;
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), cancelAfterMs ?? 2 ** 30);
  const patience = { timeoutMs: 120_000, signal: abort.signal };
  const ended = await client.call(
    definitions[service],
    method as never,
    request as never,
    patience,
  );
  clearTimeout(timer);
  if (ended.kind === 'response') return { code: 'OK', message: '', response: ended.response };
  return { code: ended.code, message: ended.message };
}

function arm(fate: Fate): void {
  for (const name of ['steps', 'times', 'torn']) rmSync(join(directory, name), { force: true });
  const [nth, delayMs] = fate.when === 'never' ? [0, 0] : [fate.nth, fate.delayMs];
  writeFileSync(join(directory, 'fate'), `${fate.when} ${nth} ${(delayMs / 1000).toFixed(3)}\n`);
}

function steps(): Steps {
  const times = linesOf('times').map((line) => line.split(' ').map(Number));
  const runs = linesOf('steps').map((argv, index) => {
    const [, from = 0, to = 0] = times.find(([nth]) => nth === index + 1) ?? [];
    return { argv, ms: Math.round((to - from) * 1000) };
  });
  return { runs, wasTorn: linesOf('torn', true).length > 0 };
}

function linesOf(name: string, keepsEmpty = false): readonly string[] {
  try {
    const lines = readFileSync(join(directory, name), 'utf8').split('\n').slice(0, -1);
    return keepsEmpty ? lines : lines.filter((line) => line !== '');
  } catch {
    return [];
  }
}
