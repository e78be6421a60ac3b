import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCommand } from '../../src/host/run.ts';

/** In a guest: a change behind a real nsenter, which is then killed under it. */
const prefix = ['nsenter', '--target', '1', '--mount', '--pid', '--'];
const options = { prefix, path: '/usr/sbin:/usr/bin:/sbin:/bin' };
const file = '/run/behind-nsenter';
const script = `sleep 1.5; echo done > ${file}`;
const change = { argv: ['sh', '-c', script], effect: 'changes', timeoutMs: 60_000 } as const;

const running = startCommand(change, options);
await sleep(300);
const killed = killNsenter();
const ended = await Promise.race([
  running.gone.then(() => 'gone'),
  sleep(400).then(() => 'still there'),
]);
await running.gone;
console.log(JSON.stringify({ killed, ended, hasEffect: existsSync(file) }));

/** The nsenter that waits for its child: entering a PID namespace takes a fork. */
function killNsenter(): number {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8');
  const pids = children.trim().split(' ').map(Number);
  const found = pids.filter(
    (pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'nsenter',
  );
  for (const pid of found) process.kill(pid, 'SIGKILL');
  return found.length;
}
