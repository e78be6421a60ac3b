import type { Guest } from '../../lab/index.ts';
import type { NodeTime } from './figures.ts';
import { listing, type NameOf, namedIn } from './processes.ts';

const ticksPerSecond = 100;

/** All that the processors of the nodes did so far, by who had it done, in seconds. */
export async function timeOf(nodes: readonly Guest[], nameOf: NameOf): Promise<NodeTime> {
  const all = await Promise.all(nodes.map((node) => timeOn(node, nameOf)));
  const sum = (pick: (time: NodeTime) => number) =>
    all.reduce((total, one) => total + pick(one), 0);
  return {
    udev: sum(({ udev }) => udev),
    programs: sum(({ programs }) => programs),
    own: sum(({ own }) => own),
    kubelet: sum(({ kubelet }) => kubelet),
    others: sum(({ others }) => others),
  };
}

/** What came between two looks. */
export function between(before: NodeTime, after: NodeTime): NodeTime {
  const since = (key: keyof NodeTime) => after[key] - before[key];
  return {
    ...{ udev: since('udev'), programs: since('programs'), own: since('own') },
    ...{ kubelet: since('kubelet'), others: since('others') },
  };
}

async function timeOn(node: Guest, nameOf: NameOf): Promise<NodeTime> {
  const script = `head -1 /proc/stat; cat /proc/[0-9]*/stat; echo ==; ${listing}`;
  const [stats = '', names = ''] = (await node.sh(`{ ${script}; } 2>/dev/null || true`)).split(
    '==',
  );
  const sides = new Set(namedIn(names, nameOf).map(({ pid }) => pid));
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] = (stats.split('\n')[0] ?? '')
    .split(/\s+/)
    .map(Number);
  const time = { udev: 0, programs: 0, own: 0, kubelet: 0 };
  // In brackets is the name, which may have spaces; 11 fields after its end stand the times.
  for (const [, pid = '', name = '', rest = ''] of stats.matchAll(/^(\d+) \((.*)\) (.*)$/gm)) {
    const [mine = 0, mineToo = 0, kids = 0, kidsToo = 0] = rest
      .split(' ')
      .slice(11, 15)
      .map(Number);
    if (sides.has(pid)) {
      time.own += mine + mineToo;
      time.programs += kids + kidsToo;
    } else if (name.includes('udev')) time.udev += mine + mineToo + kids + kidsToo;
    else if (/^(kubelet|containerd|runc)/.test(name))
      time.kubelet += mine + mineToo + kids + kidsToo;
  }
  const known = time.udev + time.programs + time.own + time.kubelet;
  const others = user + nice + system + irq + softIrq - known;
  const seconds = (ticks: number) => ticks / ticksPerSecond;
  return {
    ...{ udev: seconds(time.udev), programs: seconds(time.programs), own: seconds(time.own) },
    ...{ kubelet: seconds(time.kubelet), others: seconds(others) },
  };
}
