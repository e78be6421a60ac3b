import assert from 'node:assert/strict';
import test from 'node:test';
import type { Operator } from '../../src/operator/operator.ts';
import { ourAgent } from './our-agent.ts';
import { seenOperator } from './our-operator.ts';
import { ClusterStage } from './stage.ts';

const of = (method: string) => `csi.v1.Controller/${method}`;

test('what is done for claims and snapshots is counted, though nobody calls', async () => {
  let operator: Operator | undefined;
  const program = seenOperator((seen) => {
    operator = seen;
  });
  const stage = new ClusterStage({ agent: ourAgent, operator: program });
  await stage.start();
  const figure = (name: string) => {
    const lines = operator?.metrics.text().split('\n') ?? [];
    return Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1) ?? 0);
  };
  const ended = (method: string, code = 'OK') =>
    figure(`quarry_operations_total{method="${of(method)}",code="${code}"}`);
  const capacity = () => stage.admin.claim('data')?.status?.capacity?.['storage'];

  stage.claim('data', { className: 'at-once', size: '300Mi' });
  await stage.until('it is bound', () => stage.admin.claim('data')?.status?.phase === 'Bound');
  assert.equal(ended('CreateVolume'), 1);
  const seconds = `quarry_operation_duration_seconds_count{method="${of('CreateVolume')}"}`;
  assert.equal(figure(seconds), 1);

  stage.resize('data', '500Mi');
  stage.pod('p', 'data');
  await stage.until('it has grown', () => capacity() === '500Mi');
  assert.equal(ended('ControllerExpandVolume'), 1);

  stage.snapshot('s', 'data');
  await stage.until('it is ready', () => stage.admin.snapshot('s')?.status?.readyToUse === true);
  assert.equal(ended('CreateSnapshot'), 1);
  stage.deleteSnapshot('s');
  await stage.until('it is gone', () => ended('DeleteSnapshot') === 1);

  stage.pods.delete('p');
  stage.deleteClaim('data');
  await stage.until('all is gone', () => stage.admin.volumes.length === 0);
  assert.equal(ended('DeleteVolume'), 1);

  stage.claim('huge', { className: 'at-once', size: '300Ti' });
  await stage.advance(60_000);
  assert.ok(ended('CreateVolume', 'RESOURCE_EXHAUSTED') > 0);
  const failures = (fault: string) =>
    figure(`quarry_failures_total{method="${of('CreateVolume')}",fault="${fault}"}`);
  assert.ok(failures('administrator') > 0);
  assert.equal(failures('system'), 0);
});
