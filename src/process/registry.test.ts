import assert from 'node:assert/strict';
import test from 'node:test';
import { Counter, Histogram, mergeFamilies, renderFamilies } from './registry.ts';

test('a counter counts by its labels, and is written as Prometheus reads it', () => {
  const counter = new Counter({ name: 'calls_total', help: 'Calls.' });
  counter.inc({ method: 'a', code: 'OK' });
  counter.inc({ method: 'a', code: 'OK' });
  counter.inc({ method: 'a', code: 'INTERNAL' });
  assert.equal(
    renderFamilies([counter.family()]),
    '# HELP calls_total Calls.\n' +
      '# TYPE calls_total counter\n' +
      'calls_total{method="a",code="OK"} 2\n' +
      'calls_total{method="a",code="INTERNAL"} 1\n',
  );
});

test('what has no samples is left out, and texts cannot break the format', () => {
  const family = { name: 'g', help: 'a\nb', type: 'gauge' } as const;
  assert.equal(renderFamilies([{ ...family, samples: [] }]), '');
  const samples = [{ labels: { x: 'a"b\\c\nd' }, value: 2n ** 60n }];
  assert.equal(
    renderFamilies([{ ...family, samples }]),
    '# HELP g a\\nb\n# TYPE g gauge\ng{x="a\\"b\\\\c\\nd"} 1152921504606846976\n',
  );
});

test('each bucket of a histogram holds all smaller ones, and the last one everything', () => {
  const histogram = new Histogram({ name: 'h', help: 'H.' });
  for (const seconds of [0, 0.001, 0.0011, 3, 1000]) histogram.observe({ m: 'x' }, seconds);
  const text = renderFamilies([histogram.family()]);
  const bucket = (le: string) => Number(new RegExp(`le="${le}"} (\\d+)`).exec(text)?.[1]);
  assert.deepEqual(
    ['0\\.001', '0\\.005', '2\\.5', '5', '120', '\\+Inf'].map(bucket),
    [2, 3, 3, 4, 4, 5],
  );
  assert.match(text, /^h_sum\{m="x"\} 1003\.0021$/m);
  assert.match(text, /^h_count\{m="x"\} 5$/m);
});

test('of two roles each name is there once: counts are added up, states told once', () => {
  const counted = (calls: number, method: string) => {
    const counter = new Counter({ name: 'calls_total', help: 'Calls.' });
    const histogram = new Histogram({ name: 'h', help: 'H.' });
    for (let call = 0; call < calls; call += 1) {
      counter.inc({ method: 'both' });
      histogram.observe({}, 0.5);
    }
    counter.inc({ method });
    const state = { name: 'up', help: 'Up.', type: 'gauge' } as const;
    return [
      counter.family(),
      histogram.family(),
      { ...state, samples: [{ labels: {}, value: 7 }] },
    ];
  };
  const text = renderFamilies(mergeFamilies([...counted(2, 'a'), ...counted(3, 'b')]));
  assert.equal([...text.matchAll(/^# TYPE /gm)].length, 3);
  assert.match(text, /^calls_total\{method="both"\} 5$/m);
  assert.match(text, /^calls_total\{method="a"\} 1\ncalls_total\{method="b"\} 1$/m);
  assert.match(text, /^h_bucket\{le="0.5"\} 5$/m);
  assert.match(text, /^h_sum 2.5$/m);
  assert.match(text, /^up 7$/m);
});
