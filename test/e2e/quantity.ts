import { parseQuantity } from '../../src/api/quantity.ts';

export function bytesOf(text: string): bigint {
  const parsed = parseQuantity(text);
  if (typeof parsed !== 'bigint') throw new Error(`${text} is no quantity: ${parsed.message}`);
  return parsed;
}
