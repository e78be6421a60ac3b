import type { Access } from './credentials.ts';
import { KubeError } from './errors.ts';
import type { Context, ExecPlugin } from './kubeconfig.ts';
import { execGroup } from './kubeconfig.ts';
import { kubeLimits } from './limits.ts';
import type { WallClock } from './ports.ts';

export type ProgramResult = {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
};

/** Starts a program with these variables on top of our own; rejects when it cannot be started. */
export type RunProgram = (program: {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}) => Promise<ProgramResult>;

type ExecAccess = Pick<Access, 'token' | 'certificate' | 'key'>;

/** Credentials that a program hands out, kept until they expire or the server refuses them. */
export class ExecCredentials {
  readonly #plugin: ExecPlugin;
  readonly #cluster: Pick<Context, 'server' | 'endpoint'>;
  readonly #ca: { read(): Promise<string> } | undefined;
  readonly #doors: { readonly wall: WallClock; readonly run?: RunProgram };
  #held: { readonly access: ExecAccess; readonly expiresAtMs: number } | undefined;
  #asking: Promise<ExecAccess> | undefined;

  constructor(
    plugin: ExecPlugin,
    cluster: Pick<Context, 'server' | 'endpoint'>,
    ca: { read(): Promise<string> } | undefined,
    doors: { readonly wall: WallClock; readonly run?: RunProgram },
  ) {
    this.#plugin = plugin;
    this.#cluster = cluster;
    this.#ca = ca;
    this.#doors = doors;
  }

  /** Whoever asks while the program runs gets its answer, too: it may ask a person. */
  async current(): Promise<ExecAccess> {
    if (this.#held !== undefined && this.#doors.wall() < this.#held.expiresAtMs) {
      return this.#held.access;
    }
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  refuse(): void {
    this.#held = undefined;
  }

  async #ask(): Promise<ExecAccess> {
    const { run } = this.#doors;
    const { command, args, env, installHint } = this.#plugin;
    if (run === undefined) throw wrong(`${command}: programs are not started here`);
    if (this.#plugin.isInteractive) throw wrong(`${command} wants a terminal, and there is none`);
    const info = { KUBERNETES_EXEC_INFO: JSON.stringify(await this.#info()) };
    const timeoutMs = kubeLimits.credentialsProgramMs;
    const program = { argv: [command, ...args], env: { ...env, ...info }, timeoutMs };
    const result = await run(program).catch((cause: unknown) => {
      const message = `${command} cannot be started: ${(cause as Error).message} ${installHint}`;
      throw new KubeError('NoCredentials', message.trim(), { cause });
    });
    if (result.exitCode !== 0) {
      throw wrong(`${command} ended with ${result.exitCode}: ${result.stderr.trim()}`);
    }
    this.#held = decodeCredential(command, this.#plugin.apiVersion, result.stdout);
    return this.#held.access;
  }

  async #info(): Promise<object> {
    const { apiVersion, providesClusterInfo } = this.#plugin;
    const { server, endpoint } = this.#cluster;
    const ca = await this.#ca?.read();
    const cluster = {
      server,
      ...(endpoint.serverName === undefined ? {} : { 'tls-server-name': endpoint.serverName }),
      'insecure-skip-tls-verify': endpoint.isInsecure,
      ...(ca === undefined
        ? {}
        : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    };
    const spec = { interactive: false, ...(providesClusterInfo ? { cluster } : {}) };
    return { apiVersion, kind: 'ExecCredential', spec };
  }
}

function decodeCredential(command: string, apiVersion: string, text: string) {
  let parsed: { apiVersion?: unknown; status?: Record<string, unknown> | null };
  try {
    parsed = JSON.parse(text) as typeof parsed;
  } catch (cause) {
    throw new KubeError('NoCredentials', `${command} gave no JSON`, { cause });
  }
  if (parsed?.apiVersion !== apiVersion) {
    throw wrong(`${command} speaks ${String(parsed?.apiVersion)}, the kubeconfig ${apiVersion}`);
  }
  const status = parsed.status ?? {};
  const access: ExecAccess = {
    ...pick('token', status['token']),
    ...pick('certificate', status['clientCertificateData']),
    ...pick('key', status['clientKeyData']),
  };
  if (access.token === undefined && access.certificate === undefined) {
    throw wrong(`${command} gave neither a token nor a certificate (${execGroup})`);
  }
  const expires = status['expirationTimestamp'];
  const atMs = typeof expires === 'string' ? Date.parse(expires) : Number.NaN;
  return { access, expiresAtMs: Number.isNaN(atMs) ? Number.POSITIVE_INFINITY : atMs };
}

function pick<K extends string>(key: K, value: unknown): { readonly [P in K]?: string } {
  if (typeof value !== 'string' || value === '') return {};
  return { [key]: value } as { readonly [P in K]?: string };
}

function wrong(message: string): KubeError {
  return new KubeError('NoCredentials', message);
}
