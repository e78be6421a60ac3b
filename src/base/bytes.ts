/** An exact number of bytes. LVM sizes exceed 2^53, so they are never a `number`. */
export type Bytes = bigint & { readonly unit: 'bytes' };

export function bytes(value: bigint | number): Bytes {
  return BigInt(value) as Bytes;
}

export const KiB = bytes(1024n);
export const MiB = bytes(1024n ** 2n);
export const GiB = bytes(1024n ** 3n);
export const TiB = bytes(1024n ** 4n);

export const noBytes = bytes(0n);

export function sum(...parts: readonly bigint[]): Bytes {
  return bytes(parts.reduce((total, part) => total + part, 0n));
}

/** `a - b`, but never below nothing: free space is not a debt. */
export function minus(a: bigint, b: bigint): Bytes {
  return bytes(a > b ? a - b : 0n);
}

export function times(size: bigint, factor: bigint | number): Bytes {
  return bytes(size * BigInt(factor));
}

export function least(...parts: readonly [bigint, ...bigint[]]): Bytes {
  return bytes(parts.reduce((a, b) => (b < a ? b : a)));
}

export function most(...parts: readonly [bigint, ...bigint[]]): Bytes {
  return bytes(parts.reduce((a, b) => (b > a ? b : a)));
}

/** How many units of the given size hold `value`, the last one perhaps not full. */
export function countUp(value: bigint, unit: bigint): bigint {
  return (value + unit - 1n) / unit;
}

export function roundUp(value: bigint, unit: bigint): Bytes {
  return bytes(countUp(value, unit) * unit);
}

export function roundDown(value: bigint, unit: bigint): Bytes {
  return bytes((value / unit) * unit);
}

/** `floor(size * ratio)` for a ratio a person wrote (10, 1.5); exact to a millionth. */
export function scale(size: bigint, ratio: number): Bytes {
  return bytes((size * BigInt(Math.round(ratio * 1_000_000))) / 1_000_000n);
}

/** `floor(size / factor)` for a factor a person wrote; exact to a millionth. */
export function divide(size: bigint, factor: number): Bytes {
  return bytes((size * 1_000_000n) / BigInt(Math.round(factor * 1_000_000)));
}
