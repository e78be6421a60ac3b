import { runStandalone } from './agent/command.ts';
import { runCli } from './cli/cli.ts';

/** The only place that reads argv and the environment. */
const print = (stream: NodeJS.WriteStream) => (text: string) => stream.write(`${text}\n`);

const environment = {
  // sbin is not on every caller's PATH, but that is where lvm lives.
  path: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin:/usr/bin:/bin`,
  print: print(process.stdout),
  warn: print(process.stderr),
};

const [command, ...rest] = process.argv.slice(2);
process.exitCode =
  command === 'standalone'
    ? await runStandalone(rest, environment)
    : await runCli(process.argv.slice(2), environment);
