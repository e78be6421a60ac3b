import type { Bytes } from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import { parseLvmSize } from '../lvm-size.ts';
import type { LayoutSpec } from '../node-spec.ts';
import { stripesMaxOf } from '../raid-stripes.ts';

/**
 * Options for lvcreate as a person wrote them, split into what decides the layout and the rest.
 * lvm refuses an option that is given twice, so what we spell ourselves must not stay in the rest.
 */
export type OptionsRead = {
  readonly layout: LayoutSpec;
  /** For lvcreate as they stand. */
  readonly rest: readonly string[];
  readonly remarks: readonly OptionRemark[];
};

/** Something to tell about the option at this place of the list. */
export type OptionRemark = { readonly index: number; readonly text: string };

/** The keys `stripe` and `stripe-size` of a class, which lvmd puts before the options. */
export type StripeKeys = { readonly stripe?: number; readonly stripeSizeBytes?: Bytes };

export function readThickOptions(options: readonly string[], keys: StripeKeys = {}): OptionsRead {
  const words = split(options);
  const shape = shapeOf(words, keys);
  const layout = shape === undefined ? undefined : layoutOf(shape);
  if (shape === undefined || layout === undefined) return unread(options, words, keys);
  const isRead = (word: Word) => word.name !== undefined;
  return {
    layout,
    rest: words.filter((word) => !isRead(word)).flatMap((word) => word.tokens),
    remarks: words.flatMap((word) => remarkOn(word)),
  };
}

/** In a pool volumes have no layout of their own; only what we spell ourselves is taken out. */
export function readThinOptions(options: readonly string[]): readonly string[] {
  const isOurs = ({ name }: Word) => name === 'yes' || name === 'wipesignatures';
  return split(options)
    .filter((word) => !isOurs(word))
    .flatMap((word) => word.tokens);
}

/** Options that contradict each other go to lvcreate untouched: it says best what it minds. */
function unread(options: readonly string[], words: readonly Word[], keys: StripeKeys): OptionsRead {
  const at = words.find(({ name }) => name !== undefined && shapeNames.has(name));
  const text = 'lvcreate will refuse it: no layout can be made of it and what stands beside it';
  return {
    layout: layoutOf(fromKeys(keys)) ?? { kind: 'linear' },
    rest: options,
    remarks: at === undefined ? [] : [{ index: at.index, text }],
  };
}

/** One option with its value, or one word that we do not know. */
type Word = {
  readonly index: number;
  readonly tokens: readonly string[];
  readonly name?: string;
  readonly value: string;
};

const shorts: Readonly<Record<string, string>> = {
  i: 'stripes',
  I: 'stripesize',
  m: 'mirrors',
  W: 'wipesignatures',
  Z: 'zero',
};
const shapeNames: ReadonlySet<string> = new Set(['type', 'stripes', 'stripesize', 'mirrors']);
const valued: ReadonlySet<string> = new Set([...shapeNames, 'wipesignatures', 'zero']);

function split(options: readonly string[]): readonly Word[] {
  const words: Word[] = [];
  for (let index = 0; index < options.length; ) {
    const word = wordAt(options, index);
    words.push(word);
    index += word.tokens.length;
  }
  return words;
}

/** lvm passes over hyphens inside of long names: `--stripe-size` is `--stripesize`. */
function wordAt(options: readonly string[], index: number): Word {
  const token = options[index] ?? '';
  if (['-y', '--yes'].includes(token)) return { index, tokens: [token], name: 'yes', value: '' };
  const long = /^--([a-z-]+)(?:=(.*))?$/s.exec(token);
  const short = /^-([a-zA-Z])(.*)$/s.exec(token);
  const name = long ? long[1]?.replaceAll('-', '') : shorts[short?.[1] ?? ''];
  const unknown = { index, tokens: [token], value: '' };
  if (name === undefined || !valued.has(name)) return unknown;
  const attached = long ? long[2] : short?.[2] || undefined;
  if (attached !== undefined) return { index, tokens: [token], name, value: attached.trim() };
  const next = options[index + 1];
  return next === undefined ? unknown : { index, tokens: [token, next], name, value: next.trim() };
}

type Shape = {
  readonly type?: string;
  readonly stripes?: number;
  readonly mirrors?: number;
  readonly stripeSizeBytes?: Bytes;
};

function fromKeys({ stripe, stripeSizeBytes }: StripeKeys): Shape {
  if (stripe === undefined) return {};
  return { stripes: stripe, ...(stripeSizeBytes === undefined ? {} : { stripeSizeBytes }) };
}

