import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { OperationError } from '../base/failures.ts';
import { show } from '../base/show.ts';

export const usage = `quarry standalone: the CSI driver on this host, without a cluster

  --config FILE           lvmd.yaml (default /etc/topolvm/lvmd.yaml)
  --state-dir DIR         what must outlive a restart (default /var/lib/quarry)
  --csi-socket PATH       where CSI is served (default /run/topolvm/csi-topolvm.sock)
  --metrics-address ADDR  metrics and probes over HTTP; 0 for none (default :8080)
  --node-id NAME          (default: the host's name)
  --driver-name NAME      (default topolvm.io)
  --nsenter               run programs in the namespaces of process 1 (inside a container)
  --version               the version, and nothing else

Other spellings of --state-dir and --csi-socket are --state and --socket.
`;

export type StandaloneArguments = ReturnType<typeof standaloneArguments>;

/** What parses and still cannot be used is told with what to write instead. */
export function checkArguments(
  values: Pick<StandaloneArguments, 'csi-socket' | 'driver-name' | 'node-id'>,
): void {
  const refuse = (flag: keyof typeof values, remedy: string) => {
    const message = `--${flag} is ${show(values[flag])}: ${remedy}`;
    throw new OperationError('InvalidConfiguration', message);
  };
  if (!values['csi-socket'].startsWith('/')) refuse('csi-socket', 'write an absolute path');
  // CSI's own rule.
  if (!/^[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?$/.test(values['driver-name'])) {
    refuse('driver-name', 'write a domain name of at most 63 characters, such as topolvm.io');
  }
  if (!/^[^\p{C}\s/]+$/u.test(values['node-id'])) {
    refuse('node-id', 'write the name of this node, without spaces or slashes');
  }
}

/** What every process that serves a node takes. */
export const nodeFlags = {
  config: { type: 'string', default: '/etc/topolvm/lvmd.yaml' },
  'state-dir': { type: 'string', default: '/var/lib/quarry' },
  'csi-socket': { type: 'string', default: '/run/topolvm/csi-topolvm.sock' },
  'metrics-address': { type: 'string', default: ':8080' },
  nsenter: { type: 'boolean', default: false },
  version: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

export function standaloneArguments(argv: readonly string[]) {
  const { kept, ignored } = withoutOldFlags(argv);
  const { values } = parseArgs({
    args: kept.map(inOneSpelling),
    options: {
      ...nodeFlags,
      'node-id': { type: 'string', default: hostname() },
      'driver-name': { type: 'string', default: 'topolvm.io' },
    },
  });
  return { ...values, ignored };
}

/** Flags that go by two names, here and in `cli/`: whoever knows one need not learn the other. */
export function inOneSpelling(word: string): string {
  return word.replace(/^--socket(?==|$)/, '--csi-socket').replace(/^--state(?==|$)/, '--state-dir');
}

/**
 * lvmd had the flags `--container` and `--spare` once, and manifests in the field still pass them.
 * Go takes a value after `=` for both, and for `--spare` also as the next word.
 */
export function withoutOldFlags(argv: readonly string[]): {
  readonly kept: readonly string[];
  readonly ignored: readonly string[];
} {
  const kept: string[] = [];
  const ignored: string[] = [];
  for (let index = 0; index < argv.length; index += 1) {
    const word = argv[index] ?? '';
    if (!/^--?(container|spare)(=|$)/.test(word)) {
      kept.push(word);
      continue;
    }
    const next = argv[index + 1];
    const hasValue = /^--?spare$/.test(word) && next !== undefined && !next.startsWith('-');
    ignored.push(hasValue ? `${word} ${next}` : word);
    if (hasValue) index += 1;
  }
  return { kept, ignored };
}
