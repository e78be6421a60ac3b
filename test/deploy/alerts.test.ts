import assert from 'node:assert/strict';
import test from 'node:test';
import { alerts } from '../../tools/manifests-monitoring.ts';
import { evaluate, rangeCall, type Series } from './expressions.ts';

const group = { node: 'n1', device_class: 'vg1' };
const pod = { pod: 'vg-manager-a' };
const nowSeconds = 1000;

type Made = (value: number) => readonly Series[];

/** Of each alert what it looks at, values that wake somebody, and values that do not. */
const rows: readonly (readonly [string, Made, readonly number[], readonly number[]])[] = [
  ['QuarryCallsFailFast', calls('QuarryCallsFailFast'), [0.02, 1], [0, 0.014]],
  ['QuarryCallsFailSlowly', calls('QuarryCallsFailSlowly'), [0.007], [0, 0.006]],
  ['QuarryClaimsFail', calls('QuarryClaimsFail'), [0.06], [0, 0.05]],
  ['QuarryClaimsSlow', calls('QuarryClaimsSlow'), [0.94], [0.96, 1]],
  ['QuarryMountsSlow', calls('QuarryMountsSlow'), [0.94], [0.96, 1]],
  ['QuarryLvmSlow', calls('QuarryLvmSlow'), [0.94], [0.96, 1]],
  ['QuarryHostNotSeen', plain('quarry_last_look_seconds', pod), [699], [700, 1000]],
  ['QuarryAgentDown', plain('up{job=~".*/vg-manager"}', pod), [0], [1]],
  ['QuarryRestartsOften', calls('QuarryRestartsOften'), [4], [3]],
  ['QuarryNobodyLeads', plain('quarry_leader', pod), [0], [1]],
  ['QuarryNobodyLeads', () => [], [0], []],
  ['QuarryApiServerTrouble', calls('QuarryApiServerTrouble'), [0.3], [0.1]],
  ['QuarryOrphans', plain('quarry_orphan_volumes', { reason: 'NoClaim' }), [1], [0]],
  ['QuarryStrays', plain('quarry_stray_volumes', pod), [1], [0]],
  ['QuarryThinPoolDataAlmostFull', plain('topolvm_thinpool_data_percent'), [81], [80]],
  ['QuarryThinPoolDataFull', plain('topolvm_thinpool_data_percent'), [96], [95]],
  ['QuarryThinPoolMetadataAlmostFull', plain('topolvm_thinpool_metadata_percent'), [81], [80]],
  ['QuarryThinPoolMetadataFull', plain('topolvm_thinpool_metadata_percent'), [96], [95]],
  ['QuarryVolumeGroupAlmostFull', volumeGroup, [4], [5, 90]],
  // A pool takes all of its group, and has alerts of its own.
  ['QuarryVolumeGroupAlmostFull', withPool, [], [0, 4]],
  ['QuarryRaidDegraded', plain('lvms_raid_health_status'), [1], [0, 2]],
  ['QuarryRaidFailed', plain('lvms_raid_health_status'), [2], [0, 1]],
  ['QuarryRaidSyncSlow', synchronizing(1), [0, 0.9], [1, 30]],
  ['QuarryRaidSyncSlow', synchronizing(0), [], [0]],
  ['QuarryConfigurationRefused', plain('quarry_configuration_good', pod), [0], [1]],
  ['QuarryClassRefused', plain('quarry_device_class_refused'), [1], [0]],
  ['QuarryQueueLong', plain('quarry_queue_length'), [101], [100]],
];

for (const [name, series, fires, rests] of rows) {
  test(`${name} comes with ${fires.join(', ') || 'none'} and not with ${rests.join(', ')}`, () => {
    const { expr } = alerts.find(({ alert }) => alert === name) ?? {};
    assert.ok(expr !== undefined);
    const isOn = (value: number) => evaluate(expr, series(value), nowSeconds).length > 0;
    assert.deepEqual(
      fires.map(isOn),
      fires.map(() => true),
    );
    assert.deepEqual(
      rests.map(isOn),
      rests.map(() => false),
    );
  });
}

test('every alert was tried', () => {
  const tried = new Set(rows.map(([name]) => name));
  assert.deepEqual(
    alerts.map(({ alert }) => alert).filter((name) => !tried.has(name)),
    [],
  );
});

test('a RAID that lost a copy is a warning, one that is lost wakes somebody', () => {
  const severity = (name: string) => alerts.find(({ alert }) => alert === name)?.severity;
  assert.deepEqual(['QuarryRaidDegraded', 'QuarryRaidFailed', 'QuarryRaidSyncSlow'].map(severity), [
    'warning',
    'critical',
    'warning',
  ]);
});

test('labels of an alert are those that its text names', () => {
  const [found] = evaluate('sum by (reason) (a) > 1', [
    ['a', { reason: 'x', pod: 'p' }, 1],
    ['a', { reason: 'x', pod: 'q' }, 1],
    ['a', { reason: 'y', pod: 'q' }, 1],
  ]);
  assert.deepEqual(found, { labels: { reason: 'x' }, value: 2 });
});

function plain(name: string, labels: Readonly<Record<string, string>> = group): Made {
  return (value) => [[name, labels, value]];
}

/** One of one: what fails, is fast or restarts, in every window. */
function calls(name: string): Made {
  const { expr = '' } = alerts.find(({ alert }) => alert === name) ?? {};
  return (value) =>
    (expr.match(rangeCall) ?? []).map((call) => {
      const isPart = /fault=|code=|_bucket/.test(call);
      const isAll = !isPart && /_total[[{]|_count[[{]/.test(call) && /\/ /.test(expr);
      return [call, pod, isAll ? 1 : value] as const;
    });
}

function volumeGroup(percentFree: number): readonly Series[] {
  return [
    ['topolvm_volumegroup_available_bytes', { ...group, ...pod }, percentFree],
    ['topolvm_volumegroup_size_bytes', { ...group, ...pod }, 100],
  ];
}

function withPool(percentFree: number): readonly Series[] {
  return [...volumeGroup(percentFree), ['topolvm_thinpool_size_bytes', group, 90]];
}

/** How far it came within half an hour. */
function synchronizing(inProgress: number): Made {
  return (moved) => [
    ['lvms_raid_sync_in_progress', group, inProgress],
    ['max_over_time(lvms_raid_sync_percent[30m])', group, 40 + moved],
    ['min_over_time(lvms_raid_sync_percent[30m])', group, 40],
  ];
}
