import assert from 'node:assert/strict';
import test from 'node:test';
import { GiB } from '../../src/base/bytes.ts';
import { failures } from '../../src/base/failures.ts';
import type { Format } from '../../src/cli/output.ts';
import { plan } from '../../src/cli/plan.ts';
import { surroundings } from '../samples/surroundings.ts';
import { plainDisks } from '../world/devices.ts';
import { Stage } from './stage.ts';

async function planned(stage: Stage, format: Format = 'text') {
  const lines: string[] = [];
  const say = (text: string) => lines.push(text);
  const { host, engine } = stage;
  const context = { ...surroundings, path: '', version: '0', print: say, warn: say, host, engine };
  const isClear = await stage.run(plan(context, stage.node, format));
  return { isClear, text: lines.join('\n') };
}

test('a plan that is blocked says why, and what to do about it', async () => {
  const [disk] = plainDisks(1, 4n * GiB);
  assert.ok(disk !== undefined);
  const taken = { path: '/dev/sdy', sizeBytes: GiB, fileSystem: 'xfs' };
  const { isClear, text } = await planned(new Stage({ devices: [disk, taken] }));
  assert.equal(isClear, false);
  const { hint } = failures.DeviceNotUsable;
  const lines = text.split('\n');
  const at = lines.findIndex((line) =>
    /^Blocked: volume group data: DeviceNotUsable: .*sdy/.test(line),
  );
  assert.notEqual(at, -1, text);
  assert.equal(lines[at + 1]?.trim(), hint);
});

test('a plan that is clear gives no advice', async () => {
  const { isClear, text } = await planned(new Stage());
  assert.equal(isClear, true);
  assert.match(text, /Would do:\n {2}1\. create volume group data/);
  assert.doesNotMatch(text, /Blocked/);
});

test('a program reads the plan of one host as that of a cluster', async () => {
  const { isClear, text } = await planned(new Stage(), 'json');
  const told = JSON.parse(text) as Record<string, unknown> & { readonly nodes: readonly object[] };
  assert.deepEqual(Object.keys(told), ['apiVersion', 'kind', 'isClear', 'nodes']);
  assert.deepEqual([told['kind'], told['isClear'], isClear], ['Plan', true, true]);
  assert.deepEqual(Object.keys(told.nodes[0] ?? {}), ['isTold', 'devices', 'steps', 'blocks']);
});
