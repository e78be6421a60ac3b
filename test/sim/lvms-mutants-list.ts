import type { ClusterMutant } from './cluster-mutants-list.ts';

const plan = 'src/core/lvm-cluster/plan.ts';
const wish = 'src/core/lvm-cluster/node-wish.ts';
const status = 'src/core/lvm-cluster/status.ts';
const agent = 'src/agent/volume-groups.ts';
const operator = 'src/operator/lvm-clusters.ts';
const deeds = 'src/operator/lvm-clusters-deeds.ts';
const devices = 'src/core/device/plan.ts';
const reasons = 'src/core/device/reasons.ts';
const release = 'src/core/lvm-cluster/release.ts';
const groupPlan = 'src/core/volume-group/plan.ts';
const engine = 'src/engine/engine.ts';

function one(name: string, file: string, find: string, replace: string): ClusterMutant {
  return { name, of: 'lvms', edits: [{ file, find, replace }] };
}

/** What becomes of LVMClusters, deliberately broken: random stories must catch every one of them. */
export const lvmsMutants: readonly ClusterMutant[] = [
  // What an operator plans.
  one('a class goes with volumes in it', plan, 'if (held.length > 0) {', 'if (0 > 1) {'),
  one(
    'an LVMCluster goes with volumes in it',
    plan,
    'if (waits.length > 0) return { deeds: freed, troubles: [], waits };',
    '',
  ),
  one('an LVMCluster goes before its groups', plan, 'if (groups.length > 0) {', 'if (0 > 1) {'),
  one(
    'an LVMCluster goes before its reports',
    plan,
    'if (view.reports.length > 0) {',
    'if (0 > 1) {',
  ),
  one(
    'an LVMCluster is not marked',
    plan,
    'if (!(cluster.metadata.finalizers ?? []).includes(clusterFinalizer)) {',
    'if (0 > 1) {',
  ),
  one(
    'what the webhook would have refused is acted upon',
    plan,
    'const wrong = problems.filter(({ isStrict }) => !isStrict).map(showProblem);',
    'const wrong = problems.filter(() => 0 > 1).map(showProblem);',
  ),
  one(
    'a change that can never be is written to a group',
    plan,
    'return findings.problems.map(showProblem);',
    'return [];',
  ),
  one(
    'LVs that nothing else tells of do not count',
    'src/core/lvm-cluster/gate.ts',
    '...own.map(',
    '...[].map(',
  ),
  // What an operator does.
  one(
    'of two LVMClusters the newer one counts',
    operator,
    'const [first, ...others] = [...kinds.clusters.values()].toSorted(byAge);',
    'const [first, ...others] = [...kinds.clusters.values()].toSorted(byAge).toReversed();',
  ),
  one(
    'a status is written again and again',
    operator,
    'if (isSameJson(status, cluster.status ?? {})) return;',
    '',
  ),
  one(
    'a group keeps what was wanted first',
    deeds,
    "{ op: 'add', path: '/spec', value: spec },",
    '',
  ),
  one(
    'a report keeps its mark',
    deeds,
    'return release(lvmNodeStatusKind, deed.report, reportFinalizer, means);',
    'return;',
  ),
  // What is told.
  one(
    'a group that is not well is told as Ready',
    status,
    "if (status === 'Ready') return [];",
    "if (status !== 'Progressing') return [];",
  ),
  one(
    'a time is told that is always now',
    status,
    'lastTransitionTime: old?.lastTransitionTime ?? nowText',
    'lastTransitionTime: old === undefined ? nowText : nowText',
  ),
  one(
    'disks that are left alone are not told',
    'src/core/lvm-cluster/node-report.ts',
    "device.state === 'left-alone'",
    "device.state === 'used'",
  ),
  // What an agent wants of its node.
  one(
    'a group is begun without a mark',
    wish,
    'const served = meant.filter(isMarked);',
    'const served = meant;',
  ),
  {
    name: 'a node that is not meant takes part',
    of: 'lvms',
    edits: [
      {
        file: wish,
        find: 'isSelected(node, spec?.nodeSelector),',
        replace: 'isSelected(node, undefined),',
      },
      {
        file: wish,
        find: 'isMeant(node, group.spec?.nodeSelector, tolerations);',
        replace: 'isMeant(node, undefined, tolerations);',
      },
    ],
  },
  one(
    'disks may be wiped again and again',
    wish,
    'return !isWiped && ever.every((names) => !names.has(metadata.name));',
    'return true || isWiped || ever.length > 0;',
  ),
  one(
    'a group is let go while it is there',
    wish,
    "volumeGroups: volumeGroups.map((vg) => ({ ...vg, presence: 'absent' }) as const),",
    'volumeGroups: [] as DesiredVg[],',
  ),
  // What an agent does.
  {
    name: 'what was made is forgotten',
    of: 'lvms',
    edits: [
      {
        file: agent,
        find: 'if (uuid !== undefined) await this.#memory.learn(vg.name, uuid);',
        replace: 'void uuid;',
      },
      {
        file: 'src/agent/group-memory.ts',
        find: 'if (this.#forgotten.has(name) || !this.#known.has(name)) await',
        replace: 'if (this.#forgotten.has(name)) await',
      },
    ],
  },
  one(
    'a pool is not made',
    agent,
    'for (const pool of desired.thinPools) {',
    'for (const pool of []) {',
  ),
  one('a group that cannot go counts as gone', agent, 'return whyOf(error);', 'return undefined;'),
  one(
    'nobody knows whose labels are left',
    'src/agent/group-memory.ts',
    'return keys.filter((key) => isPvOf(name, key)).map((key) => key.slice(name.length + 1));',
    'return keys.filter(() => 0 > 1);',
  ),
  one(
    'words of an administrator are written over',
    'src/api/lvm-cluster/lvmd-text.ts',
    'return group === undefined || isOfAnotherGroup(entry) ? entry : updated(entry, group);',
    'return group === undefined ? entry : entryFor(group);',
  ),
  // Which devices are taken.
  one(
    'a disk that comes later is not looked for',
    devices,
    '.some((path) => !members.includes(path));\n}\n\nfunction inThisGroup',
    '.some((path) => 0 > 1 && path === members[0]);\n}\n\nfunction inThisGroup',
  ),
  one(
    'a class takes disks that it does not name',
    devices,
    "if (desired.selector.kind === 'paths' && !isNamed(device, desired.selector)) {",
    'if (0 > 1) {',
  ),
  one(
    'a class that takes no new disks takes them',
    'src/core/node.ts',
    "takesNewDevices: spec.ownership === 'managed' && !isStatic(devices),",
    "takesNewDevices: spec.ownership === 'managed',",
  ),
  one(
    'of two disks that say they are one both are taken',
    devices,
    "return [{ reason: 'ambiguous', message }];",
    'return message === "" ? [] : [];',
  ),
  one(
    'a disk that is open is free',
    reasons,
    "if (device.exclusiveOpen === 'free') return undefined;",
    "if (device.exclusiveOpen !== 'unknown') return undefined;",
  ),
  one(
    'a disk that is read-only is fit',
    reasons,
    "(device.isReadOnly ? 'it is read-only' : undefined)",
    '(device.isReadOnly ? undefined : undefined)',
  ),
  // Devices that leave.
  one(
    'nobody is told which devices shall leave',
    release,
    'return text === annotations[key] ? [] : [[key, text] as const];',
    'return text === annotations[key] ? [] : [];',
  ),
  one(
    'a device that is named again is forgotten while it is emptied',
    release,
    "all.filter(([path, pv]) => pv !== '' || !named.has(path))",
    'all.filter(([path]) => !named.has(path))',
  ),
  one(
    'a device that left is forgotten with its label on it',
    release,
    'return pv === undefined && isLabelled ? [[path, uuid] as const] : [];',
    'return pv === undefined && isLabelled ? [] : [];',
  ),
  one(
    'a device that stays keeps another one from being bare',
    groupPlan,
    'planReleasedLabel(desired, node) ?? planRelease(desired, vg, { node, choice });',
    'planRelease(desired, vg, { node, choice }) ?? planReleasedLabel(desired, node);',
  ),
  one(
    'a move that was begun is left half done',
    groupPlan,
    'if (begun !== undefined) return evacuation(vg, begun);',
    '',
  ),
  one(
    'a device leaves with volumes on it',
    groupPlan,
    'if (pv.freeBytes === pv.sizeBytes) {',
    'if (pv.freeBytes <= pv.sizeBytes) {',
  ),
  one(
    'a move that has ended counts as running',
    'src/engine/moves.ts',
    'this.#running.delete(step.vg);',
    '',
  ),
  one(
    'a move that failed is never tried again',
    'src/engine/moves.ts',
    '    this.#failed.delete(step.vg);\n    if (failure',
    '    if (failure',
  ),
  // What lives through a power cut, and through a life of an agent.
  one(
    'what an earlier life did is not flushed',
    engine,
    'const isFirst = !this.#flushed.has(vg);',
    'const isFirst = 0 > 1;',
  ),
  one(
    'a label goes before it is kept that its group has gone',
    engine,
    "if (decision.step.kind === 'remove-pv') await this.flush(task.vg, node);",
    '',
  ),
  one(
    'a group is told of before its disks keep it',
    engine,
    'if (present.length > 0) await host.flush(present);',
    '',
  ),
  one(
    'a group whose disks are away is made a second time',
    groupPlan,
    'if (uuid !== undefined) {\n    const renamed',
    'if (0 > 1) {\n    const renamed',
  ),
  one(
    'an object is let go before its group is gone',
    agent,
    'for (const group of gone) await this.#marks.unmark(group, signal);',
    'for (const group of wish.leaving) await this.#marks.unmark(group, signal);',
  ),
  one(
    'what is wiped is not written down',
    agent,
    'await this.#memory.noteWipes(wipes);',
    'void wipes;',
  ),
  one(
    'a disk that was wiped once is wiped again',
    'src/core/device/wipes.ts',
    'if (known !== undefined && !isSame) {',
    'if (known !== undefined && !isSame && 0 > 1) {',
  ),
  // What is heard.
  one('nobody hears of disks', agent, 'engine.onDevices(changed),', ''),
];
