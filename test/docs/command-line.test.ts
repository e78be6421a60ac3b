import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { load } from 'js-yaml';
import { commands } from '../../src/cli/commands.ts';
import { orphanGraceMs } from '../../src/core/cluster/orphans.ts';
import { finding } from '../../src/core/doctor/finding.ts';
import { clusterSummary } from '../../src/core/doctor/summary.ts';
import type { Rule } from '../../tools/manifests-rbac.ts';
import { CommandLine } from '../cluster/command-line-scene.ts';
import { allows, requestOf } from '../deploy/authorizer.ts';
import * as sample from '../samples/cluster-picture.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/guides/command-line.md'), 'utf8');

test('the guide has every flag of the commands that ask a cluster', () => {
  const told = [...page.matchAll(/^\| `(--[a-z-]+)` \| [^|]+ \| [^|]+ \|$/gm)].map(
    ([, flag = '']) => flag,
  );
  const flags = commands.doctor.flags.map((flag) => `--${flag}`);
  assert.deepEqual([...new Set(told)], flags);
});

test('what may still be under way is as young as the guide says', () => {
  assert.match(page, /less than five minutes ago/);
  assert.equal(orphanGraceMs, 5 * 60_000);
});

test('the guide has every field that programs may read', () => {
  const summary = clusterSummary({
    ...sample.healthy,
    clusters: [sample.lateCluster()],
    unseen: [{ part: 'pods', message: 'no' }],
    claims: [sample.claim('new', { phase: 'Pending' })],
  });
  const object = { kind: 'Pod', name: 'a' };
  const diagnosis = finding('AgentNotReady', { object, node: 'n1', what: 'w' });
  const fields = [...fieldsOf(summary), ...Object.keys(diagnosis)];
  assert.ok(fields.length > 40);
  for (const field of fields) assert.ok(page.includes(`\`${field}\``), field);
});

/** Of a document of ours; what stands in `excluded` and `raid` is Kubernetes' own. */
function fieldsOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return fieldsOf(value[0]);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    key,
    ...(key === 'excluded' || key === 'raid' ? [] : fieldsOf(inner)),
  ]);
}

test('with the role of the guide everything can be read, and nothing else', async (t) => {
  const [, text = ''] = /^```yaml role\n([\s\S]*?)^```$/m.exec(page) ?? [];
  const { rules } = load(text) as { readonly rules: readonly Rule[] };
  const pods = sample.healthy.pods.map((pod) => ({
    ...pod,
    status: { ...pod.status, containerStatuses: [{ name: 'main', restartCount: 1 }] },
  }));
  const claims = [...sample.healthy.claims, sample.claim('new', { phase: 'Pending' })];
  const line = await CommandLine.begin(t, { pods, claims });
  for (const words of ['status', 'doctor', `gather --output ${line.directory}/bundle`]) {
    await line.run(words);
  }
  const used = new Set<Rule>();
  for (const { method, url } of line.server.api.requests) {
    const request = requestOf(method, url);
    const rule = rules.find((one) => allows({ own: [], cluster: [one] }, '', request));
    assert.ok(rule !== undefined, `${method} ${url}`);
    used.add(rule);
  }
  assert.deepEqual(
    rules.filter((rule) => !used.has(rule)),
    [],
  );
});
