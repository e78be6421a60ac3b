import {
  type AliasEvent,
  EVENT_ID,
  type Event,
  getScalarValue,
  type MappingEvent,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
  YAMLException,
} from 'js-yaml';
import { limits } from '../../base/limits.ts';
import { type Findings, pathOf, quote } from './findings.ts';
import { readPlain, readTagged, type ScalarValue, textOf } from './scalar.ts';

/** A YAML document that knows where each part of it stands. */
export type YamlNode = YamlScalar | YamlList | YamlMapping;

export type YamlScalar = {
  readonly kind: 'scalar';
  readonly line: number;
  readonly value: ScalarValue;
  readonly text: string;
};

export type YamlList = {
  readonly kind: 'list';
  readonly line: number;
  readonly items: readonly YamlNode[];
};

export type YamlMapping = {
  readonly kind: 'mapping';
  readonly line: number;
  readonly entries: readonly YamlEntry[];
};

/** `line` is the key's. */
export type YamlEntry = { readonly key: string; readonly line: number; readonly value: YamlNode };

/** The first document of a file, or nothing when it is no YAML; what is wrong is told. */
export function readYaml(text: string, findings: Findings): YamlNode | undefined {
  const lines = new Lines(text);
  const events = eventsOf(text, lines, findings);
  return events && new Builder({ text, lines, events, findings }).document();
}

/** For messages: what stands there, or what kind of thing it is. */
export function showNode(node: YamlNode): string {
  if (node.kind === 'list') return 'a list';
  if (node.kind === 'mapping') return 'a mapping';
  if (node.value === null) return 'null';
  return typeof node.value === 'string' ? quote(node.value) : node.text.slice(0, 60);
}

function eventsOf(text: string, lines: Lines, findings: Findings) {
  if (text.length > limits.lvmdFileBytesMax) {
    const remedy = `write at most ${limits.lvmdFileBytesMax}`;
    const value = `${text.length} characters long`;
    findings.problem({ line: 1, field: 'the file', value, remedy });
    return undefined;
  }
  try {
    return parseEvents(text, {});
  } catch (error) {
    const isYaml = error instanceof YAMLException;
    const line = isYaml ? lines.at(error.mark?.position ?? 0) : 1;
    const reason = isYaml ? error.reason : String(error);
    const remedy = `correct the YAML here or just above (${reason})`;
    findings.problem({ line, field: 'the line', value: quote(lines.text(line)), remedy });
    return undefined;
  }
}

class Lines {
  readonly #texts: readonly string[];
  readonly #starts: readonly number[];

  constructor(text: string) {
    this.#starts = [
      0,
      ...[...text.matchAll(/\r\n|\r|\n/g)].map((end) => end.index + end[0].length),
    ];
    this.#texts = text.split(/\r\n|\r|\n/);
  }

  /** The line that a position is on; the end of the file is on its last line. */
  at(position: number): number {
    let low = 0;
    let high = this.#starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((this.#starts[middle] ?? 0) <= position) low = middle;
      else high = middle;
    }
    return Math.max(1, Math.min(low + 1, this.#count));
  }

  text(line: number): string {
    return (this.#texts[line - 1] ?? '').trim();
  }

  get #count(): number {
    return this.#texts.at(-1) === '' ? this.#texts.length - 1 : this.#texts.length;
  }
}

const endOfEvents: Event = { type: EVENT_ID.POP };

/** Makes the tree from the flat events of the parser, which nests them at most 100 deep. */
class Builder {
  readonly #text: string;
  readonly #lines: Lines;
  readonly #events: readonly Event[];
  readonly #findings: Findings;
  readonly #anchors = new Map<string, YamlNode>();
  #next = 0;
  #line = 1;
  #mergedKeys = 0;

  constructor(given: {
    readonly text: string;
    readonly lines: Lines;
    readonly events: readonly Event[];
    readonly findings: Findings;
  }) {
    this.#text = given.text;
    this.#lines = given.lines;
    this.#events = given.events;
    this.#findings = given.findings;
  }

