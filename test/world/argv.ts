import type { Outcome } from './text.ts';

/** An argv taken apart: what a program sees after its own option parser. */
export type Arguments = {
  readonly command: string;
  readonly options: ReadonlyMap<string, readonly string[]>;
  readonly words: readonly string[];
};

export function parseArguments(
  command: string,
  argv: readonly string[],
  known: Readonly<Record<string, 'flag' | 'value'>>,
): Arguments | Outcome {
  const options = new Map<string, string[]>();
  const words: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] as string;
    if (!word.startsWith('--')) {
      words.push(word);
      continue;
    }
    const kind = known[word.slice(2)];
    if (kind === undefined) return unrecognised(command, word);
    if (kind === 'value') index += 1;
    const value = kind === 'value' ? argv[index] : '';
    if (value === undefined) return needsArgument(command, word);
    const values = options.get(word.slice(2));
    if (values === undefined) options.set(word.slice(2), [value]);
    else values.push(value);
  }
  return { command, options, words };
}

export function isOutcome(value: object): value is Outcome {
  return 'exitCode' in value;
}

export function option(parsed: Arguments, name: string): string | undefined {
  return parsed.options.get(name)?.at(-1);
}

export function values(parsed: Arguments, name: string): readonly string[] {
  return parsed.options.get(name) ?? [];
}

/** A size as our steps write it: whole bytes. LVM wants a multiple of a sector. */
export function sizeOption(parsed: Arguments, name: string): number | Outcome | undefined {
  const text = option(parsed, name);
  if (text === undefined) return undefined;
  const match = /^(\d+)([bBkKmMgGtT]?)$/.exec(text);
  if (match === null) return invalidSize(name, text, []);
  const scale = { b: 0, k: 1, m: 2, g: 3, t: 4 }[(match[2] || 'm').toLowerCase()] ?? 0;
  const bytes = Number(match[1]) * 1024 ** scale;
  const rest = bytes % 512;
  if (rest === 0) return bytes;
  const tries = `Try using ${bytes - rest} or ${bytes - rest + 512}.`;
  return invalidSize(name, text, [`  Size is not a multiple of 512. ${tries}`]);
}

function invalidSize(name: string, text: string, first: readonly string[]): Outcome {
  return parseFailure([...first, `  Invalid argument for --${name}: ${text}`]);
}

function unrecognised(command: string, word: string): Outcome {
  return parseFailure([`${command}: unrecognized option '${word}'`]);
}

function needsArgument(command: string, word: string): Outcome {
  return parseFailure([`${command}: option '${word}' requires an argument`]);
}

function parseFailure(lines: readonly string[]): Outcome {
  const stderr = [...lines, '  Error during parsing of command line.', ''].join('\n');
  return { exitCode: 3, stdout: '', stderr };
}
