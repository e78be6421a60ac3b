import type { Access, Connection } from './credentials.ts';
import { ExecCredentials, type RunProgram } from './exec-credentials.ts';
import { FileText } from './file-text.ts';
import type { Context, Text } from './kubeconfig.ts';
import type { Clock, WallClock } from './ports.ts';

export type KubeconfigDoors = {
  readonly clock: Clock;
  readonly wall: WallClock;
  /** Starts a program of the user's; `exec` does not work without. */
  readonly run?: RunProgram;
};

/** A person's way in. Files are read again, so a login beside us is noticed. */
export function fromKubeconfig(context: Context, doors: KubeconfigDoors): Connection {
  const sources = {
    token: sourceOf(context.token, doors.clock),
    ca: sourceOf(context.ca, doors.clock),
    certificate: sourceOf(context.certificate, doors.clock),
    key: sourceOf(context.key, doors.clock),
  };
  const exec = context.exec && new ExecCredentials(context.exec, context, sources.ca, doors);
  const current = async (): Promise<Access> => {
    const own = {
      token: (await sources.token?.read())?.trim(),
      ca: await sources.ca?.read(),
      certificate: await sources.certificate?.read(),
      key: await sources.key?.read(),
    };
    return exec === undefined ? own : { ...own, ...(await exec.current()) };
  };
  const refuse = () => {
    for (const source of Object.values(sources)) source?.forget();
    exec?.refuse();
  };
  return { endpoint: context.endpoint, credentials: { current, refuse } };
}

export type TextSource = { read(): Promise<string>; forget(): void };

function sourceOf(text: Text | undefined, clock: Clock): TextSource | undefined {
  if (text === undefined) return undefined;
  if (text.kind === 'file') return new FileText(text.path, clock);
  return { read: async () => text.text, forget: () => undefined };
}
