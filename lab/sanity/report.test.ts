import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countsOf, parseReport, showCounts, skipsByReason } from './report.ts';

const containers = ['Node Service [Node Server]', 'NodeStageVolume'];
const spec = { ContainerHierarchyTexts: containers, LeafNodeType: 'It', LeafNodeText: 'works' };
const at = { FileName: 'some/where/node.go', LineNumber: 7 };

function reportOf(specs: readonly object[], reasons: readonly string[] | null = null) {
  const suite = { SuiteConfig: { RandomSeed: 5 }, SpecialSuiteFailureReasons: reasons };
  return parseReport(JSON.stringify([{ ...suite, SpecReports: specs }]));
}

test('what passed, failed and was skipped for a known reason is counted', () => {
  const report = reportOf([
    { ...spec, State: 'passed' },
    { ...spec, State: 'failed', Failure: { Message: 'no luck', Location: at } },
    { ...spec, State: 'skipped', Failure: { Message: 'NodeStageVolume not supported' } },
    { ...spec, State: 'pending' },
  ]);
  assert.equal(showCounts(countsOf(report)), '1 passed, 1 failed, 2 skipped');
  assert.equal(report.seed, 5);
  assert.deepEqual(report.failed, [
    { spec: 'Node Service NodeStageVolume works', reason: 'failed at node.go:7: no luck' },
  ]);
  const [[reason = '', specs] = []] = skipsByReason(report);
  assert.match(reason, /^NodeStageVolume not supported \(.*nothing is staged\)$/);
  assert.deepEqual(specs, ['Node Service NodeStageVolume works']);
});

test('a skip that nobody can explain is a failure', () => {
  for (const Message of ['Volume Cloning not supported', 'CreateSnapshot not supported', '']) {
    const report = reportOf([{ ...spec, State: 'skipped', Failure: { Message } }]);
    assert.equal(showCounts(countsOf(report)), '0 passed, 1 failed, 0 skipped');
  }
});

test('every state that is neither passed nor skipped is a failure', () => {
  for (const State of ['panicked', 'interrupted', 'aborted', 'timedout', 'something new']) {
    assert.equal(countsOf(reportOf([{ ...spec, State }])).failed, 1);
  }
});

test('a clean-up of the whole suite counts only when it fails', () => {
  const cleanUp = { LeafNodeType: 'AfterSuite', LeafNodeText: '', ContainerHierarchyTexts: null };
  assert.equal(countsOf(reportOf([{ ...cleanUp, State: 'passed' }])).passed, 0);
  const failed = reportOf([{ ...cleanUp, State: 'failed' }]);
  assert.deepEqual(failed.failed, [{ spec: 'AfterSuite', reason: 'failed' }]);
});

test('a suite that fails as a whole has failed', () => {
  assert.deepEqual(reportOf([{ ...spec, State: 'passed' }], ['Suite Timeout Elapsed']).failed, [
    { spec: 'the suite', reason: 'Suite Timeout Elapsed' },
  ]);
});
