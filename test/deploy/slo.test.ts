import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { loadAll } from 'js-yaml';

/** The page, the alerts, the dashboard and the program must speak of the same metrics. */
const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

type Rule = { readonly alert: string; readonly expr: string; readonly labels: object };
type Document = { readonly kind: string; readonly spec: { groups?: { rules: Rule[] }[] } };

const rules = (loadAll(read('deploy/monitoring.yaml')) as Document[])
  .filter(({ kind }) => kind === 'PrometheusRule')
  .flatMap(({ spec }) => spec.groups ?? [])
  .flatMap((group) => group.rules);

const rows = [...read('docs/guides/slo.md').matchAll(/^\| (?!indicator|---)(.+) \|$/gm)].map(
  ([, row = '']) => {
    const [, metric = '', objective = '', alerts = ''] = row.split(' | ');
    return { metrics: namesIn(metric), objective, alerts: namesIn(alerts) };
  },
);

/** Prometheus makes this one itself, for whoever it asks. */
const foreign = new Set(['up']);

const told = new Set(
  globSync('src/**/*.ts', { cwd: root })
    .filter((path) => !path.endsWith('.test.ts'))
    .flatMap((path) => [
      ...read(path).matchAll(/'((?:quarry|topolvm|process)_[a-z_]+)'|family\('(\w+)'/g),
    ])
    .map(([, name, raid]) => name ?? `lvms_raid_${raid}`),
);

test('every indicator has a metric of the program, an objective and an alert', () => {
  assert.ok(rows.length > 10);
  for (const { metrics, objective, alerts } of rows) {
    assert.ok(metrics.length > 0 && objective !== '' && alerts.length > 0);
    for (const name of metrics) assert.ok(foreign.has(name) || told.has(name), name);
  }
});

test('every alert is on the page, and every alert of the page exists', () => {
  assert.deepEqual(
    rules.map(({ alert }) => alert).toSorted(),
    rows.flatMap(({ alerts }) => alerts).toSorted(),
  );
});

test('an alert looks at the metric of its indicator', () => {
  for (const { metrics, alerts } of rows) {
    for (const name of alerts) {
      const expr = rules.find(({ alert }) => alert === name)?.expr ?? '';
      assert.ok(
        metricsIn(expr).some((metric) => metrics.includes(metric)),
        name,
      );
    }
  }
});

test('alerts and dashboard ask for metrics that the program has', () => {
  const dashboard = JSON.parse(read('deploy/dashboard.json')) as {
    readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
  };
  const asked = [
    ...rules.map(({ expr }) => expr),
    ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ].flatMap(metricsIn);
  assert.ok(asked.length > 20);
  const unknown = asked.filter((name) => !foreign.has(name) && !told.has(name));
  assert.deepEqual(unknown, []);
});

test('brackets of every expression are closed', () => {
  for (const { alert, expr } of rules) {
    for (const [open, close] of ['()', '{}', '[]'].map((pair) => pair.split(''))) {
      const count = (letter = '') => expr.split(letter).length;
      assert.equal(count(open), count(close), alert);
    }
  }
});

function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
}

/** Without what Prometheus adds to the parts of a histogram. */
function metricsIn(expr: string): string[] {
  return [...expr.matchAll(/\b((?:quarry|topolvm|lvms|process)_[a-z_]+|up(?=\{))/g)].map(
    ([, name = '']) => name.replace(/_(bucket|count)$/, (all) => (told.has(name) ? all : '')),
  );
}