  document(): YamlNode {
    if (this.#take().type !== EVENT_ID.DOCUMENT) return this.#null();
    const root = this.#node('');
    this.#take();
    if (this.#take().type === EVENT_ID.DOCUMENT) this.#warnOfDocument();
    return root;
  }

  #warnOfDocument(): void {
    this.#enter(this.#peek());
    const remedy = 'it is ignored: write everything before the first ---';
    this.#findings.warning({
      line: this.#line,
      field: 'the document',
      value: 'the second',
      remedy,
    });
  }

  #node(path: string): YamlNode {
    const event = this.#take();
    this.#enter(event);
    const node = this.#content(event, path);
    // Known from here on only: a node that contains itself would have no end.
    if ('anchorStart' in event && event.type !== EVENT_ID.ALIAS && event.anchorStart >= 0) {
      this.#anchors.set(this.#text.slice(event.anchorStart, event.anchorEnd), node);
    }
    return node;
  }

  #content(event: Event, path: string): YamlNode {
    switch (event.type) {
      case EVENT_ID.SCALAR:
        return this.#scalar(event, path);
      case EVENT_ID.SEQUENCE:
        return this.#list(path);
      case EVENT_ID.MAPPING:
        return this.#mapping(event, path);
      case EVENT_ID.ALIAS:
        return this.#alias(event, path);
      default:
        return this.#null();
    }
  }

  #scalar(event: ScalarEvent, path: string): YamlScalar {
    const line = this.#line;
    const text = getScalarValue(this.#text, event);
    if (event.tagStart < 0) {
      const value = event.style === SCALAR_STYLE.PLAIN ? readPlain(text) : text;
      return { kind: 'scalar', line, value, text };
    }
    const written = this.#text.slice(event.tagStart, event.tagEnd);
    const tag = written.replace(/^!<tag:yaml\.org,2002:(.*)>$/, '!!$1');
    const value = readTagged(tag, text);
    if (value !== undefined) return { kind: 'scalar', line, value, text };
    const remedy = `leave out the tag ${quote(tag)}: it does not fit`;
    this.#findings.problem({ line, field: path || 'the document', value: quote(text), remedy });
    return this.#null();
  }

  #list(path: string): YamlList {
    const line = this.#line;
    const items: YamlNode[] = [];
    while (this.#peek().type !== EVENT_ID.POP) items.push(this.#node(`${path}[${items.length}]`));
    this.#take();
    return { kind: 'list', line, items };
  }

  /** Later keys win over those a merge brought before them, and a later merge over both, as in Go. */
  #mapping(event: MappingEvent, path: string): YamlMapping {
    const line = this.#lines.at(event.start);
    const entries = new Map<string, YamlEntry>();
    const written = new Map<string, number>();
    while (this.#peek().type !== EVENT_ID.POP) {
      const key = this.#key(path);
      const value = this.#node(pathOf(path, key.text));
      if (key.kind === 'none') continue;
      if (key.kind === 'merge') {
        for (const entry of this.#merged(value, pathOf(path, '<<'))) entries.set(entry.key, entry);
        continue;
      }
      this.#refuseRepeated(
        { field: pathOf(path, key.text), line: key.line, value },
        written.get(key.text),
      );
      written.set(key.text, key.line);
      entries.set(key.text, { key: key.text, line: key.line, value });
    }
    this.#take();
    return { kind: 'mapping', line, entries: [...entries.values()] };
  }

  #refuseRepeated(
    found: { readonly field: string; readonly line: number; readonly value: YamlNode },
    firstLine: number | undefined,
  ): void {
    if (firstLine === undefined) return;
    const remedy = `keep one of them: the key stands on line ${firstLine} already`;
    this.#findings.problem({ ...found, value: showNode(found.value), remedy });
  }

  #key(path: string): { readonly kind: 'key' | 'merge' | 'none'; text: string; line: number } {
    const event = this.#peek();
    const isPlain = event.type === EVENT_ID.SCALAR && event.style === SCALAR_STYLE.PLAIN;
    const node = this.#node(path);
    const { line } = node;
    if (node.kind === 'scalar' && node.value !== null) {
      const isMerge = isPlain && node.text === '<<' && event.tagStart < 0;
      return { kind: isMerge ? 'merge' : 'key', text: textOf(node.value), line };
    }
    const field = `a key of ${path || 'the document'}`;
    this.#findings.problem({ line, field, value: showNode(node), remedy: 'write a word' });
    return { kind: 'none', text: '?', line };
  }

  /** The mappings that `<<` names; of several the first one counts. */
  #merged(value: YamlNode, field: string): readonly YamlEntry[] {
    const sources = value.kind === 'list' ? value.items.toReversed() : [value];
    return sources.flatMap((source) => {
      const isMapping = source.kind === 'mapping';
      this.#mergedKeys += isMapping ? source.entries.length : 1;
      const isTooMuch = this.#mergedKeys > limits.lvmdMergedKeysMax;
      if (isMapping && !isTooMuch) return source.entries;
      const remedy = isTooMuch
        ? `merge at most ${limits.lvmdMergedKeysMax} keys in all`
        : 'merge a mapping, or a list of mappings';
      this.#findings.problem({ line: value.line, field, value: showNode(source), remedy });
      return [];
    });
  }

  #alias(event: AliasEvent, path: string): YamlNode {
    const name = this.#text.slice(event.anchorStart, event.anchorEnd);
    const node = this.#anchors.get(name);
    if (node !== undefined) return { ...node, line: this.#line };
    const remedy = 'name an anchor that is set on an earlier value';
    const field = path || 'the document';
    this.#findings.problem({ line: this.#line, field, value: `*${name.slice(0, 60)}`, remedy });
    return this.#null();
  }

  #null(): YamlScalar {
    return { kind: 'scalar', line: this.#line, value: null, text: '' };
  }

  /** Notes the line; what is empty has no place of its own and keeps the line before it. */
  #enter(event: Event): void {
    const starts = [
      'start' in event ? event.start : -1,
      'valueStart' in event ? event.valueStart : -1,
      'anchorStart' in event ? event.anchorStart : -1,
    ];
    const position = starts.find((start) => start >= 0);
    if (position !== undefined) this.#line = this.#lines.at(position);
  }

  #peek(): Event {
    return this.#events[this.#next] ?? endOfEvents;
  }

  #take(): Event {
    const event = this.#peek();
    this.#next += 1;
    return event;
  }
}
