import type { Bytes } from './bytes.ts';

const units = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'] as const;

/** A size for people: exact when it is a whole number of a unit, else two decimals. */
export function showBytes(size: Bytes): string {
  if (size < 1024n && size > -1024n) return `${size} B`;
  let unit = 0;
  let divisor = 1024n;
  while (unit < units.length - 1 && abs(size) >= divisor * 1024n) {
    divisor *= 1024n;
    unit += 1;
  }
  const whole = size / divisor;
  const hundredths = (abs(size % divisor) * 100n) / divisor;
  const fraction = size % divisor === 0n ? '' : `.${String(hundredths).padStart(2, '0')}`;
  return `${whole}${fraction} ${units[unit]}`;
}

/** Any value for a message or a log. `JSON.stringify` alone throws on bigint. */
export function show(value: unknown): string {
  // JSON would print NaN and Infinity, which YAML allows, as null.
  if (typeof value === 'bigint' || typeof value === 'number') return value.toString();
  const text = JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'bigint'
      ? Number.isSafeInteger(Number(inner))
        ? Number(inner)
        : inner.toString()
      : inner,
  );
  return text ?? String(value);
}

/** `a, b and c`: how lists stand in sentences. */
export function showList(items: readonly string[]): string {
  if (items.length <= 1) return items.join('');
  return `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`;
}

/** `a, b, c and 12 more`: a few are enough to find the others, and never just one is left out. */
export function showFew(items: readonly string[], most = 5): string {
  if (items.length <= most + 1) return showList(items);
  return `${items.slice(0, most).join(', ')} and ${items.length - most} more`;
}

function abs(value: bigint): bigint {
  return value < 0n ? -value : value;
}
