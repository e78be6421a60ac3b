/** What can be typed: the list of commands, the help of each, and what a shell completes. */

export type FlagName = keyof typeof flagTexts;

/** Of each flag what it takes, and what it is for. */
export const flagTexts = {
  file: ['NODE.yaml', 'the node file (default /etc/quarry/node.yaml)'],
  'state-dir': ['DIR', 'what must outlive a restart (default /var/lib/quarry); also --state'],
  nsenter: ['', 'run programs in the namespaces of process 1 (inside a container)'],
  verbose: ['', 'print every command that changes something'],
  'csi-socket': [
    'PATH',
    "the driver's socket (default /run/topolvm/csi-topolvm.sock); also --socket",
  ],
  size: ['SIZE', 'such as 10Gi or 500M'],
  class: ['CLASS', 'the device class; the default one unless it is named'],
  fs: ['TYPE', 'ext4, xfs or btrfs'],
  block: ['', 'a raw device, without a file system'],
  legacy: ['', 'the group that TopoLVM had before, topolvm.cybozu.com'],
  kubernetes: ['1.29', 'for a server as old as this (default 1.30, and all that are newer)'],
  kubeconfig: ['FILE', 'the way to the cluster (default KUBECONFIG, ~/.kube/config, or a pod)'],
  context: ['NAME', 'of the kubeconfig (default its current one)'],
  namespace: ['NAME', 'where Quarry is installed; it is found by itself. Also -n'],
  output: ['FORMAT', 'json, yaml or wide; -o for short'],
} as const satisfies Record<string, readonly [string, string]>;

export type CommandHelp = {
  /** How it is called without the program, and what for. */
  readonly calls: readonly (readonly [string, string])[];
  readonly flags: readonly FlagName[];
  /** What stands in its own help beside these. */
  readonly more?: string;
  /** Its second word, where it has one. */
  readonly words?: readonly string[];
};

const host = ['file', 'state-dir', 'nsenter', 'verbose'] as const;
const cluster = ['kubeconfig', 'context', 'namespace'] as const;

export const commands = {
  plan: {
    calls: [
      ['plan --file NODE.yaml', 'what would be done to which device, and why'],
      ['plan --file LVMCLUSTER.yaml', 'the same on every node, before it is applied'],
      ['plan --kubeconfig FILE', 'what the LVMCluster that is there would still do'],
    ],
    flags: [...host, ...cluster, 'output'],
    more: `
Nothing is changed. A file is for this host, or an LVMCluster by its kind. The API server says what
it would take of that, so who plans needs the right to make one. Agents tell of their disks on
their Node; of one that has not told, nothing can be foreseen. -f is short for --file.

-o wide also tells exact sizes and which devices are asked for; -o json and yaml are for programs:
their fields stay as they are.

It ends with 1 when something is blocked or cannot be foreseen.`,
  },
  apply: {
    calls: [['apply --file NODE.yaml', 'do it']],
    flags: host,
    more: `What it would do, \`plan\` tells. With --verbose each command is printed as it is run.`,
  },
  status: {
    calls: [
      ['status --file NODE.yaml', 'groups, pools, classes and volumes of this host'],
      ['status --kubeconfig FILE', 'a whole cluster on one screen'],
    ],
    flags: [...host, ...cluster, 'output'],
    more: `
With --file it tells of this host, with --kubeconfig, --context or --namespace of a cluster;
never of both. Without any of them it is the one that there is: this host where there is an
/etc/quarry/node.yaml, a cluster where a kubeconfig is found or in a pod. Where both are there it
asks you to say which. As a plugin of kubectl it tells of the cluster unless --file is given.

It ends with 0 when all is well, 1 when something is not, 75 when the cluster cannot be asked, or
not all of it could be read. -o wide names every pod, device and claim; -o json and yaml are for
programs: their fields stay as they are.`,
  },
  doctor: {
    calls: [['doctor', 'what is wrong in a cluster, why it matters, and what to do']],
    flags: [...cluster, 'output'],
    more: `
It looks at the installation, at LVMClusters, at what the agents report of their disks, at
volumes and at claims that wait. It reads and changes nothing, and needs only the right to read.

It ends with 0 when nothing is wrong, 1 when something is, 75 when the cluster cannot be asked, or
when nothing is wrong in what could be read and not all could be. -o json and yaml are for programs:
each finding has code, object, node, what, why, remedy and details.`,
  },
  gather: {
    calls: [['gather [--output DIR]', 'a directory for whoever is asked for help']],
    flags: [...cluster, 'output'],
    more: `
In it are the objects that belong to Quarry, their events, the logs of its pods from now and
from before their last restart, and what \`status\` and \`doctor\` tell. Secrets are never read.
Values of variables, authorities, and annotations that others put on objects are left out, and so
is what looks like a key, a token or a password in a log. Look through it all the same before you
send it.

--output is the directory here, which must not be there yet or be empty. To send it:
  tar --create --gzip --file bundle.tar.gz DIR

It ends with 0 when all of it is there, 75 when something could not be read, which not-read.txt
names.`,
  },
  forget: {
    calls: [['forget GROUP', 'give up a group whose disks are gone for good']],
    flags: ['state-dir'],
    more: `Without it a group that is away is never made anew: its disks may come back. An agent
that runs hears of it. A name that is not known here may be one that only the cluster tells of; it
is given up with a remark.`,
  },
  volume: {
    calls: [
      ['volume list', 'these call the driver of this host'],
      ['volume create NAME --size 10Gi [--class CLASS] [--block]', ''],
      ['volume expand NAME --size 20Gi', ''],
      ['volume snapshot NAME SOURCE', ''],
      ['volume group-snapshot NAME VOLUME...', 'of all of them at one moment'],
      [
        'volume clone NAME SOURCE [--size 20Gi] [--class CLASS]',
        'SOURCE: a volume, or the ID of a snapshot',
      ],
      ['volume publish NAME PATH [--fs ext4] [--block]', ''],
      ['volume unpublish NAME PATH', ''],
      ['volume delete NAME', 'a snapshot or a group by its ID, which list shows'],
    ],
    flags: ['csi-socket', 'size', 'class', 'fs', 'block', 'nsenter'],
    words: [
      ...['list', 'create', 'expand', 'snapshot', 'group-snapshot', 'clone'],
      ...['publish', 'unpublish', 'delete'],
    ],
  },
  edge: {
    calls: [['edge --help', 'storage of a cluster that has one node, by its lvmd.yaml']],
    flags: [],
    words: ['apply', 'health'],
  },
  crds: {
    calls: [['crds [--legacy]', 'our kinds, for kubectl apply --filename -']],
    flags: ['legacy', 'kubernetes'],
  },
  completion: {
    calls: [['completion bash|zsh|fish', 'what makes a shell complete all this']],
    flags: [],
    words: ['bash', 'zsh', 'fish'],
    more: `
In a start-up file of the shell, or once:
  source <(quarry completion bash)
  source <(quarry completion zsh)
  quarry completion fish | source`,
  },
} as const satisfies Readonly<Record<string, CommandHelp>>;

