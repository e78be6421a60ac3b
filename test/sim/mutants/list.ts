/** Deliberately broken variants of the product. The simulator must catch every one of them. */
export type Mutant = {
  readonly name: string;
  readonly edits: readonly {
    readonly file: string;
    /** Stands exactly once in the file, so that a mutant cannot rot unnoticed. */
    readonly find: string;
    readonly replace: string;
  }[];
};

const volume = 'src/core/volume/plan.ts';
const clone = 'src/core/clone/plan.ts';
const snapshot = 'src/core/snapshot/plan.ts';
const capacity = 'src/core/capacity.ts';
const permit = 'src/core/permit.ts';
const identity = 'src/core/identity.ts';
const lane = 'src/engine/lane.ts';
const model = 'src/engine/model.ts';
const argv = 'src/lvm/argv.ts';

function one(name: string, file: string, find: string, replace: string): Mutant {
  return { name, edits: [{ file, find, replace }] };
}

export const mutants: readonly Mutant[] = [
  one(
    'size compared exactly after rounding',
    volume,
    'if (lv.sizeBytes < desired.sizeBytes) {',
    'if (lv.sizeBytes !== desired.sizeBytes) {',
  ),
  one(
    'permit to remove ignores whose volume it is',
    permit,
    'if (!isOurs(lv.tags) &&',
    'if (0 > 1 &&',
  ),
  {
    name: 'snapshots are removed with their origin',
    edits: [
      { file: permit, find: 'if (dependents.length > 0) {', replace: 'if (0 > 1) {' },
      { file: argv, find: "'lv_attr!~^[oO]'", replace: "'lv_uuid!~^o'" },
    ],
  },
  one(
    'a refused removal counts as done',
    volume,
    '  if (isBlocked(permit)) return permit;',
    '  if (isBlocked(permit)) return rest;',
  ),
  one('spare is given out', capacity, 'return free > spare ? free - spare : 0n;', 'return free;'),
  one(
    'growing gives the spare away',
    volume,
    'return thickRoom(lv, growth, vg, deviceClass.spareBytes);',
    'return thickRoom(lv, growth, vg, bytes(0));',
  ),
  one(
    'snapshots give the spare away',
    snapshot,
    'const free = times(freeExtents(vg, desired.deviceClass.spareBytes), vg.extentSizeBytes);\n  if',
    'const free = vg.freeBytes;\n  if',
  ),
  one(
    'snapshots are grown beyond what LVM gives',
    snapshot,
    'return bytes((chunks + notes + 2n) * cowChunkBytes);',
    'return bytes((chunks + 2n * notes + 256n) * cowChunkBytes);',
  ),
  one(
    'a thin pool promises without end',
    capacity,
    'const availableBytes = minus(sizeBytes, promised);',
    'const availableBytes = sizeBytes;',
  ),
  one(
    'room is refused that is there',
    capacity,
    'return area > 0n ? area * BigInt(geometry.dataColumns) : 0n;',
    'return area > 3n ? (area - 3n) * BigInt(geometry.dataColumns) : 0n;',
  ),
  one(
    'a lost volume is made anew',
    identity,
    'if (uuid === undefined || lv?.uuid === uuid) return undefined;',
    'if (known.name !== "") return undefined;',
  ),
  one(
    'a source is known by its name alone',
    identity,
    'const isOther = wanted.sourceUuid !== undefined && source?.uuid !== wanted.sourceUuid;',
    'const isOther = false;',
  ),
  one(
    'the origin that a snapshot really got is not looked at',
    snapshot,
    'if (originUuid !== desired.sourceUuid) {',
    'if (0 > 1) {',
  ),
  one(
    'activation is forgotten',
    volume,
    "if (!lv.isActive) return next({ kind: 'activate-lv', ...target });",
    '',
  ),
  one(
    'growth is rounded down',
    volume,
    'const extents = countUp(countUp(wanted, vg.extentSizeBytes), columns) * columns;',
    'const extents = (wanted / vg.extentSizeBytes / columns) * columns;',
  ),
  one(
    'the owner is not written',
    'src/core/volume/desired.ts',
    'const marks = [ownerTag, ...begun,',
    'const marks = [...begun,',
  ),
  one(
    'a copy is declared complete half-way',
    clone,
    'if (left <= 0n) {',
    'if (left <= frozen.sizeBytes / 2n) {',
  ),
  {
    name: 'the end of a larger copy is zeroed from its start',
    edits: [
      {
        file: clone,
        find: 'return planEnd(vg, clone, { offsetBytes: copied, add, over });',
        replace: 'return planEnd(vg, clone, { offsetBytes: noBytes, add, over });',
      },
      { file: permit, find: 'fromBytes: fromBytes ?? noBytes,', replace: 'fromBytes: noBytes,' },
    ],
  },
  one(
    'a copy is not marked as unfinished',
    clone,
    '[...tagsFor(desired, source), copyingTag]',
    'desired.tags',
  ),
  one(
    'the source is copied while it lives',
    clone,
    "pair.source.kind === 'cow-snapshot' ? pair.source : copySourceOf(desired, vg)",
    'pair.source',
  ),
  one(
    'the snapshot that a copy reads from stays behind',
    clone,
    'if (helper !== undefined) return planRemovalOf(vg, helper, {});',
    '',
  ),
  one(
    'deleting half a copy leaves its helper',
    volume,
    "if (helper !== undefined && readTag(helper.tags, 'role') === copySourceRole) {",
    'if (0 > 1) {',
  ),
  one(
    'a clone is read-only',
    clone,
    'return next({ ...decision.step, isReadOnly: false, tags });',
    'return next({ ...decision.step, isReadOnly: true, tags });',
  ),
  one(
    'an overflowed snapshot is as good as any',
    snapshot,
    'if (snapshot.isInvalid) {',
    'if (0 > 1) {',
  ),
  one(
    'a prediction is reported as a fact',
    lane,
    "if (decision.kind !== 'step' || needsLook(decision.step)) break;",
    "if (decision.kind === 'rest') job.settle(host);\n        if (decision.kind !== 'step' || needsLook(decision.step)) break;",
  ),
  one(
    'a snapshot of whatever bears the name is believed',
    'src/core/witness.ts',
    'const isMeant = identityOf(origin, step.vgUuid) === step.originUuid;',
    'const isMeant = origin !== undefined;',
  ),
  one(
    'a failed step counts as success',
    lane,
    'else return concludeStep(job, decision.step);',
    'else if (job.failure !== undefined) job.settle(host);\n' +
      '    else return concludeStep(job, decision.step);',
  ),
  one('resume is forgotten', lane, 'this.#suspects.add(step.vgUuid);', '{}'),
  one(
    'what an earlier life left suspended stays so',
    'src/engine/engine.ts',
    'for (const vg of ours) {',
    'for (const vg of ours.slice(99)) {',
  ),
  one(
    'an old report is good enough',
    model,
    'this.#newest.startedAt >= change',
    'this.#newest.startedAt >= 0 * change',
  ),
  one(
    'a half-made snapshot passes for a whole one',
    snapshot,
    "return lv.kind === 'linear' && isOurs(lv.tags) && isSnapshot;",
    "return lv.kind === 'thin-pool' && isOurs(lv.tags) && isSnapshot;",
  ),
  one(
    'a half-made pool stays for ever',
    'src/core/thin-pool/plan.ts',
    'if (isHalfMade(pool)) return planRemovalOf(vg, pool, {});',
    '',
  ),
  one(
    'what is left of a half-made pool stays for ever',
    'src/core/thin-pool/plan.ts',
    'if (left !== undefined && (pool === undefined || isHalfMade(pool))) {',
    "if (left?.uuid === 'never') {",
  ),
  one(
    'a group whose disks are gone is made anew',
    'src/core/volume-group/plan.ts',
    'if (uuid !== undefined) {',
    "if (uuid === 'never') {",
  ),
  one(
    'a foreseen volume is acted on',
    'src/core/stale.ts',
    'return uuids.some(isForeseen);',
    'return false;',
  ),
  one(
    'a device with a file system is taken',
    'src/core/device/plan.ts',
    'unfit.length > 0 ? unfit : data',
    'unfit',
  ),
  one(
    'a device in use is taken',
    'src/core/device/reasons.ts',
    'return applyRules([...unfitRules, ...inUseRules], device);',
    'return applyRules([...unfitRules], device);',
  ),
];
