import { type Bytes, bytes, GiB, times } from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import { parseLvmSize } from '../lvm-size.ts';
import { type OptionRemark, readThickOptions, type StripeKeys } from './lvcreate-options.ts';
import type { NodeReader } from './node-reader.ts';
import { type LvmdDeviceClass, type LvmdTarget, type WipePolicy, wipePolicies } from './spec.ts';

/** A class and the reader that knows where it stands. */
export type PlacedClass = { readonly spec: LvmdDeviceClass; readonly reader: NodeReader };

/** One entry of `device-classes`. After a problem a harmless value stands for what is wrong. */
export function decodeDeviceClass(reader: NodeReader): PlacedClass {
  const name = matching(reader, 'name', className, nameRemedy);
  const volumeGroup = matching(
    reader,
    'volume-group',
    lvmName,
    `name a volume group with ${lvmRule}`,
  );
  const isDefault = reader.boolean('default') ?? false;
  const target = decodeTarget(reader);
  const spareBytes = decodeSpare(reader);
  const stripes = decodeStripes(reader, target);
  const lvcreateOptions = decodeOptions(reader, target, stripes);
  const overheadFactor = decodeOverhead(reader, target);
  const wipePolicy = decodeWipePolicy(reader);
  reader.warnOfUnknown();
  const spec: LvmdDeviceClass = {
    ...{ name, volumeGroup, isDefault, spareBytes, target },
    ...stripes,
    ...{ lvcreateOptions, overheadFactor },
    ...(wipePolicy === undefined ? {} : { wipePolicy }),
  };
  return { spec, reader };
}

/** What reading the options told, as warnings beside the option. */
export function warnOfOptions(
  reader: NodeReader,
  key: string,
  remarks: readonly OptionRemark[],
): void {
  for (const { index, text } of remarks) reader.warnOfItem(key, index, text);
}

const className = /^([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$/;
const nameRemedy = 'write 1 to 63 letters, digits and . _ -, with a letter or digit at both ends';
const lvmName = /^(?!\.{1,2}$)[A-Za-z0-9_+.][A-Za-z0-9_+.-]{0,126}$/;
const lvmRule = 'letters, digits and . _ + -';

function matching(reader: NodeReader, key: string, pattern: RegExp, remedy: string): string {
  const text = reader.text(key);
  if (text === undefined) return '';
  if (pattern.test(text)) return text;
  reader.refuse(key, remedy);
  return '';
}

function decodeTarget(reader: NodeReader): LvmdTarget {
  const type = reader.text('type');
  if (type !== undefined && !['', 'thick', 'thin'].includes(type)) {
    reader.refuse('type', 'write thin or thick, or leave it out for thick');
  }
  const told = reader.has('thin-pool');
  const pool = reader.child('thin-pool');
  if (type === 'thin') {
    if (pool !== undefined) return decodePool(pool);
    if (!told) reader.refuse('thin-pool', 'write the name and the overprovision-ratio of the pool');
    return { kind: 'thin', poolName: '', overprovisionRatio: 1 };
  }
  if (pool !== undefined) {
    pool.text('name');
    pool.number('overprovision-ratio');
    pool.boolean('grow');
    pool.warnOfUnknown();
    reader.warn('thin-pool', 'it has no effect: the type is not thin');
  }
  return { kind: 'thick' };
}

function decodePool(reader: NodeReader): LvmdTarget {
  const poolName = matching(reader, 'name', lvmName, `name a thin pool with ${lvmRule}`);
  const range = { min: 1, max: limits.lvmdRatioMax };
  const ratio = reader.number('overprovision-ratio', range);
  if (!reader.has('overprovision-ratio')) {
    reader.refuse('overprovision-ratio', `write a number from ${range.min} to ${range.max}`);
  }
  const mayGrow = reader.boolean('grow') ?? false;
  reader.warnOfUnknown();
  const target = { kind: 'thin', poolName, overprovisionRatio: ratio ?? 1 } as const;
  return mayGrow ? { ...target, mayGrow } : target;
}

function decodeSpare(reader: NodeReader): Bytes {
  const spare = reader.whole('spare-gb', { min: 0, max: limits.lvmdSpareGibMax });
  return spare === undefined ? bytes(limits.lvmdSpareBytes) : times(GiB, spare);
}

const stripeSize = /^[0-9]+[kmgtpebs]?$/i;

function decodeStripes(reader: NodeReader, target: LvmdTarget): StripeKeys {
  const stripe = reader.whole('stripe', { min: 1, max: limits.stripesMax });
  const text = reader.text('stripe-size') ?? '';
  if (text !== '' && !stripeSize.test(text)) {
    reader.refuse('stripe-size', 'write a number and one of k m g t p e b s, such as 64k');
    return {};
  }
  const size = text === '' ? undefined : parseLvmSize(text, 'k');
  const stripeSizeBytes = typeof size === 'bigint' ? size : undefined;
  warnOfStripes(reader, target, stripeSizeBytes);
  return {
    ...(stripe === undefined ? {} : { stripe }),
    ...(stripeSizeBytes === undefined ? {} : { stripeSizeBytes }),
  };
}

function warnOfStripes(reader: NodeReader, target: LvmdTarget, size: Bytes | undefined): void {
  if (target.kind === 'thin') {
    if (reader.has('stripe')) reader.warn('stripe', 'it has no effect on volumes of a thin pool');
    return;
  }
  if (size === undefined) return;
  if (!reader.has('stripe')) reader.warn('stripe-size', 'it has no effect without stripe');
  else if (size < limits.stripeSizeBytesMin || (size & (size - 1n)) !== 0n) {
    reader.warn('stripe-size', 'lvcreate will refuse it: write a power of two of at least 4k');
  }
}

function decodeOptions(
  reader: NodeReader,
  target: LvmdTarget,
  stripes: StripeKeys,
): readonly string[] {
  const options = reader.texts('lvcreate-options') ?? [];
  if (target.kind === 'thick') {
    warnOfOptions(reader, 'lvcreate-options', readThickOptions(options, stripes).remarks);
  }
  return options;
}

function decodeOverhead(reader: NodeReader, target: LvmdTarget): number {
  const range = { min: 1, max: limits.lvmdRatioMax };
  const factor = reader.number('overhead-factor', range) ?? 1;
  if (target.kind === 'thin' && factor !== 1) {
    reader.warn('overhead-factor', 'it has no effect on volumes of a thin pool');
  }
  return factor;
}

function decodeWipePolicy(reader: NodeReader): WipePolicy | undefined {
  const text = reader.text('wipe-policy') ?? '';
  const policy = wipePolicies.find((known) => known === text);
  if (text !== '' && policy === undefined) {
    reader.refuse('wipe-policy', `write one of ${wipePolicies.join(', ')}`);
  }
  return policy;
}
