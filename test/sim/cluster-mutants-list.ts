import type { Mutant } from './mutants/list.ts';

function one(name: string, file: string, find: string, replace: string): Mutant {
  return { name, edits: [{ file, find, replace }] };
}

const agent = 'src/agent/logical-volumes.ts';
const reclaim = 'src/core/cluster/reclaim.ts';
/** Deliberately broken roles. Random stories of a cluster must catch every one of them. */
export const clusterMutants: readonly Mutant[] = [
  one(
    'a PersistentVolume goes before its LV',
    'src/operator/reclaimer.ts',
    "await untilAnswered({ clock, signal, what }, (until) => book.remove('volume', handle, until));",
    'void what;',
  ),
  one(
    'an object is let go before its LV is removed',
    agent,
    'await volumes.removeRecorded(decision.id, decision.volume, signal);',
    '',
  ),
  one(
    'a volume is told before it is made',
    agent,
    'const { id, sizeBytes } = await work();',
    'work().catch(() => undefined); const id = uid; const sizeBytes = 8_388_608n as Bytes;',
  ),
  one(
    'what is kept is removed',
    reclaim,
    "if (volume.spec.persistentVolumeReclaimPolicy !== 'Delete') {",
    'if (0 > 1) {',
  ),
  one(
    'what is bound is removed',
    reclaim,
    "return { kind: isGuarded || isGoing ? 'leave' : 'guard' };",
    "return { kind: 'remove', handle };",
  ),
  one(
    'kubelet is not told that a file system may grow',
    'src/core/cluster/expansion.ts',
    "allocatedResourceStatuses: { storage: 'NodeResizePending' },",
    '',
  ),
  one(
    'what nobody has stays',
    'src/operator/orphans.ts',
    "decision.kind === 'report' || (await this.#remove(volume, signal));",
    'true;',
  ),
  one(
    'a published volume keeps its mark',
    'src/operator/provisioner-publish.ts',
    'await takeOffMark(cluster, publication, signal);',
    '',
  ),
  one(
    'a snapshot goes and its LV stays',
    'src/operator/snapshotter.ts',
    "else await book.remove('snapshot', id, signal);",
    '',
  ),
  one(
    'a version that is gone is asked for again and again',
    'src/kube/reflector.ts',
    "if (error.code === 'Gone' || isDeaf) this.#version = undefined;",
    '',
  ),
  one('capacity is told once', 'src/agent/cluster-work.ts', 'this.#capacity.changed();', ''),
];
