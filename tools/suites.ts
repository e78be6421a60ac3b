import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';

/**
 * Runs test suites and ends with one line over all of them: `N passed, N failed, N skipped`.
 * Each suite is a process of its own, quiet on success.
 *
 *   node tools/suites.ts unit flow host
 */
type Suite = {
  readonly files: readonly string[];
  readonly timeoutMs: number;
  /** Files side by side, each in a process of its own: a guest uses one core only. */
  readonly isParallel?: true;
  /** So long that whoever waits hears of each test. */
  readonly isTold?: true;
  /** What it needs beside Node, for the person who reads why it takes a while. */
  readonly about: string;
};

const minute = 60_000;

const suites: Readonly<Record<string, Suite>> = {
  unit: {
    files: [
      ...['src/**/*.test.ts', 'tools/**/*.test.ts', 'test/docs/**/*.test.ts'],
      ...['test/deploy/*.test.ts', 'test/e2e/audit/*.test.ts'],
      ...['lab/disk/**/*.test.ts', 'lab/setup/**/*.test.ts', 'lab/sanity/**/*.test.ts'],
      ...['lab/demo/*.test.ts'],
    ],
    timeoutMs: minute,
    about: 'pure code, docs, tidy',
  },
  image: {
    files: ['test/deploy/image/*.test.ts'],
    timeoutMs: 5 * minute,
    about: 'the images: packages from Debian and npm',
  },
  world: { files: ['test/world/**/*.test.ts'], timeoutMs: minute, about: 'the fake host itself' },
  flow: {
    files: ['test/flows/**/*.test.ts', 'test/cluster/*.test.ts'],
    timeoutMs: 2 * minute,
    about: 'stories in a fake world',
  },
  sim: { files: ['test/sim/**/*.test.ts'], timeoutMs: 10 * minute, about: 'random faults by seed' },
  kube: {
    files: ['test/kube/*.test.ts'],
    timeoutMs: 2 * minute,
    about: 'the door to the cluster, against a fake API server',
  },
  histories: {
    files: ['test/histories/*.test.ts'],
    timeoutMs: 10 * minute,
    about: 'random calls of the driver',
  },
  'real-histories': {
    files: ['test/real-histories/*.test.ts'],
    timeoutMs: 60 * minute,
    about: 'random calls of the driver on real LVM',
  },
  memory: {
    files: ['test/memory/*.test.ts'],
    timeoutMs: 10 * minute,
    about: 'what the bundle takes',
  },
  lab: { files: ['lab/*.test.ts'], timeoutMs: 10 * minute, about: 'the guests themselves' },
  host: {
    files: ['test/host/*.test.ts'],
    timeoutMs: 40 * minute,
    isParallel: true,
    about: 'real LVM in guests',
  },
  calls: {
    files: ['test/calls/*.test.ts'],
    timeoutMs: 90 * minute,
    isParallel: true,
    isTold: true,
    about: 'every call of the driver killed, cut off and repeated in guests',
  },
  sanity: {
    files: ['test/conformance/*.test.ts'],
    timeoutMs: 40 * minute,
    about: 'csi-sanity in a guest',
  },
  power: {
    files: ['test/power/*.test.ts'],
    timeoutMs: 40 * minute,
    about: 'power cuts in guests',
  },
  e2e: {
    files: ['test/e2e/*.test.ts'],
    timeoutMs: 150 * minute,
    isTold: true,
    about: 'claims on a real Kubernetes, installed by our own manifests',
  },
  smoke: {
    files: ['test/e2e/lvm-cluster.test.ts'],
    timeoutMs: 30 * minute,
    isTold: true,
    about: 'bare disks, an LVMCluster and pods on a real Kubernetes',
  },
  cluster: {
    files: ['lab/cluster/**/*.test.ts', 'test/kube/real/*.test.ts'],
    timeoutMs: 10 * minute,
    about: 'a real Kubernetes',
  },
};

type Counts = { readonly passed: number; readonly failed: number; readonly skipped: number };

const root = join(import.meta.dirname, '..');

async function runOne(name: string): Promise<Counts> {
  const suite = suites[name];
  if (suite === undefined) throw new Error(`no suite ${name}: ${Object.keys(suites).join(', ')}`);
  const files = globSync([...suite.files], { cwd: root }).toSorted();
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const stream = run({
    files: files.map((file) => join(root, file)),
    isolation: suite.isParallel ? 'process' : 'none',
    concurrency: suite.isParallel ? availableParallelism() : false,
    timeout: suite.timeoutMs,
  });
  for await (const event of stream) {
    if (event.type === 'test:diagnostic' && !isSummary(event.data.message)) {
      console.log(`    ${event.data.message}`);
    }
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    if (event.data.details.type === 'suite') continue;
    if (event.data.skip !== undefined) {
      counts.skipped += 1;
      console.log(`  skipped: ${event.data.name}: ${event.data.skip}`);
    } else if (event.type === 'test:pass') {
      counts.passed += 1;
      if (suite.isTold)
        console.log(`  ${seconds(event.data.details.duration_ms)} ${event.data.name}`);
    } else {
      counts.failed += 1;
      console.log(`  FAILED: ${event.data.name} (${event.data.file}:${event.data.line})`);
      console.log(indent(describe(event.data.details.error)));
    }
  }
  return counts;
}

function seconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}

/** What node:test says at its end is counted here already. */
function isSummary(message: string): boolean {
  return /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [0-9.]+$/.test(message);
}

function describe(error: Error): string {
  const cause = error.cause instanceof Error ? error.cause : error;
  return cause.stack ?? cause.message;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '    ');
}

/** Every suite in a process of its own: what one leaves behind cannot reach the next. */
function runAll(names: readonly string[]): Counts {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const name of names) {
    const startedAtMs = performance.now();
    const child = spawnSync(process.execPath, [import.meta.filename, '--one', name], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
      encoding: 'utf8',
    });
    const counts = readCounts(child.output[3]);
    const took = seconds(performance.now() - startedAtMs);
    const { passed, failed, skipped } = counts;
    const line = `${passed} passed, ${failed} failed, ${skipped} skipped in ${took}`;
    console.log(`${name.padEnd(8)} ${line} (${suites[name]?.about ?? ''})`);
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
  }
  return total;
}

/** A suite that dies without telling its counts has failed. */
function readCounts(text: string | null | undefined): Counts {
  try {
    return JSON.parse(text ?? '') as Counts;
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

if (import.meta.main) {
  const [first, ...rest] = process.argv.slice(2);
  if (first === '--one') {
    const counts = await runOne(rest[0] ?? '');
    const { writeSync } = await import('node:fs');
    writeSync(3, JSON.stringify(counts));
    process.exit(counts.failed === 0 ? 0 : 1);
  }
  const names = [first, ...rest].filter((name) => name !== undefined);
  const { passed, failed, skipped } = runAll(names);
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}
