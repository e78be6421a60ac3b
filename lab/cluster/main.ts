import { parseArgs } from 'node:util';
import { GiB } from '../index.ts';
import { checkCluster } from './check.ts';
import { type Cluster, describePrograms, type NodeSpec, startCluster } from './index.ts';

const usage = `usage: node lab/cluster/main.ts [up | check] [flags]

  up                 bring a cluster up, show it, stay until Ctrl-C (the default)
  check              bring it up, show it, run a pod on each node, stop

flags:
  --nodes N          number of nodes, n1 to nN (2)
  --disks N          disks of each node besides its own (1)
  --disk-gib N       size of each disk (4)
  --memory-mib N     memory of each node (2048)
  --log-directory D  where logs go

KUBEBUILDER_ASSETS may name a directory with kube-apiserver, etcd and other programs to use.
`;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    nodes: { type: 'string', default: '2' },
    disks: { type: 'string', default: '1' },
    'disk-gib': { type: 'string', default: '4' },
    'memory-mib': { type: 'string', default: '2048' },
    'log-directory': { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
try {
  process.exitCode = await main();
} catch (error) {
  for (let cause = error; cause instanceof Error; cause = cause.cause) console.error(cause.message);
  process.exitCode = 1;
}

async function main(): Promise<number> {
  const [command = 'up', ...rest] = positionals;
  if (values.help || rest.length > 0 || (command !== 'up' && command !== 'check')) {
    process.stdout.write(usage);
    return values.help ? 0 : 2;
  }
  const startedMs = performance.now();
  const cluster = await startFromFlags();
  try {
    console.log(`${cluster.nodes.length} nodes Ready after ${secondsSince(startedMs)}`);
    await show(cluster);
    if (command === 'check') await checkCluster(cluster, (line) => console.log(line));
    else await untilTold(cluster);
  } finally {
    const stoppedMs = performance.now();
    await cluster.stop();
    console.log(`stopped after ${secondsSince(stoppedMs)}`);
  }
  return 0;
}

async function show(cluster: Cluster): Promise<void> {
  console.log(`\n${await cluster.kubectl(['get', 'nodes', '--output', 'wide'])}`);
  for (const [name, version] of Object.entries(await cluster.versions())) {
    console.log(`${name.padEnd(16)} ${version}`);
  }
  for (const line of describePrograms(cluster.programs))
    console.log(`${'from'.padEnd(16)} ${line}`);
  console.log(`${'kubeconfig'.padEnd(16)} ${cluster.kubeconfig}`);
  console.log(`${'kubectl'.padEnd(16)} ${cluster.kubectlCommand} get pods --all-namespaces`);
  console.log(`${'logs'.padEnd(16)} ${cluster.lab.logDirectory}`);
}

async function untilTold(cluster: Cluster): Promise<void> {
  console.log(
    `\nthe API server is ${cluster.apiServer} in a network of its own, so use the kubectl`,
  );
  console.log('above or run programs there with: nsenter --net=NETWORK COMMAND, where NETWORK is');
  console.log(`${cluster.lab.namespace.networkPath}; Ctrl-C ends everything`);
  // Without a timer nothing would keep this process here.
  const stay = setInterval(() => {}, 60_000);
  await new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
  clearInterval(stay);
}

function startFromFlags(): Promise<Cluster> {
  const sizeBytes = BigInt(count('disk-gib', values['disk-gib'])) * GiB;
  const memoryMiB = count('memory-mib', values['memory-mib']);
  const diskCount = count('disks', values.disks);
  const nodes = Array.from({ length: count('nodes', values.nodes) }, (_, index): NodeSpec => {
    const disks = Array.from({ length: diskCount }, (_, disk) => ({
      name: `d${disk + 1}`,
      sizeBytes,
    }));
    return { name: `n${index + 1}`, disks, memoryMiB };
  });
  const logDirectory = values['log-directory'];
  return startCluster({ nodes, ...(logDirectory !== undefined && { logDirectory }) });
}

function count(flag: string, text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new Error(`--${flag} wants a number, not ${text}`);
  return Number(text);
}

function secondsSince(startedMs: number): string {
  return `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;
}
