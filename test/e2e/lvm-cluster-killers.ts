import { setTimeout as sleep } from 'node:timers/promises';
import type { Guest } from '../../lab/index.ts';
import type { LvmCluster } from '../../src/api/objects/lvm-cluster.ts';
import { processOf } from './fault-kinds.ts';
import { path } from './lvm-cluster-scene.ts';
import type { E2eStage } from './stage.ts';

/** Commands that change a group, its pool or its devices. */
export const lvmSteps = [
  ...(['vgcreate', 'lvcreate', 'vgextend', 'lvextend', 'pvmove', 'vgreduce'] as const),
  ...(['lvremove', 'vgremove', 'pvremove'] as const),
];

export type Steps = (typeof lvmSteps)[number];

const marks = '/run/kills';

const beginning = `#!/bin/sh
real=/opt/real-lvm/lvm
name=\${0##*/}
[ "$name" = lvm ] || set -- "$name" "$@"`;

/**
 * LVM's place on the node is taken by a script. The agent dies once before each command, which then
 * never runs, once while it runs, and once after it, before anybody hears how it ended. A command
 * that was too fast to die in leaves that to the next of its kind.
 */
const killingScript = `${beginning}
case $1 in ${lvmSteps.join('|')}) ;; *) exec $real "$@" ;; esac
step=$1
first() { mkdir "${marks}/$step-$1" 2> /dev/null; }
die() { pkill -KILL -f '${processOf('agent')}'; }
if first before; then die; exit 5; fi
if first amid; then
  (sleep 0.02; kill -0 $$ && die || rmdir ${marks}/$step-amid) > /dev/null 2>&1 &
  exec $real "$@"
fi
$real "$@"
code=$?
if first after; then die; fi
exit $code
`;

export function armKills(node: Guest): Promise<void> {
  return takePlaceOfLvm(node, killingScript);
}

/** The first command of a kind that comes does its work, and whoever ran it never hears of it. */
export function holdAfter(node: Guest, step: Steps): Promise<void> {
  const script = `${beginning}
[ "$1" = ${step} ] || exec $real "$@"
$real "$@"
touch ${marks}/held
sleep infinity
`;
  return takePlaceOfLvm(node, script);
}

export async function isHeld(node: Guest): Promise<boolean> {
  return (await node.sh(`ls ${marks}`)).includes('held');
}

/** Until the node boots, or until it is unmounted. */
async function takePlaceOfLvm(node: Guest, stdin: string): Promise<void> {
  const script = `set -e
    lvm=$(readlink -f "$(command -v lvm)")
    mkdir -p /opt/real-lvm ${marks}
    cp "$lvm" /opt/real-lvm/lvm
    cat > /opt/other-lvm
    chmod 755 /opt/other-lvm
    mount --bind /opt/other-lvm "$lvm"`;
  await node.sh(script, { stdin });
}

/** As STEP-WAY, and from now on nobody dies any more. */
export async function killsOn(node: Guest): Promise<readonly string[]> {
  const script = `umount "$(readlink -f "$(command -v lvm)")" && ls ${marks}`;
  return (await node.sh(script)).trim().split('\n');
}

type Named = {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
};

/** What an administrator could tell apart. */
async function picture({ cluster: { api } }: E2eStage): Promise<string> {
  const groups = await api.get<List>(path.replace('lvmclusters', 'lvmvolumegroups'));
  const classes = await api.get<List>('/apis/storage.k8s.io/v1/storageclasses');
  const cluster = await api.get<LvmCluster>(`${path}/mine`);
  const named = (list: List | undefined) =>
    list?.items
      .map(({ metadata }) => metadata.name + (metadata.deletionTimestamp ? ' going' : ''))
      .toSorted()
      .join(',') ?? '';
  const going = cluster?.metadata.deletionTimestamp === undefined ? '' : ' going';
  const state = cluster === undefined ? 'none' : `${cluster.status?.state ?? 'new'}${going}`;
  return `${state} [${named(groups)}] [${named(classes)}]`;
}

type List = { readonly items: readonly Named[] };

/** Every operator dies once at each picture; told are those at which one was alive to die. */
export async function killOperators(
  stage: E2eStage,
  work: () => Promise<void>,
): Promise<readonly string[]> {
  const killedAt: string[] = [];
  const end = new AbortController();
  const kill = `pkill -KILL --count -f '${processOf('operator')}' || true`;
  const watch = async () => {
    while (!end.signal.aborted) {
      const now = await picture(stage).catch(() => undefined);
      if (now !== undefined && !killedAt.includes(now)) {
        const counts = await Promise.all(stage.cluster.nodes.map((node) => node.sh(kill)));
        if (counts.some((count) => Number(count) > 0)) killedAt.push(now);
      }
      await sleep(100);
    }
  };
  const watching = watch();
  try {
    await work();
  } finally {
    end.abort();
    await watching;
  }
  return killedAt;
}
