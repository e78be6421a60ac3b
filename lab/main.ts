import { parseArgs } from 'node:util';
import { preferredKind } from './cache.ts';
import { GiB, type GuestKind, type GuestSpec, type Lab, type Suite, startLab } from './index.ts';
import { setUpLab } from './setup/setup.ts';

const usage = `usage: node lab/main.ts <command> [flags]

  setup              build and fetch everything a lab needs; quiet when it is all there
  up                 boot guests, stay until Ctrl-C; lines "GUEST COMMAND" on stdin are run
  run -- CMD ARG...  boot one guest, run one command, power off; its exit code is ours

flags:
  --guests N         number of guests, n1 to nN (1)
  --disks N          disks of each guest (2)
  --disk-gib N       size of each disk (4)
  --memory-mib N     memory of each guest
  --suite NAME       trixie or bookworm (trixie)
  --kind NAME        uml, qemu or auto (auto)
  --no-udev          guests without udev
  --devices-file     LVM uses its devices file
  --log-directory D  where consoles go
`;

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    guests: { type: 'string', default: '1' },
    disks: { type: 'string', default: '2' },
    'disk-gib': { type: 'string', default: '4' },
    'memory-mib': { type: 'string' },
    suite: { type: 'string', default: 'trixie' },
    kind: { type: 'string', default: preferredKind() },
    'no-udev': { type: 'boolean', default: false },
    'devices-file': { type: 'boolean', default: false },
    'log-directory': { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const [command, ...rest] = positionals;
process.exitCode = await main();

async function main(): Promise<number> {
  switch (command) {
    case 'setup':
      await setUp();
      return 0;
    case 'up':
      await up();
      return 0;
    case 'run':
      return run(rest);
    default:
      process.stdout.write(usage);
      return values.help ? 0 : 2;
  }
}

async function setUp(): Promise<void> {
  const kind = kindFlag();
  const progress = (line: string): boolean => process.stderr.write(`lab: ${line}\n`);
  const suites = ['trixie', 'bookworm'] as const;
  await setUpLab({ kind: kind === 'qemu' ? 'qemu' : 'uml', suites, progress });
  if (kind !== 'auto') return;
  // The first start tries user-mode Linux and keeps the verdict, so later starts need not.
  const lab = await startLab({ guests: [{ name: 'n1' }] });
  await lab.stop();
}

async function up(): Promise<void> {
  const lab = await startFromFlags(count('guests', values.guests));
  console.log(`${lab.guests.length} guests (${lab.kind}), logs in ${lab.logDirectory}`);
  for (const guest of lab.guests) console.log(`  ${guest.name} ${guest.ip}`);
  console.log('type "GUEST COMMAND" to run a command, for example: n1 lsblk');
  console.log('Ctrl-C ends everything');
  // With no one typing (input closed at once, as in CI) we still stay until we are told to stop.
  const stay = setInterval(() => {}, 60_000);
  process.stdin.setEncoding('utf8');
  let text = '';
  process.stdin.on('data', (chunk: string) => {
    const lines = (text + chunk).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') void runLine(lab, line);
  });
  await new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve());
    process.once('SIGTERM', () => resolve());
  });
  clearInterval(stay);
  process.stdin.destroy();
  await lab.stop();
}

async function runLine(lab: Lab, line: string): Promise<void> {
  const [name = '', script = ''] = line.trim().split(/\s+(.*)/s);
  try {
    const result = await lab.guest(name).run(['sh', '-c', script], {
      timeoutMs: 3_600_000,
      onStdout: (chunk) => process.stdout.write(chunk),
      onStderr: (chunk) => process.stderr.write(chunk),
    });
    console.log(`[${name}: ${result.signal ?? result.exitCode}]`);
  } catch (error) {
    console.error(String(error));
  }
}

async function run(argv: readonly string[]): Promise<number> {
  if (argv.length === 0) throw new Error('run needs a command after --');
  const lab = await startFromFlags(1);
  try {
    const result = await lab.guest('n1').run(argv, {
      timeoutMs: 3_600_000,
      onStdout: (chunk) => process.stdout.write(chunk),
      onStderr: (chunk) => process.stderr.write(chunk),
    });
    return result.exitCode ?? 1;
  } finally {
    await lab.stop();
  }
}

function startFromFlags(guestCount: number): Promise<Lab> {
  const sizeBytes = BigInt(count('disk-gib', values['disk-gib'])) * GiB;
  const memory = values['memory-mib'];
  const guests = Array.from({ length: guestCount }, (_, index): GuestSpec => {
    const diskCount = count('disks', values.disks);
    return {
      name: `n${index + 1}`,
      suite: suiteFlag(),
      udev: !values['no-udev'],
      devicesFile: values['devices-file'],
      disks: Array.from({ length: diskCount }, (_, disk) => ({ name: `d${disk + 1}`, sizeBytes })),
      ...(memory === undefined ? {} : { memoryMiB: count('memory-mib', memory) }),
    };
  });
  const logDirectory = values['log-directory'];
  return startLab({ guests, kind: kindFlag(), ...(logDirectory && { logDirectory }) });
}

function count(flag: string, text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new Error(`--${flag} wants a number, not ${text}`);
  return Number(text);
}

function kindFlag(): GuestKind | 'auto' {
  const { kind } = values;
  if (kind === 'uml' || kind === 'qemu' || kind === 'auto') return kind;
  throw new Error(`--kind is uml, qemu or auto, not ${kind}`);
}

function suiteFlag(): Suite {
  const { suite } = values;
  if (suite === 'trixie' || suite === 'bookworm') return suite;
  throw new Error(`--suite is trixie or bookworm, not ${suite}`);
}
