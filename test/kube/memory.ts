import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from 'esbuild';
import { FakeServer } from './fake-server.ts';
import { samples } from './kinds.ts';
import { kubeconfigFor } from './scene.ts';

/**
 * What a process takes that keeps 5,000 objects of 1.2 KB and then hears of 20,000 changes.
 *
 *   node test/kube/memory.ts
 */
const counts = { objects: 5_000, changes: 20_000 } as const;

const directory = mkdtempSync(join(tmpdir(), 'quarry-kube-memory-'));
const server = new FakeServer();
let child: ChildProcess | undefined;
try {
  const { port } = await server.start();
  for (let index = 0; index < counts.objects; index += 1) server.api.put(samples, volume(index, 0));
  const bundle = join(directory, 'informer.cjs');
  await build({
    ...{ entryPoints: [join(import.meta.dirname, 'informer.ts')], outfile: bundle },
    ...{ bundle: true, platform: 'node', format: 'cjs', target: 'node22', logLevel: 'error' },
    ...{ minifyWhitespace: true, minifySyntax: true },
    banner: { js: "require('node:v8').setFlagsFromString('--optimize-for-size');" },
  });
  child = spawn(process.execPath, [bundle, kubeconfigFor(server, port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await said(child, `synced ${counts.objects}`);
  await sleep(5_000);
  console.log(`${counts.objects} objects: ${memoryOf(child)}`);
  const cpuMs = cpuMsOf(child);
  for (let index = 0; index < counts.changes; index += 1) {
    server.api.put(samples, volume(index % counts.objects, index));
    if (index % 50 === 0) await sleep(1);
  }
  await said(child, `changes ${counts.objects + counts.changes} of`);
  const perChange = ((cpuMsOf(child) - cpuMs) * 1000) / counts.changes;
  await sleep(5_000);
  console.log(
    `after ${counts.changes} changes: ${memoryOf(child)}, ${perChange.toFixed(0)} us each`,
  );
} finally {
  child?.kill('SIGKILL');
  await server.stop();
  rmSync(directory, { recursive: true });
}

function volume(index: number, round: number) {
  const name = `pvc-${String(index).padStart(8, '0')}-5c1e-4f6a-9a51-7f3f1f0f2f11`;
  return {
    metadata: { name, namespace: 'ns', annotations: { 'quarry.test/note': 'x'.repeat(300) } },
    spec: { nodeName: `node-${index % 50}`, text: `round ${round}`, unread: 'y'.repeat(500) },
    status: { phase: 'Ready', volumeID: name, unread: 'z'.repeat(100) },
  };
}

async function said(process: ChildProcess, words: string): Promise<void> {
  await new Promise<void>((resolve) => {
    const listen = (chunk: Buffer) => {
      if (!chunk.toString().includes(words)) return;
      process.stdout?.off('data', listen);
      resolve();
    };
    process.stdout?.on('data', listen);
  });
}

function memoryOf({ pid }: ChildProcess): string {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mib = (key: string) =>
    (Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024).toFixed(1);
  return `VmRSS ${mib('VmRSS')} MiB, RssAnon ${mib('RssAnon')} MiB, at most ${mib('VmHWM')} MiB`;
}

function cpuMsOf({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
