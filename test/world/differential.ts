import type { Host } from '../../src/engine/ports.ts';
import type { Command, CommandResult } from '../../src/lvm/command.ts';
import { lookHost } from '../../src/lvm/looks.ts';
import { parseHost } from '../../src/lvm/report.ts';
import { Chance } from './chance.ts';
import { type Comparable, comparable } from './comparable.ts';
import { commandsOfMove, type Move, randomMove } from './differential-cases.ts';

/** One move on one host: what was run, how it ended, what a look showed then. */
export type Entry = {
  readonly argv: string;
  readonly exitCode: number | undefined;
  readonly stderr: string;
  readonly view: Comparable;
};

/** Runs a sequence of random moves on a host, real or fake, and tells what came of each. */
export async function record(
  host: Host,
  options: {
    readonly seed: number;
    readonly length: number;
    readonly devices: readonly string[];
    /** Sizes are multiplied by this. */
    readonly scale?: number;
    /** Called before every look, e.g. to let udev come to rest. */
    readonly settle?: () => Promise<void>;
  },
): Promise<readonly Entry[]> {
  const chance = new Chance(options.seed);
  const entries: Entry[] = [];
  let observed = await look(host);
  for (let index = 0; index < options.length; index += 1) {
    const move = randomMove(chance, observed, options.devices, options.scale);
    const { argv, result } = await run(host, move);
    await options.settle?.();
    observed = await look(host);
    entries.push({
      argv: nameless(argv.join(' ')),
      exitCode: result?.exitCode,
      stderr: nameless(result?.stderr ?? ''),
      view: comparable(observed),
    });
  }
  return entries;
}

async function look(host: Host) {
  return parseHost((await start(host, lookHost)).stdout);
}

async function run(host: Host, move: Move) {
  let argv: readonly string[] = [];
  let result: CommandResult | undefined;
  for (const command of commandsOfMove(move)) {
    argv = command.argv;
    result = await start(host, command);
    if (result.exitCode !== 0) break;
  }
  return { argv, result };
}

async function start(host: Host, command: Command): Promise<CommandResult> {
  const running = host.start(command);
  const result = await running.result;
  await running.gone;
  return result;
}

/** Identities, and lines that only tell how this machine is set up. */
function nameless(text: string): string {
  return text
    .split('\n')
    .filter((line) => !/lvmpolld|polling without/.test(line))
    .join('\n')
    .replace(/[A-Za-z0-9]{6}(-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6}/g, 'UUID');
}
