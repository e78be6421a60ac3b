import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../cache.ts';
import { runCommand } from '../host/command.ts';
import { ensureEntry, type Progress } from '../setup/entry.ts';

export type KubeBuild = { readonly path: string; readonly version: string };

const moduleDirectory = join(projectDirectory, 'lab/kube');
const moduleFiles = ['go.mod', 'go.sum', 'main.go'] as const;
const versionPackages = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'] as const;
const tellEveryMs = 30_000;

/**
 * The flags decide the result together with the sources and the Go version, so they are part of
 * the key. Two compilers at once, because each takes 2 to 3 GB at its peak.
 */
const buildFlags = ['-mod=readonly', '-trimpath', '-buildvcs=false', '-p', '2'] as const;
const buildEnvironment = { CGO_ENABLED: '0' } as const;

/** One program with the sub-commands apiserver, controller-manager, scheduler and kubelet. */
export async function ensureKube(progress: Progress): Promise<KubeBuild> {
  const go = await goIdentity();
  const files: Record<string, string> = {};
  for (const name of moduleFiles) {
    const bytes = await readFile(join(moduleDirectory, name));
    files[name] = createHash('sha256').update(bytes).digest('hex');
  }
  const entry = await ensureEntry(
    {
      name: 'kube',
      inputs: { go, files, flags: [buildFlags, linkerFlags('v1.0.0')], buildEnvironment },
      announce: 'building Kubernetes from source: about 5 minutes the first time, then seconds',
      build: (directory) => withClock(progress, () => build(join(directory, 'kube'))),
    },
    progress,
  );
  const version = entry.manifest.versions['kubernetes'];
  if (version === undefined) throw new Error(`${entry.path} does not say its version`);
  return { path: join(entry.path, 'kube'), version };
}

async function goIdentity(): Promise<readonly string[]> {
  try {
    // Asked for in the module's directory, because go.mod may choose another toolchain.
    const said = await runCommand(['go', 'env', 'GOVERSION', 'GOOS', 'GOARCH'], {
      cwd: moduleDirectory,
    });
    return said.trim().split('\n');
  } catch (cause) {
    if (!isMissing(cause)) throw cause;
    const message =
      'the lab builds Kubernetes and needs Go (1.26 or newer) for it, but there is no `go` on ' +
      'PATH; install it, or set KUBEBUILDER_ASSETS to a directory with ready-made programs';
    throw new Error(message, { cause });
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

async function build(out: string): Promise<Readonly<Record<string, string>>> {
  const list = ['go', 'list', '-m', '-f', '{{.Version}}', 'k8s.io/kubernetes'];
  const version = (await runCommand(list, { cwd: moduleDirectory })).trim();
  await runCommand(
    [
      ...['nice', '-n', '5', 'go', 'build', ...buildFlags],
      ...['-ldflags', linkerFlags(version)],
      ...['-o', out, '.'],
    ],
    { cwd: moduleDirectory, env: buildEnvironment },
  );
  const told = (await runCommand([out, 'version'])).trim();
  if (told !== version) throw new Error(`built Kubernetes ${version}, but it says ${told}`);
  return { kubernetes: version };
}

/** The sources do not know their version; the linker writes it where servers and clients look. */
function linkerFlags(version: string): string {
  const minor = /^v1\.(\d+)\.\d+$/.exec(version)?.[1];
  if (minor === undefined) throw new Error(`${version} is not a released version of Kubernetes`);
  const stamps = versionPackages.flatMap((name) => [
    `-X ${name}.gitVersion=${version}`,
    `-X ${name}.gitMajor=1`,
    `-X ${name}.gitMinor=${minor}`,
  ]);
  return ['-s -w', ...stamps].join(' ');
}

async function withClock<T>(progress: Progress, work: () => Promise<T>): Promise<T> {
  const startedMs = Date.now();
  const clock = setInterval(() => {
    const seconds = Math.round((Date.now() - startedMs) / 1000);
    progress(`still building Kubernetes, ${seconds} s so far`);
  }, tellEveryMs);
  try {
    return await work();
  } finally {
    clearInterval(clock);
  }
}
