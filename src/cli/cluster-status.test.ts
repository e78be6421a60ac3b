import assert from 'node:assert/strict';
import test from 'node:test';
import * as sample from '../../test/samples/cluster-picture.ts';
import type { ClusterPicture } from '../core/doctor/picture.ts';
import { clusterSummary } from '../core/doctor/summary.ts';
import { clusterStatusText, type StatusText } from './cluster-status.ts';
import { painterFor } from './paint.ts';

function text(change: Partial<ClusterPicture> = {}, manner: Partial<StatusText> = {}): string {
  const summary = clusterSummary({ ...sample.healthy, ...change });
  const paint = painterFor({ hasColours: false });
  return clusterStatusText({
    ...{ summary, findings: 0, program: 'quarry', isWide: false, paint },
    ...manner,
  });
}

test('a cluster that is well fits on a screen', () => {
  assert.equal(
    text(),
    `LVMCLUSTER          STATE
quarry-system/mine  Ready

NODE  GROUP  STATE  SIZE     FREE    DEVICES            RAID     REASON
n1    safe   Ready  100 GiB  10 GiB  /dev/sdd,/dev/sde  Healthy
n1    vg1    Ready  100 GiB  10 GiB  /dev/sdb,/dev/sdc  -
n2    safe   Ready  100 GiB  10 GiB  /dev/sdd,/dev/sde  Healthy
n2    vg1    Ready  100 GiB  10 GiB  /dev/sdb,/dev/sdc  -

STORAGECLASS  DEVICE CLASS  BINDING               RECLAIM  VOLUMES  NODES  LARGEST
lvms-safe     safe          WaitForFirstConsumer  Delete   0        2      10 GiB
lvms-vg1      vg1           WaitForFirstConsumer  Delete   1        2      10 GiB

ROLE      READY  VERSION  NOTE
operator  2/2    0.1.0    led by lvms-operator-a
agent     2/2    0.1.0

1 volume (1 GiB), 0 snapshots, 0 claims waiting, 0 refused

Nothing is wrong.`,
  );
});

test('what is not well is told in its place, and where more of it is', () => {
  const told = text(
    {
      clusters: [sample.lateCluster('VGsDegraded')],
      reports: [
        sample.report('n1', sample.groupStatus({ status: 'Degraded', reason: 'data 96 % full' })),
      ],
      pods: [sample.pod('vg-manager-1', 'node', { status: sample.notReady })],
      claims: Array.from({ length: 12 }, (_, at) => sample.claim(`c${at}`, { phase: 'Pending' })),
    },
    { findings: 3, program: 'kubectl quarry' },
  );
  for (const line of [
    /^ {2}VolumeGroupsReady is not true: VGsDegraded\n {4}vg1 on n1: Progressing$/m,
    /^n1 {4}vg1 {4}Degraded .* data 96 % full$/m,
    /^agent {2}0\/1 .* n1: CrashLoopBackOff/m,
    /12 claims waiting/,
    /^ {2}waiting default\/c0: for its first pod$/m,
    /^ {2}and 2 more: -o wide shows them$/m,
    /^3 things are wrong: `kubectl quarry doctor` explains\.$/m,
  ]) {
    assert.match(told, line);
  }
});

test('wide names every pod, every disk that is left alone, and the room of every node', () => {
  const told = text({}, { isWide: true });
  for (const line of [
    /^n1 {4}vg1 {4}\/dev\/sda {4}it has a gpt partition table$/m,
    /^lvms-vg1 {6}n2 {4}10 GiB {5}10 GiB$/m,
    /^agent {5}vg-manager-2 {5}n2 {4}yes {4}0 {9}example\/quarry:0\.1\.0@sha256/m,
  ]) {
    assert.match(told, line);
  }
});

test('nobody is told that all is well where not all was read', () => {
  const unseen = [{ part: 'pods', message: 'Forbidden: no' }] as const;
  const told = text({ unseen });
  assert.match(told, /Could not be read, and nothing is said of it:\n {2}pods: Forbidden: no/);
  assert.match(told, /Nothing is wrong in what could be read\.$/);
});

test('colours have no width, and none are there unless they were asked for', () => {
  const colourful = text({}, { paint: painterFor({ hasColours: true }) });
  const [on, off] = ['\u001b[32m', '\u001b[0m'];
  assert.ok(colourful.includes(`${on}Ready${off}  100 GiB`), colourful);
  assert.equal(colourful.replaceAll(on, '').replaceAll(off, ''), text());
});
