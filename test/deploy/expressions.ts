/**
 * What Prometheus makes of an expression: the part of its language that our alerts are written in.
 * A selection by labels, and what a function makes of a range, is a series under its own text.
 */
export type Series = readonly [text: string, labels: Labels, value: number];
type Labels = Readonly<Record<string, string>>;
type Sample = { readonly labels: Labels; readonly value: number };

/** A function of a range: one word. */
export const rangeCall = /\w+\((?:"[^"]*"|[^()"[])*\[\w+\]\)/g;
const words = new RegExp(`${rangeCall.source}|\\w+\\{[^}]*\\}|==|[a-z_]\\w*|[\\d.]+|\\S`, 'g');
const levels: readonly string[] = ['or', 'and unless', '== > <', '-', '/'];

/** Numbers are samples without labels. */
export function evaluate(expr: string, series: readonly Series[], nowSeconds = 0): Sample[] {
  const tokens: string[] = expr.match(words) ?? [];
  const eat = (token: string) => tokens[0] === token && tokens.shift() !== undefined;
  const list = () => tokens.splice(0, tokens.indexOf(')') + 1).slice(1, -1);
  const level = (depth: number): Sample[] => {
    let left = depth === levels.length ? operand() : level(depth + 1);
    while (levels[depth]?.split(' ').includes(tokens[0] ?? '')) {
      const operator = tokens.shift() ?? '';
      const on = eat('on') ? list() : undefined;
      left = combined([left, level(depth + 1)], operator, on);
    }
    return left;
  };
  const operand = (): Sample[] => {
    const word = tokens.shift() ?? '';
    if (/^\d/.test(word)) return [{ labels: {}, value: Number(word) }];
    if (word === 'time' && list()) return [{ labels: {}, value: nowSeconds }];
    const by = word === 'sum' && eat('by') ? list() : [];
    if (word !== '(' && !eat('(')) {
      return series.flatMap(([text, labels, value]) => (text === word ? [{ labels, value }] : []));
    }
    const inner = level(0);
    eat(')');
    if (word === 'absent') return inner.length > 0 ? [] : [{ labels: {}, value: 1 }];
    return word === 'sum' ? sum(inner, by) : inner;
  };
  return level(0);
}

function sum(samples: readonly Sample[], by: readonly string[]): Sample[] {
  const totals = new Map<string, number>();
  for (const { labels, value } of samples) {
    totals.set(keyOf(labels, by), (totals.get(keyOf(labels, by)) ?? 0) + value);
  }
  return [...totals].map(([key, value]) => ({ labels: JSON.parse(key) as Labels, value }));
}

/** By the names that count, or by all. */
function keyOf(labels: Labels, names: readonly string[] = Object.keys(labels).toSorted()): string {
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, labels[name]])));
}

type Sides = readonly [left: Sample[], right: Sample[]];

function combined([left, right]: Sides, operator: string, on?: readonly string[]): Sample[] {
  const isNumber = ({ labels }: Sample) => keyOf(labels) === '{}';
  const isPair = (one: Sample, two: Sample) =>
    isNumber(one) || isNumber(two) || keyOf(one.labels, on) === keyOf(two.labels, on);
  const isIn = (one: Sample, others: Sample[]) => others.some((two) => isPair(one, two));
  if (operator === 'or') return [...left, ...right.filter((one) => !isIn(one, left))];
  if (operator === 'unless') return left.filter((one) => !isIn(one, right));
  if (operator === 'and') return left.filter((one) => isIn(one, right));
  return left.flatMap((one) =>
    right.flatMap((two) => (isPair(one, two) ? calculated(operator, one, two) : [])),
  );
}

function calculated(operator: string, { labels, value: one }: Sample, two: Sample): Sample[] {
  if (operator === '-') return [{ labels: { ...two.labels, ...labels }, value: one - two.value }];
  if (operator === '/') return [{ labels, value: one / two.value }];
  const difference = one - two.value;
  const isSo = { '>': difference > 0, '<': difference < 0, '==': difference === 0 }[operator];
  return isSo === true ? [{ labels, value: one }] : [];
}
