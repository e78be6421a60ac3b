import manifest from '../package.json' with { type: 'json' };
import { runAgent } from './agent/agent-command.ts';
import { runStandalone } from './agent/command.ts';
import { runAll } from './all/command.ts';
import { runCli } from './cli/cli.ts';
import { runOperator } from './operator/command.ts';

/** The only place that reads argv and the environment. */
const print = (stream: NodeJS.WriteStream) => (text: string) => stream.write(`${text}\n`);

const environment = {
  // sbin is not on every caller's PATH, but that is where lvm lives.
  path: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin:/usr/bin:/bin`,
  version: manifest.version,
  print: print(process.stdout),
  warn: print(process.stderr),
  variables: {
    nodeName: process.env['NODE_NAME'] ?? '',
    namespace: process.env['NAMESPACE'] ?? '',
    useLegacy: process.env['USE_LEGACY'] ?? '',
    kubeconfig: process.env['KUBECONFIG'] ?? '',
    serviceHost: process.env['KUBERNETES_SERVICE_HOST'] ?? '',
    servicePort: process.env['KUBERNETES_SERVICE_PORT'] ?? '',
  },
};

/** No `await` out here: the shipped form is a CommonJS bundle. An error nobody expected ends us. */
async function main([command, ...rest]: readonly string[]): Promise<number> {
  if (command === 'standalone') return runStandalone(rest, environment);
  if (command === 'agent') return runAgent(rest, environment);
  if (command === 'operator') return runOperator(rest, environment);
  if (command === 'all') return runAll(rest, environment);
  return runCli(command === undefined ? [] : [command, ...rest], environment);
}

void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
