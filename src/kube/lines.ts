import { KubeError } from './errors.ts';
import { kubeLimits } from './limits.ts';

const newline = 0x0a;

/**
 * Whole lines of a stream of bytes. They are split before they are decoded, so that a letter of
 * several bytes may lie across two chunks. A last line without its end was cut off and is left out.
 */
export async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  heard: () => void,
): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    heard();
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      parts.push(chunk.subarray(start, end));
      const line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
      parts = [];
      length = 0;
      start = end + 1;
      if (line.length > 0) yield line;
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > kubeLimits.lineBytesMax) {
      throw new KubeError('TooLarge', `a line has more than ${kubeLimits.lineBytesMax} bytes`);
    }
  }
}
