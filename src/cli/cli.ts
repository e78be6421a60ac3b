import { access } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { selectableFieldsMinor } from '../api/crds/logical-volume.ts';
import { failures, OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { observeHost } from '../engine/look.ts';
import { readKnownGroups } from '../host/known-groups.ts';
import { mountsPath } from '../lvm/looks.ts';
import { type CommandName, commands, helpOf, isCommand, usage } from './commands.ts';
import { completion } from './completion.ts';
import { type Environment, exitCodeOf, exitCodes, makeContext, UsageError } from './context.ts';
import { crds } from './crds.ts';
import { forget } from './forget.ts';
import { readNodeFile } from './node-file.ts';
import { formatOf } from './output.ts';
import { placeOf } from './place.ts';
import { apply, plan } from './plan.ts';
import { status } from './status.ts';
import { volume } from './volume.ts';

/** Runs one command and gives its exit code. Nothing here decides; it translates and prints. */
export async function runCli(argv: readonly string[], environment: Environment): Promise<number> {
  try {
    return await dispatch(argv, environment);
  } catch (error) {
    if (error instanceof OperationError) {
      environment.warn(`quarry: ${error.code}: ${error.message}`);
      environment.warn(`quarry: ${failures[error.code].hint}`);
      return exitCodeOf(error.code);
    }
    if (error instanceof UsageError || isArgumentError(error)) {
      environment.warn(`quarry: ${(error as Error).message}`);
      environment.warn(`quarry: \`${environment.program} help\` shows how it is called`);
      return exitCodes.usage;
    }
    throw error;
  }
}

async function dispatch(argv: readonly string[], environment: Environment): Promise<number> {
  const [first, second] = argv;
  if (first === 'edge' || (first === 'help' && second === 'edge')) {
    const { edge } = await import('./edge.ts');
    return edge(first === 'edge' ? argv.slice(1) : ['--help'], environment);
  }
  const { values, positionals, given } = parseFlags(argv);
  const [command, ...rest] = positionals;
  if (values.version || command === 'version') {
    environment.print(environment.version);
    return exitCodes.done;
  }
  const { program } = environment;
  const about = command === 'help' ? rest[0] : command;
  if (command === undefined || command === 'help' || values.help) {
    const isOne = about !== undefined && isCommand(about);
    environment.print(isOne ? helpOf(about, program) : usage(program));
    return exitCodes.done;
  }
  if (!isCommand(command)) throw new UsageError(`there is no command ${command}`);
  refuseStrays(command, given);
  switch (command) {
    case 'crds':
      environment.print(crds(values));
      return exitCodes.done;
    case 'completion':
      environment.print(completion(rest[0]));
      return exitCodes.done;
    case 'volume':
      return callDriver(environment, values, rest);
    case 'doctor':
    case 'gather': {
      refuseWords(command, rest);
      const { doctor, gatherBundle } = await import('./cluster.ts');
      return (command === 'doctor' ? doctor : gatherBundle)(environment, values);
    }
    case 'edge':
      throw new UsageError('edge is the first word: its flags come after it');
    case 'forget': {
      const directory = values['state-dir'];
      const remark = await forget(directory, rest);
      if (remark !== undefined) environment.warn(`quarry: ${remark}`);
      return exitCodes.done;
    }
    case 'plan':
      refuseWords(command, rest);
      if ((await planPlace(environment, values.file, given)) === 'host') break;
      return (await import('./cluster-plan.ts')).planOfCluster(environment, values);
    case 'status':
      refuseWords(command, rest);
      if ((await statusPlace(environment, given)) === 'host') break;
      return (await import('./cluster.ts')).clusterStatus(environment, values);
    default:
      refuseWords(command, rest);
  }
  return onHost(command, environment, values);
}

type Flags = ReturnType<typeof parseFlags>['values'];

async function onHost(
  command: 'plan' | 'apply' | 'status',
  environment: Environment,
  values: Flags,
): Promise<number> {
  const format = formatOf(values.output);
  const directory = values['state-dir'];
  const known = await readKnownGroups(directory);
  const context = makeContext(environment, values);
  const desired = await readNodeFile(values.file ?? nodeFile, known);
  switch (command) {
    case 'plan':
      return (await plan(context, desired, format)) ? exitCodes.done : exitCodes.failed;
    case 'status':
      return (await status(context, desired, format)) ? exitCodes.done : exitCodes.failed;
    case 'apply':
      await apply(context, desired, { directory, known });
      return exitCodes.done;
  }
}

const nodeFile = '/etc/quarry/node.yaml';

function callDriver(
  environment: Environment,
  values: Flags,
  rest: readonly string[],
): Promise<number> {
  const { 'csi-socket': socket, size, class: className, fs: fsType, block: isBlock } = values;
  const { host } = makeContext(environment, values);
  const look = () => observeHost(host, AbortSignal.timeout(limits.fileTimeoutMs));
  const mounts = () => host.readText(mountsPath);
  return volume(environment, { socket, size, className, fsType, isBlock, look, mounts }, rest);
}

/** Which of both is meant by somebody who does not say it: see the help of `status`. */
async function statusPlace(
  environment: Environment,
  given: ReadonlySet<string>,
): Promise<'host' | 'cluster'> {
  const hasNodeFile = await access(nodeFile).then(
    () => true,
    () => false,
  );
  const isPlugin = environment.program !== 'quarry';
  const { hasCluster } = await import('./cluster-door.ts');
  return placeOf(given, { isPlugin, hasNodeFile, hasCluster: await hasCluster(environment) });
}

/** A file says by its kind what it is about. */
async function planPlace(
  environment: Environment,
  file: string | undefined,
  given: ReadonlySet<string>,
): Promise<'host' | 'cluster'> {
  if (file === undefined) return statusPlace(environment, given);
  const { isLvmClusterFile } = await import('./cluster-plan.ts');
  if (await isLvmClusterFile(file)) return 'cluster';
  return placeOf(given, { isPlugin: false, hasNodeFile: true, hasCluster: false });
}

/** Flags that are for a cluster do nothing on a host, and the other way round. */
function refuseStrays(command: CommandName, given: ReadonlySet<string>): void {
  const own: readonly string[] = commands[command].flags;
  const isOfCluster = command === 'doctor' || command === 'gather';
  const stray = [...given].find(
    (flag) => !own.includes(flag) && (isOfCluster || clusterOnly.has(flag)),
  );
  if (stray !== undefined) throw new UsageError(`${command} takes no --${stray}`);
}

const clusterOnly: ReadonlySet<string> = new Set(['kubeconfig', 'context', 'namespace', 'output']);

function refuseWords(command: string, [stray]: readonly string[]): void {
  if (stray === undefined) return;
  const isHost = command === 'plan' || command === 'apply' || command === 'status';
  const remedy = isHost ? `: name the node file with --file ${stray}` : '';
  throw new UsageError(`${command} takes no ${stray}${remedy}`);
}

function parseFlags(argv: readonly string[]) {
  const { values, positionals, tokens } = parseArgs({
    args: argv.map(inOneSpelling),
    allowPositionals: true,
    tokens: true,
    options: {
      file: { type: 'string', short: 'f' },
      'state-dir': { type: 'string', default: '/var/lib/quarry' },
      'csi-socket': { type: 'string', default: '/run/topolvm/csi-topolvm.sock' },
      fs: { type: 'string', default: '' },
      block: { type: 'boolean', default: false },
      size: { type: 'string' },
      class: { type: 'string', default: '' },
      legacy: { type: 'boolean', default: false },
      kubernetes: { type: 'string', default: `1.${selectableFieldsMinor}` },
      kubeconfig: { type: 'string' },
      context: { type: 'string' },
      namespace: { type: 'string', short: 'n' },
      output: { type: 'string', short: 'o' },
      nsenter: { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
      version: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const given = new Set(tokens.flatMap((token) => (token.kind === 'option' ? token.name : [])));
  return { values, positionals, given };
}

/** The driver's own spelling, as `quarry standalone` has it, and the short one. */
function inOneSpelling(word: string): string {
  return word.replace(/^--socket(?==|$)/, '--csi-socket').replace(/^--state(?==|$)/, '--state-dir');
}

function isArgumentError(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS');
}