/** Nothing when a value cannot be read or is given twice. */
function shapeOf(words: readonly Word[], keys: StripeKeys): Shape | undefined {
  let shape = fromKeys(keys);
  for (const { name, value } of words) {
    if (name === undefined || !shapeNames.has(name)) continue;
    const part = partOf(name, value);
    if (part === undefined || Object.keys(part).some((key) => key in shape)) return undefined;
    shape = { ...shape, ...part };
  }
  return shape;
}

function partOf(name: string, value: string): Shape | undefined {
  switch (name) {
    case 'type':
      return Object.hasOwn(types, value) ? { type: value } : undefined;
    case 'stripes':
      return /^\+?\d{1,9}$/.test(value) ? { stripes: Number(value) } : undefined;
    case 'mirrors':
      return /^\+?\d{1,9}$/.test(value) ? { mirrors: Number(value) } : undefined;
    default: {
      const size = parseLvmSize(value, 'k');
      return typeof size === 'bigint' ? { stripeSizeBytes: size } : undefined;
    }
  }
}

/** How we make each type of lvm's. */
const types: Readonly<Record<string, LayoutSpec['kind']>> = {
  linear: 'linear',
  striped: 'striped',
  raid0: 'striped',
  raid0_meta: 'striped',
  mirror: 'raid1',
  raid1: 'raid1',
  raid4: 'raid4',
  raid5: 'raid5',
  raid5_n: 'raid5',
  raid5_la: 'raid5',
  raid5_ra: 'raid5',
  raid5_ls: 'raid5',
  raid5_rs: 'raid5',
  raid6: 'raid6',
  raid6_zr: 'raid6',
  raid6_nr: 'raid6',
  raid6_nc: 'raid6',
  raid10: 'raid10',
  raid10_near: 'raid10',
};
/** lvm's own names for what it makes when asked for the short one. */
const synonyms: ReadonlySet<string> = new Set(['raid5_ls', 'raid6_zr', 'raid10_near']);

function remarkOn({ index, name, value }: Word): readonly OptionRemark[] {
  const kind = name === 'type' ? types[value] : undefined;
  if (kind !== undefined && kind !== value && !synonyms.has(value)) {
    return [{ index, text: `volumes of type ${value} are made as ${kind}` }];
  }
  if (name === 'zero' && value.startsWith('n')) {
    return [{ index, text: 'it is ignored: the start of a new volume is always zeroed' }];
  }
  if (name === 'wipesignatures' && value.startsWith('n')) {
    return [{ index, text: 'it is ignored: old signatures are always wiped off a new volume' }];
  }
  return [];
}

/** The layout that lvcreate would make, or nothing when it would make none. */
function layoutOf(shape: Shape): LayoutSpec | undefined {
  const { mirrors = 0, stripeSizeBytes } = shape;
  const kind = kindOf(shape);
  const stripes = shape.stripes ?? defaultStripes(shape.type ?? kind);
  const size = stripeSizeBytes === undefined ? {} : { stripeSizeBytes };
  if (mirrors > limits.mirrorsMax || stripes < 1 || stripes > stripesMaxOf(kind)) return undefined;
  switch (kind) {
    case 'linear': {
      // A size beside a single stripe lvm passes over; one without any stripes it refuses.
      const isOdd = stripeSizeBytes !== undefined && shape.stripes === undefined;
      return mirrors > 0 || stripes > 1 || isOdd ? undefined : { kind };
    }
    case 'striped':
      return mirrors > 0 ? undefined : { kind, stripes, ...size };
    case 'raid1':
      if (stripes > 1 || shape.mirrors === 0) return undefined;
      return { kind, mirrors: shape.mirrors ?? 1 };
    case 'raid10':
      if (stripes < 2 || (shape.mirrors ?? 1) !== 1) return undefined;
      return { kind, stripes, mirrors: 1, ...size };
    case 'raid4':
    case 'raid5':
    case 'raid6':
      if (shape.mirrors !== undefined || stripes < defaultStripes(kind)) return undefined;
      return { kind, stripes, ...size };
    case 'thin':
      return undefined;
  }
}

function kindOf({ type, stripes = 1, mirrors = 0 }: Shape): LayoutSpec['kind'] {
  if (type !== undefined) return types[type] ?? 'linear';
  if (mirrors > 0) return stripes > 1 ? 'raid10' : 'raid1';
  return stripes > 1 ? 'striped' : 'linear';
}

/** As lvm has it for a type without `--stripes`. */
function defaultStripes(type: string): number {
  if (type.startsWith('raid6')) return 3;
  return /^raid(0|4|5|10)/.test(type) ? 2 : 1;
}
