import { parseArgs } from 'node:util';
import { selectableFieldsMinor } from '../api/crds/logical-volume.ts';
import { failures, OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { showList } from '../base/show.ts';
import { observeHost } from '../engine/look.ts';
import { type KnownGroups, readKnownGroups, writeKnownGroups } from '../host/known-groups.ts';
import { mountsPath } from '../lvm/looks.ts';
import { type Environment, exitCodeOf, exitCodes, makeContext, UsageError } from './context.ts';
import { crds } from './crds.ts';
import { readNodeFile } from './node-file.ts';
import { apply, plan } from './plan.ts';
import { status } from './status.ts';
import { volume } from './volume.ts';

const usage = `quarry: LVM storage on this host

  quarry plan   --file NODE.yaml      what would be done to which device, and why
  quarry apply  --file NODE.yaml      do it
  quarry status --file NODE.yaml      groups, pools, classes and volumes as they are

  quarry forget GROUP                 give up a group whose disks are gone for good

  quarry standalone --help            the CSI driver on this host, without a cluster
  quarry agent --help                 the driver on a node of a cluster

  quarry volume list                  these call that driver
  quarry volume create NAME --size 10Gi [--class CLASS] [--block]
  quarry volume expand NAME --size 20Gi
  quarry volume snapshot NAME SOURCE
  quarry volume group-snapshot NAME VOLUME...
                                      of all of them at one moment
  quarry volume clone NAME SOURCE [--size 20Gi] [--class CLASS]
                                      SOURCE: a volume, or the ID of a snapshot
  quarry volume publish NAME PATH [--fs ext4] [--block]
  quarry volume unpublish NAME PATH
  quarry volume delete NAME           a snapshot or a group by its ID, which list shows

  quarry crds [--legacy]              our kinds, for kubectl apply --filename -

  quarry version                      the version, and nothing else; also --version

  --csi-socket PATH  the driver's socket (default /run/topolvm/csi-topolvm.sock); also --socket
  --file NODE.yaml   the node file (default /etc/quarry/node.yaml)
  --state-dir DIR    what must outlive a restart (default /var/lib/quarry); also --state
  --nsenter          run programs in the namespaces of process 1 (inside a container)
  --legacy           of crds: the group that TopoLVM had before, topolvm.cybozu.com
  --kubernetes 1.29  of crds: for a server as old as this (default 1.30, and all that are newer)
  --verbose          print every command that changes something

It ends with 0: done; 1: refused or failed, and something has to change first; 2: the call or a
file cannot be used; 75: try again later.
`;

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
      environment.warn('quarry: `quarry help` shows how it is called');
      return exitCodes.usage;
    }
    throw error;
  }
}

async function dispatch(argv: readonly string[], environment: Environment): Promise<number> {
  const { values, positionals } = parseFlags(argv);
  const [command, ...rest] = positionals;
  if (values.version || command === 'version') {
    environment.print(environment.version);
    return exitCodes.done;
  }
  if (command === undefined || command === 'help' || values.help) {
    environment.print(usage);
    return exitCodes.done;
  }
  if (command === 'crds') {
    environment.print(crds(values));
    return exitCodes.done;
  }
  if (!['plan', 'apply', 'status', 'forget', 'volume'].includes(command)) {
    throw new UsageError(`there is no command ${command}`);
  }
  if (command === 'volume') {
    const { 'csi-socket': socket, size, class: className, fs: fsType, block: isBlock } = values;
    const { host } = makeContext(environment, values);
    const look = () => observeHost(host, AbortSignal.timeout(limits.fileTimeoutMs));
    const mounts = () => host.readText(mountsPath);
    return volume(environment, { socket, size, className, fsType, isBlock, look, mounts }, rest);
  }
  const directory = values['state-dir'];
  const known = await readKnownGroups(directory);
  if (command === 'forget') {
    await forget(directory, known, rest);
    return exitCodes.done;
  }
  const [stray] = rest;
  if (stray !== undefined) {
    throw new UsageError(`${command} takes no ${stray}: name the node file with --file ${stray}`);
  }
  const context = makeContext(environment, values);
  const desired = await readNodeFile(values.file, known);
  switch (command) {
    case 'plan':
      return (await plan(context, desired)) ? exitCodes.done : exitCodes.failed;
    case 'status':
      return (await status(context, desired)) ? exitCodes.done : exitCodes.failed;
    default:
      await apply(context, desired, { directory, known });
      return exitCodes.done;
  }
}

function parseFlags(argv: readonly string[]) {
  return parseArgs({
    args: argv.map(inOneSpelling),
    allowPositionals: true,
    options: {
      file: { type: 'string', default: '/etc/quarry/node.yaml' },
      'state-dir': { type: 'string', default: '/var/lib/quarry' },
      'csi-socket': { type: 'string', default: '/run/topolvm/csi-topolvm.sock' },
      fs: { type: 'string', default: '' },
      block: { type: 'boolean', default: false },
      size: { type: 'string' },
      class: { type: 'string', default: '' },
      legacy: { type: 'boolean', default: false },
      kubernetes: { type: 'string', default: `1.${selectableFieldsMinor}` },
      nsenter: { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
      version: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
}

/** The driver's own spelling, as `quarry standalone` has it, and the short one. */
function inOneSpelling(word: string): string {
  return word.replace(/^--socket(?==|$)/, '--csi-socket').replace(/^--state(?==|$)/, '--state-dir');
}

/** The administrator's word that the disks of a group never come back. */
async function forget(
  directory: string,
  known: KnownGroups,
  names: readonly string[],
): Promise<void> {
  const [name, ...more] = names;
  if (name === undefined || more.length > 0) throw new UsageError('forget takes one group');
  if (!known.has(name)) {
    const list = known.size === 0 ? 'none' : showList([...known.keys()]);
    throw new UsageError(`no volume group ${name} is known here (known: ${list})`);
  }
  const others = [...known].filter(([group]) => group !== name);
  await writeKnownGroups(directory, new Map(others));
}

function isArgumentError(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && code.startsWith('ERR_PARSE_ARGS');
}
