import { type Bytes, bytes } from '../base/bytes.ts';
import { OperationError } from '../base/failures.ts';
import { show } from '../base/show.ts';

/** One row of a report. lvm writes every value as text; lsblk writes text, numbers and null. */
export type Row = Readonly<Record<string, unknown>>;

export function parseJson(text: string, what: string): Row {
  try {
    const value: unknown = JSON.parse(text);
    if (isRow(value)) return value;
  } catch {
    // Falls through: what was printed is not JSON, and the message says so.
  }
  throw new OperationError('UnreadableReport', `${what} printed ${show(text.slice(0, 200))}`);
}

export function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The rows under a key; a missing key is no rows, anything but rows is unreadable. */
export function rowsOf(row: Row, key: string): readonly Row[] {
  const value = row[key];
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every(isRow)) return value;
  throw unreadable(key, value);
}

/** Rows that a whole report always has, even if there are none: a report without them is half. */
export function requiredRows(row: Row, key: string): readonly Row[] {
  if (row[key] === undefined || row[key] === null) throw unreadable(key, row[key]);
  return rowsOf(row, key);
}

export function text(row: Row, key: string): string {
  const value = row[key];
  if (typeof value === 'string') return value;
  throw unreadable(key, value);
}

/** For lsblk and friends, where null means "nothing". */
export function optionalText(row: Row, key: string): string {
  const value = row[key];
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value.trim();
  if (typeof value === 'number') return String(value);
  throw unreadable(key, value);
}

export function size(row: Row, key: string): Bytes {
  const value = row[key];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return bytes(value);
  if (typeof value === 'string' && /^\d+$/.test(value)) return bytes(BigInt(value));
  throw unreadable(key, value);
}

export function optionalSize(row: Row, key: string): Bytes | undefined {
  return row[key] === '' || row[key] === null ? undefined : size(row, key);
}

/** A percentage as lvm prints it; '' where it means nothing, -1 where lvm could not tell. */
export function percent(row: Row, key: string): number | undefined {
  const value = text(row, key);
  if (value === '' || value.startsWith('-')) return undefined;
  const number = Number(value);
  if (Number.isFinite(number)) return number;
  throw unreadable(key, value);
}

export function list(row: Row, key: string): readonly string[] {
  const value = text(row, key);
  return value === '' ? [] : value.split(',');
}

/** util-linux printed "0" and "1" before it printed false and true. */
export function flag(row: Row, key: string): boolean {
  const value = row[key];
  if (typeof value === 'boolean') return value;
  if (value === '0' || value === '1') return value === '1';
  throw unreadable(key, value);
}

function unreadable(key: string, value: unknown): OperationError {
  return new OperationError('UnreadableReport', `a report gave ${key} ${show(value)}`);
}
