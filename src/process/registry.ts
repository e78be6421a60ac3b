/** Metrics in the text that Prometheus reads. Why not a library: docs/decisions. */

export type Labels = Readonly<Record<string, string>>;

export type Sample = {
  readonly labels: Labels;
  readonly value: number | bigint;
  /** Of a histogram: `_bucket`, `_sum` or `_count`. */
  readonly suffix?: string;
};

export type Family = {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly samples: readonly Sample[];
};

export const contentType = 'text/plain; version=0.0.4; charset=utf-8';

/** A family without samples is left out: nobody can ask for what was never seen. */
export function renderFamilies(families: readonly Family[]): string {
  const blocks = families.filter(({ samples }) => samples.length > 0).map(renderFamily);
  return blocks.join('');
}

/**
 * Figures of several roles in one text, each name once. What both have counted is added up; what
 * both can see, such as the memory of the process, is told once.
 */
export function mergeFamilies(families: readonly Family[]): readonly Family[] {
  const merged = new Map<string, Family>();
  for (const family of families) {
    const known = merged.get(family.name);
    merged.set(family.name, known === undefined ? family : mergeTwo(known, family));
  }
  return [...merged.values()];
}

function mergeTwo(one: Family, other: Family): Family {
  const samples = new Map(one.samples.map((sample) => [seriesOf(sample), sample]));
  for (const sample of other.samples) {
    const key = seriesOf(sample);
    const known = samples.get(key);
    if (known === undefined) samples.set(key, sample);
    else if (one.type !== 'gauge') {
      samples.set(key, { ...known, value: Number(known.value) + Number(sample.value) });
    }
  }
  return { ...one, samples: [...samples.values()] };
}

function seriesOf({ suffix = '', labels }: Sample): string {
  return `${suffix}${renderLabels(labels)}`;
}

function renderFamily({ name, help, type, samples }: Family): string {
  const lines = samples.map(
    ({ labels, value, suffix = '' }) => `${name}${suffix}${renderLabels(labels)} ${value}`,
  );
  return [`# HELP ${name} ${oneLine(help)}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n');
}

function renderLabels(labels: Labels): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}="${quoted(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function oneLine(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

function quoted(text: string): string {
  return oneLine(text).replaceAll('"', '\\"');
}

/** Called for every call: the names of the labels of one metric are always the same. */
function keyOf(labels: Labels): string {
  return Object.values(labels).join('\n');
}

type About = { readonly name: string; readonly help: string };

export class Counter {
  readonly #about: About;
  readonly #series = new Map<string, { readonly labels: Labels; value: number }>();

  constructor(about: About) {
    this.#about = about;
  }

  inc(labels: Labels): void {
    const key = keyOf(labels);
    const known = this.#series.get(key);
    if (known === undefined) this.#series.set(key, { labels, value: 1 });
    else known.value += 1;
  }

  family(): Family {
    return { ...this.#about, type: 'counter', samples: [...this.#series.values()] };
  }
}

/** From a call that runs no program to an lvm that waits for its lock. */
const bounds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];

type Distribution = { readonly labels: Labels; readonly counts: number[]; sum: number };

export class Histogram {
  readonly #about: About;
  readonly #series = new Map<string, Distribution>();

  constructor(about: About) {
    this.#about = about;
  }

  observe(labels: Labels, seconds: number): void {
    const key = keyOf(labels);
    const known = this.#series.get(key) ?? {
      labels,
      counts: bounds.map(() => 0).concat(0),
      sum: 0,
    };
    this.#series.set(key, known);
    const found = bounds.findIndex((bound) => seconds <= bound);
    const index = found < 0 ? bounds.length : found;
    known.counts[index] = (known.counts[index] ?? 0) + 1;
    known.sum += seconds;
  }

  family(): Family {
    const samples = [...this.#series.values()].flatMap(samplesOf);
    return { ...this.#about, type: 'histogram', samples };
  }
}

/** Prometheus wants each bucket to hold all smaller ones. */
function samplesOf({ labels, counts, sum }: Distribution): readonly Sample[] {
  let total = 0;
  const buckets = counts.map((count, index): Sample => {
    total += count;
    const le = String(bounds[index] ?? '+Inf');
    return { labels: { ...labels, le }, value: total, suffix: '_bucket' };
  });
  return [
    ...buckets,
    { labels, value: sum, suffix: '_sum' },
    { labels, value: total, suffix: '_count' },
  ];
}
