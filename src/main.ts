import { basename } from 'node:path';
import manifest from '../package.json' with { type: 'json' };

/** The only place that reads argv and the environment. */
const print = (stream: NodeJS.WriteStream) => (text: string) => stream.write(`${text}\n`);

/** The name that it was started by. What starts it for somebody else tells it on. */
const calledAs = basename(process.env['QUARRY_CALLED_AS'] ?? process.argv[1] ?? '');

const environment = {
  // sbin is not on every caller's PATH, but that is where lvm lives.
  path: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin:/usr/bin:/bin`,
  version: manifest.version,
  print: print(process.stdout),
  warn: print(process.stderr),
  program: calledAs === 'kubectl-quarry' ? 'kubectl quarry' : 'quarry',
  // As https://no-color.org has it.
  hasColours: process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === '',
  variables: {
    nodeName: process.env['NODE_NAME'] ?? '',
    namespace: process.env['NAMESPACE'] ?? '',
    useLegacy: process.env['USE_LEGACY'] ?? '',
    kubeconfig: process.env['KUBECONFIG'] ?? '',
    serviceHost: process.env['KUBERNETES_SERVICE_HOST'] ?? '',
    servicePort: process.env['KUBERNETES_SERVICE_PORT'] ?? '',
    home: process.env['HOME'] ?? '',
    all: () =>
      Object.fromEntries(Object.entries(process.env).map(([name, value = '']) => [name, value])),
  },
};

/**
 * Only what a role needs is loaded: the rest costs an agent memory that it never gets back. No
 * `await` out here: the shipped form is a CommonJS bundle. An error nobody expected ends us.
 */
async function main([command, ...rest]: readonly string[]): Promise<number> {
  switch (command) {
    case 'standalone':
      return (await import('./agent/command.ts')).runStandalone(rest, environment);
    case 'agent':
      return (await import('./agent/agent-command.ts')).runAgent(rest, environment);
    case 'operator':
      return (await import('./operator/command.ts')).runOperator(rest, environment);
    case 'all':
      return (await import('./all/command.ts')).runAll(rest, environment);
    case 'extender':
      return (await import('./operator/extender-command.ts')).runExtender(rest, environment);
    default: {
      const { runCli } = await import('./cli/cli.ts');
      return runCli(command === undefined ? [] : [command, ...rest], environment);
    }
  }
}

void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
