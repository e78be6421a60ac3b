import { othersEvery, removalEvery, rivalryEvery } from './cluster-story.ts';
import { lvmsMutants } from './lvms-mutants-list.ts';
import type { Mutant } from './mutants/list.ts';

/** `step`: only every so manieth seed is about it; `of`: the worlds whose stories must catch it. */
export type ClusterMutant = Mutant & { readonly step?: number; readonly of?: 'lvms' };

function one(name: string, file: string, find: string, replace: string): Mutant {
  return { name, edits: [{ file, find, replace }] };
}

function ofLeaders(...given: Parameters<typeof one>): ClusterMutant {
  return { ...one(...given), step: rivalryEvery };
}

function ofRemovals(...given: Parameters<typeof one>): ClusterMutant {
  return { ...one(...given), step: removalEvery };
}

function ofOthers(...given: Parameters<typeof one>): ClusterMutant {
  return { ...one(...given), step: othersEvery };
}

const agent = 'src/agent/logical-volumes.ts';
const reclaim = 'src/core/cluster/reclaim.ts';
/** Deliberately broken roles. Random stories of a cluster must catch every one of them. */
export const clusterMutants: readonly ClusterMutant[] = [
  ...lvmsMutants,
  one(
    'a PersistentVolume goes before its LV',
    'src/operator/reclaimer.ts',
    "      untilAnswered({ clock, signal, what }, (until) => book.remove('volume', handle, until)),",
    '      Promise.resolve(void what),',
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
  one(
    'capacity is told once',
    'src/agent/cluster-work.ts',
    'this.#node.changed();\n    this.#capacity.changed();',
    'this.#node.changed();',
  ),
  // Two leaders.
  ofLeaders(
    'a lease is taken from who is only slow',
    'src/kube/lease.ts',
    'return nowMs - changedAtMs >= Math.max(asked, durationMs);',
    'return nowMs - changedAtMs >= 4_000;',
  ),
  ofLeaders(
    'a lease counts from when its answer came',
    'src/kube/claim.ts',
    'this.#heldUntilMs = sentAtMs + times.renewDeadlineMs;',
    'this.#heldUntilMs = clock.nowMs() + 2 * times.durationMs;',
  ),
  // Lost watches.
  one(
    'a deletion is not told',
    'src/kube/reflector.ts',
    'this.#tell(this.#store.remove(event.object));',
    '',
  ),
  one(
    'a watch that broke off is the last one',
    'src/kube/reflector.ts',
    'await this.#recover(error, signal);',
    'return;',
  ),
  // Others write to the same objects. What a write holds on to is what was seen.
  ofOthers(
    'what others put on a new Node is written over',
    'src/agent/patches.ts',
    '...(annotations === undefined || isFirst ? [sameVersion(node)] : []),',
    '',
  ),
  ofOthers(
    'a list of finalizers is written as it was seen',
    'src/agent/patches.ts',
    "    { op: 'test', path, value: finalizers },\n    { op: 'replace', path, value },",
    "    { op: 'replace', path, value },",
  ),
  ofOthers(
    'whatever stands where our finalizer stood is taken off',
    'src/kube/finalizers.ts',
    "{ op: 'test', path, value: finalizer },",
    '',
  ),
  ofOthers(
    'what others tell of a claim is written over when it grows',
    'src/operator/resizer-pair.ts',
    "const options = { subresource: 'status', signal };",
    "const options = { subresource: 'status', signal };\n      Reflect.deleteProperty((body as never)['metadata'], 'resourceVersion');",
  ),
  ofLeaders(
    'a lease is written over',
    'src/kube/claim.ts',
    'await client.update(leaseKind, lease, this.#patience());',
    "await client.patch(leaseKind, metadata, { type: 'merge', body: { spec } }, this.#patience());",
  ),
  // Nodes that leave.
  ofRemovals(
    'what is on a node goes with its Node',
    'src/core/cluster/nodes.ts',
    "if (word === 'volumes' && volumes.length > 0)",
    'if (volumes.length > 0)',
  ),
  ofRemovals(
    'a volume is given up while its node is in the cluster',
    'src/core/cluster/nodes.ts',
    'if (isGivenUp && (node === undefined || isBegun))',
    'if (isGivenUp)',
  ),
  ofRemovals(
    'a Node that leaves is held up',
    'src/operator/nodes.ts',
    'await this.#release(node, signal);',
    '',
  ),
  ofRemovals(
    'a volume that was given up stays',
    'src/operator/nodes.ts',
    "if (isMeant && decideStranded(now, node, names).kind === 'discard') {",
    'if (0 > 1) {',
  ),
  ofRemovals(
    'the capacity of a node that is gone stays',
    'src/operator/capacity.ts',
    'await client.delete(csiStorageCapacityKind, { namespace, name }, { uid, signal });',
    'void signal;',
  ),
  // Kubelet, which asks again and again.
  one(
    'a volume is mounted over itself',
    'src/core/publication/plan.ts',
    'const top = observed.here.at(-1);',
    'const top = observed.here.at(9);',
  ),
  one(
    'a directory counts as a mount',
    'src/core/publication/plan.ts',
    'const common = { path: target.path, isReadOnly };',
    'if (0 < 1) return restPublished; const common = { path: target.path, isReadOnly };',
  ),
  one(
    'a file system stays as small as it was',
    'src/core/publication/plan.ts',
    'if (isFull) return restPublished;',
    'if (isFull || 0 < 1) return restPublished;',
  ),
  one(
    'a raw volume shows what others left',
    'src/csi/node.ts',
    'const zeroFirst = showsOldBlocks(lv) &&',
    'const zeroFirst = 0 > 1 &&',
  ),
];
