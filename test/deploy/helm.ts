import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump, load, loadAll } from 'js-yaml';

/**
 * Renders our chart. It knows exactly the words that `tools/manifests-chart.ts` writes and stops at
 * any other, so that nothing is taken for rendered that Helm would read in another way.
 */
const folder = join(import.meta.dirname, '../../charts/quarry');

export type Values = { readonly [key: string]: unknown };

export type ReleaseFacts = {
  readonly namespace: string;
  readonly kubernetes: string;
  /** What the server has beside its own, as `apps/v1`. */
  readonly serves?: readonly string[];
};

type Scope = { readonly values: Values; readonly facts: ReleaseFacts; readonly dot?: unknown };

export function defaultValues(): Values {
  return load(readFileSync(join(folder, 'values.yaml'), 'utf8')) as Values;
}

/** The objects of one template. */
export function renderTemplate(name: string, values: Values, facts: ReleaseFacts): unknown[] {
  const text = readFileSync(join(folder, 'templates', name), 'utf8');
  const rendered = renderText(text, { values, facts });
  return loadAll(rendered).filter((one) => one !== null && one !== undefined);
}

type Token = { readonly kind: 'text' | 'action'; readonly text: string };

/** `{{-` takes away the blanks before it, as Helm does. */
function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (const match of text.matchAll(/(\s*\{\{-|\{\{)\s(.*?)\s\}\}/gs)) {
    const [all, , action = ''] = match;
    tokens.push({ kind: 'text', text: text.slice(at, match.index) });
    tokens.push({ kind: 'action', text: action });
    at = match.index + all.length;
  }
  return [...tokens, { kind: 'text', text: text.slice(at) }];
}

function renderText(text: string, scope: Scope): string {
  const tokens = [...tokensOf(text)];
  const made = renderUntil(tokens, scope, []);
  assert.equal(tokens.length, 0, 'an end without a beginning');
  return made;
}

/** Takes tokens off the list up to one of `ends`, which stays. */
function renderUntil(tokens: Token[], scope: Scope, ends: readonly string[]): string {
  let made = '';
  for (;;) {
    const [token] = tokens;
    if (token === undefined || (token.kind === 'action' && ends.includes(token.text))) return made;
    tokens.shift();
    if (token.kind === 'text') made += token.text;
    else made += renderAction(token.text, tokens, scope);
  }
}

function renderAction(action: string, tokens: Token[], scope: Scope): string {
  const [, word, condition = ''] = /^(if|with|range) (.*)$/.exec(action) ?? [];
  if (word === undefined) return String(evaluate(action, scope));
  const value = evaluate(condition, scope);
  if (word === 'range') return renderEach(value as readonly unknown[], tokens, scope);
  const inner = word === 'with' ? { ...scope, dot: value } : scope;
  const whenTrue = renderUntil(tokens, inner, ['else', 'end']);
  const whenFalse = tokens.shift()?.text === 'else' ? renderElse(tokens, scope) : '';
  return isTrue(value) ? whenTrue : whenFalse;
}

function renderEach(items: readonly unknown[], tokens: Token[], scope: Scope): string {
  const made = items.map((dot) => renderUntil([...tokens], { ...scope, dot }, ['end']));
  renderElse(tokens, scope);
  return made.join('');
}

function renderElse(tokens: Token[], scope: Scope): string {
  const made = renderUntil(tokens, scope, ['end']);
  tokens.shift();
  return made;
}

function isTrue(value: unknown): boolean {
  return value !== '' && value !== false && value !== undefined && value !== null;
}

function evaluate(expression: string, scope: Scope): unknown {
  const { values, facts, dot } = scope;
  if (/^\.Values(\.\w+)+$/.test(expression))
    return lookUp(values, expression.slice('.Values.'.length));
  if (/^"[^"]*"$/.test(expression)) return expression.slice(1, -1);
  if (expression === '.') return dot;
  if (expression === '.Release.Namespace') return facts.namespace;
  const served = /^\.Capabilities\.APIVersions\.Has "([^"]+)"$/.exec(expression)?.[1];
  if (served !== undefined) return (facts.serves ?? []).includes(served);
  const [, word, terms = ''] = /^(not|and|or) (.*)$/.exec(expression) ?? [];
  if (word !== undefined) {
    const found = termsOf(terms).map((one) => isTrue(evaluate(one, scope)));
    if (word === 'not') return !found[0];
    return word === 'and' ? found.every((one) => one) : found.some((one) => one);
  }
  const choice = /^ternary "(\S*)" "(\S*)" (\S+)$/.exec(expression);
  if (choice !== null) return isTrue(evaluate(choice[3] ?? '', scope)) ? choice[1] : choice[2];
  const fallback = /^(\S+) \| default (\S+)$/.exec(expression);
  if (fallback !== null) {
    const [first, second] = fallback.slice(1).map((one) => evaluate(one, scope));
    return isTrue(first) ? first : second;
  }
  const block = /^(toYaml )?(\S+) \| nindent (\d+)$/.exec(expression);
  if (block !== null) {
    const value = evaluate(block[2] ?? '', scope);
    const text = block[1] === undefined ? String(value) : dump(value).trimEnd();
    const blanks = ' '.repeat(Number(block[3]));
    return `\n${text.replaceAll(/^/gm, blanks)}`;
  }
  const version = /^semverCompare ">=1\.(\d+)-0" \.Capabilities\.KubeVersion\.Version$/;
  const least = version.exec(expression)?.[1];
  if (least !== undefined) return Number(facts.kubernetes.split('.')[1]) >= Number(least);
  throw new Error(`nobody has told this renderer what {{ ${expression} }} means`);
}

/** `.Values.a (not .Values.b)` is two terms. */
function termsOf(text: string): readonly string[] {
  const terms: string[] = [];
  let depth = 0;
  for (const piece of text.match(/"[^"]*"|[()]|\s+|[^\s()"]+/g) ?? []) {
    const isGap = depth === 0 && /^\s+$/.test(piece);
    if (piece === ')') depth -= 1;
    if (isGap || terms.length === 0) terms.push('');
    const isOuter = (piece === '(' || piece === ')') && depth === 0;
    if (!isGap && !isOuter) terms[terms.length - 1] += piece;
    if (piece === '(') depth += 1;
  }
  assert.equal(depth, 0, text);
  return terms;
}

function lookUp(values: Values, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => {
    const one = (value as Values)[key];
    assert.notEqual(one, undefined, `values.yaml has no ${path}`);
    return one;
  }, values);
}