export type CommandName = keyof typeof commands;

export function isCommand(word: string): word is CommandName {
  return Object.hasOwn(commands, word);
}

/** Processes that stay. They have their own flags, and tell them. */
export const roles = {
  standalone: 'the CSI driver on this host, without a cluster',
  agent: 'the driver on a node of a cluster',
  operator: 'what is done once for a cluster',
  all: 'both in one process, for a cluster of one node',
  extender: "an answer for a kube-scheduler that asks TopoLVM's extender",
} as const;

const groups: readonly (readonly [string, readonly CommandName[]])[] = [
  ['On this host:', ['plan', 'apply', 'status', 'forget', 'volume']],
  ['Of a cluster:', ['doctor', 'gather', 'edge', 'crds']],
];

/** All there is, on one page. */
export function usage(program: string): string {
  const blocks = groups.map(([title, names]) => {
    const calls = names.flatMap((name): CommandHelp['calls'] => commands[name].calls);
    return [title, ...calls.map((call) => callLine(program, call))].join('\n');
  });
  const stays = Object.entries(roles).map(([name, text]) =>
    callLine('quarry', [`${name} --help`, text]),
  );
  const others = [
    ...commands.completion.calls,
    ['version', 'the version, and nothing else; also --version'] as const,
  ];
  return [
    `${program}: LVM storage on this host and in a cluster`,
    ...blocks,
    ['Processes that stay:', ...stays].join('\n'),
    ['And:', ...others.map((call) => callLine(program, call))].join('\n'),
    `\`${program} COMMAND --help\` tells the flags of each command.`,
    exits.trimStart(),
  ].join('\n\n');
}

const exits = `
It ends with 0: done; 1: refused or failed, and something has to change first; 2: the call or a
file cannot be used; 75: try again later.
`;

/** The help of one command. */
export function helpOf(name: CommandName, program: string): string {
  const { calls, flags, more }: CommandHelp = commands[name];
  const lines = flags.map((flag) => flagLine(flag, name));
  return [
    calls.map((call) => callLine(program, call)).join('\n'),
    ...(more === undefined ? [] : [more.trim()]),
    ...(lines.length === 0 ? [] : [lines.join('\n')]),
  ].join('\n\n');
}

const callWidth = 38;

function callLine(program: string, [call, text]: readonly [string, string]): string {
  const typed = `  ${program} ${call}`;
  if (text === '') return typed;
  if (typed.length < callWidth) return `${typed.padEnd(callWidth)}${text}`;
  return `${typed}\n${' '.repeat(callWidth)}${text}`;
}

function flagLine(flag: FlagName, command: CommandName): string {
  const [value, text] =
    flag === 'output' && command === 'gather'
      ? (['DIR', 'where to write it (default quarry-gather-TIME, here)'] as const)
      : flagTexts[flag];
  return `  ${`--${flag} ${value}`.trimEnd().padEnd(20)} ${text}`;
}
