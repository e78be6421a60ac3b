import { type Findings, nearest, pathOf, quote } from './findings.ts';
import { textOf } from './scalar.ts';
import { showNode, type YamlEntry, type YamlMapping, type YamlNode } from './yaml.ts';

/**
 * Reads a mapping key by key as Go's decoder does: keys in any case, null as if it were not there,
 * scalars as text where text is wanted. Every problem is noted; `undefined` means one was.
 */
export class NodeReader {
  readonly path: string;
  readonly line: number;
  readonly #findings: Findings;
  readonly #entries = new Map<string, YamlEntry>();
  readonly #known = new Set<string>();

  constructor(node: YamlMapping, path: string, findings: Findings) {
    this.path = path;
    this.line = node.line;
    this.#findings = findings;
    for (const entry of node.entries) this.#add(entry);
  }

  /** '' when it is not there. */
  text(key: string): string | undefined {
    const entry = this.#entry(key);
    return entry === undefined ? '' : this.#textOf(entry.value, this.#place(entry));
  }

  boolean(key: string): boolean | undefined {
    const entry = this.#entry(key);
    if (entry === undefined) return false;
    const { value } = entry;
    if (value.kind === 'scalar' && typeof value.value === 'boolean') return value.value;
    this.refuse(key, 'write true or false without quotes');
    return undefined;
  }

  whole(key: string, range: { readonly min: number; readonly max: number }): number | undefined {
    const value = this.#number(key);
    const isRight = value !== undefined && Number.isSafeInteger(value) && !Object.is(value, -0);
    if (isRight && value >= range.min && value <= range.max) return value;
    if (this.has(key)) {
      this.refuse(key, `write a whole number from ${range.min} to ${range.max} without quotes`);
    }
    return undefined;
  }

  number(key: string, range?: { readonly min: number; readonly max: number }): number | undefined {
    const value = this.#number(key);
    const { min, max } = range ?? { min: -Number.MAX_VALUE, max: Number.MAX_VALUE };
    if (value !== undefined && value >= min && value <= max) return value;
    const what = range === undefined ? 'a number' : `a number from ${min} to ${max}`;
    if (this.has(key)) this.refuse(key, `write ${what} without quotes`);
    return undefined;
  }

  texts(key: string): readonly string[] | undefined {
    const items = this.#items(key);
    const texts = items?.map(({ node, place }) => this.#textOf(node, place));
    return texts?.every((text) => text !== undefined) ? texts : undefined;
  }

  /** One for each item that can be read. */
  children(key: string): readonly (NodeReader | undefined)[] | undefined {
    return this.#items(key)?.map(({ node, place }) => {
      if (node.kind === 'mapping') return new NodeReader(node, place.field, this.#findings);
      this.#tell(place, node, 'write a mapping of keys to values');
      return undefined;
    });
  }

  child(key: string): NodeReader | undefined {
    const entry = this.#entry(key);
    if (entry === undefined) return undefined;
    const { field } = this.#place(entry);
    if (entry.value.kind === 'mapping') return new NodeReader(entry.value, field, this.#findings);
    this.refuse(key, 'write a mapping of keys to values');
    return undefined;
  }

  /** There, and not null. */
  has(key: string): boolean {
    return this.#entry(key) !== undefined;
  }

  lineOf(key: string): number {
    return this.#entries.get(key)?.line ?? this.line;
  }

  placeOf(key: string): { readonly line: number; readonly field: string } {
    return { line: this.lineOf(key), field: pathOf(this.path, this.#entries.get(key)?.key ?? key) };
  }

  refuse(key: string, remedy: string): void {
    this.#findings.problem(this.#finding(key, remedy));
  }

  warn(key: string, remedy: string): void {
    this.#findings.warning(this.#finding(key, remedy));
  }

  warnOfItem(key: string, index: number, remedy: string): void {
    const item = this.#items(key)?.[index];
    if (item === undefined) return;
    this.#findings.warning({ ...item.place, value: showNode(item.node), remedy });
  }

  /** Go passes over keys it does not know, so we must; but most likely they are misspelt. */
  warnOfUnknown(): void {
    for (const [key, entry] of this.#entries) {
      if (this.#known.has(key)) continue;
      const near = nearest(entry.key, [...this.#known]);
      const remedy = `it is ignored, no such key is known; the nearest is ${near}`;
      const place = this.#place(entry);
      this.#findings.warning({ ...place, value: showNode(entry.value), remedy });
    }
  }

  #add(entry: YamlEntry): void {
    const key = entry.key.toLowerCase();
    const first = this.#entries.get(key);
    if (first === undefined) {
      this.#entries.set(key, entry);
      return;
    }
    const other = `${pathOf('', first.key)} on line ${first.line}`;
    const remedy = `keep one of them: ${other} is the same key`;
    this.#tell(this.#place(entry), entry.value, remedy);
  }

  #number(key: string): number | undefined {
    const value = this.#entry(key)?.value;
    if (value?.kind !== 'scalar') return undefined;
    if (typeof value.value === 'bigint') return Number(value.value);
    return typeof value.value === 'number' ? value.value : undefined;
  }

  #textOf(node: YamlNode, place: Place): string | undefined {
    if (node.kind !== 'scalar') {
      this.#tell(place, node, 'write a text');
      return undefined;
    }
    if (node.value === null) return '';
    const text = textOf(node.value);
    if (text !== node.text) {
      const remedy = `it is read as ${quote(text)}; write it in quotes if you mean the text`;
      this.#findings.warning({ ...place, value: showNode(node), remedy });
    }
    return text;
  }

  #items(key: string): readonly { readonly node: YamlNode; readonly place: Place }[] | undefined {
    const entry = this.#entry(key);
    if (entry === undefined) return [];
    if (entry.value.kind !== 'list') {
      this.refuse(key, 'write a list');
      return undefined;
    }
    const { field } = this.#place(entry);
    return entry.value.items.map((node, index) => ({
      node,
      place: { line: node.line, field: `${field}[${index}]` },
    }));
  }

  #entry(key: string): YamlEntry | undefined {
    this.#known.add(key);
    const entry = this.#entries.get(key);
    const isNull = entry?.value.kind === 'scalar' && entry.value.value === null;
    return isNull ? undefined : entry;
  }

  #place(entry: YamlEntry): Place {
    return { line: entry.line, field: pathOf(this.path, entry.key) };
  }

  #finding(key: string, remedy: string) {
    const entry = this.#entries.get(key);
    if (entry !== undefined) return { ...this.#place(entry), value: showNode(entry.value), remedy };
    return { line: this.line, field: pathOf(this.path, key), value: 'missing', remedy };
  }

  #tell(place: Place, node: YamlNode, remedy: string): void {
    this.#findings.problem({ ...place, value: showNode(node), remedy });
  }
}

type Place = { readonly line: number; readonly field: string };
