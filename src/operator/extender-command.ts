import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { load } from 'js-yaml';
import { OperationError } from '../base/failures.ts';
import { show } from '../base/show.ts';
import { parseAddress } from '../process/diagnostics.ts';
import { type Environment, exitCodes, type Run, runRole } from '../process/role.ts';
import { Extender } from './extender.ts';

export const extenderUsage = `quarry extender: TopoLVM's scheduler extender

  --config FILE   TopoLVM's file: listen, default-divisor, divisors (default: none)
  --listen ADDR   where kube-scheduler asks (default: that of the file, or localhost:9251)
  --version       the version, and nothing else
`;

type ExtenderEnvironment = Environment & { readonly variables: { readonly useLegacy: string } };

/** Answers until it is told to stop. It speaks to nobody: no API server, no disks. */
export function runExtender(
  argv: readonly string[],
  environment: ExtenderEnvironment,
): Promise<number> {
  const read = () => extenderArguments(argv);
  return runRole({ role: 'extender', usage: extenderUsage, read, serve }, environment);
}

export function extenderArguments(argv: readonly string[]) {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      config: { type: 'string', default: '' },
      listen: { type: 'string', default: '' },
      version: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  return { ...values, ignored: [] };
}

async function serve(
  values: ReturnType<typeof extenderArguments>,
  { variables }: ExtenderEnvironment,
  { log, toldToStop }: Run,
): Promise<number> {
  const { listen, ...divisors } = await readOptions(values.config);
  const where = values.listen || listen || 'localhost:9251';
  const address = parseAddress(where);
  if (address === undefined || address === 'off') {
    throw invalid(`--listen is ${show(where)}: write an address and a port, as localhost:9251`);
  }
  const domain = variables.useLegacy === '' ? 'topolvm.io' : 'topolvm.cybozu.com';
  const extender = new Extender({ names: { domain, driver: domain }, divisors });
  const port = await extender.start(address).catch((error: unknown) => {
    const message = `nothing can be served on ${where}: ${(error as Error).message}`;
    throw new OperationError('SocketInUse', message, { cause: error });
  });
  log({ level: 'info', message: `kube-scheduler is answered on port ${port}`, port });
  await toldToStop;
  await extender.stop();
  return exitCodes.stopped;
}

/** TopoLVM's file for its own extender; other keys are passed over, as it did. */
export async function readOptions(path: string) {
  const given = path === '' ? {} : await parsed(path);
  const classes = new Map<string, number>();
  for (const [name, value] of Object.entries(recordIn(given['divisors'], path))) {
    classes.set(name, divisorIn(value, `divisors.${name}`));
  }
  const common = given['default-divisor'] ?? 1;
  const { listen = '' } = given;
  if (typeof listen !== 'string') throw invalid(`listen of ${path} is ${show(listen)}`);
  return { listen, default: divisorIn(common, 'default-divisor'), classes };
}

async function parsed(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return recordIn(load(await readFile(path, 'utf8'), { filename: path }), path);
  } catch (error) {
    if (error instanceof OperationError) throw error;
    throw invalid(`${path} cannot be read: ${(error as Error).message}`, error);
  }
}

function recordIn(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalid(`${path} holds ${show(value)} where names and values should be`);
  }
  return value as Readonly<Record<string, unknown>>;
}

function divisorIn(value: unknown, key: string): number {
  if (typeof value === 'number' && value > 0) return value;
  throw invalid(`${key} is ${show(value)}: write a number above 0`);
}

function invalid(message: string, cause?: unknown): OperationError {
  return new OperationError('InvalidConfiguration', message, { cause });
}
