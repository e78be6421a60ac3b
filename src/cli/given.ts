import { parseQuantity } from '../api/quantity.ts';
import { show } from '../base/show.ts';
import { UsageError } from './context.ts';

/** What a person wrote in a call: a value that can be used, or what to write instead. */
export function givenSize(size: string | undefined): bigint {
  if (size === undefined) throw new UsageError('say how large it shall be: --size 10Gi');
  const parsed = parseQuantity(size);
  if (typeof parsed !== 'bigint')
    throw refused('--size', size, 'write a size such as 10Gi or 500M');
  if (parsed === 0n) throw refused('--size', size, 'write more than 0, such as 10Gi');
  return parsed;
}

/** CSI's own limit for names. */
const nameBytesMax = 128;

/** Of something that is to be made. The driver takes any text; nobody could type or sort it. */
export function newName(name: string | undefined): string {
  const given = knownName(name);
  if (Buffer.byteLength(given) > nameBytesMax) {
    throw refused('NAME', given, `write at most ${nameBytesMax} bytes`);
  }
  const isPlain = /^[^\p{C}\s/-][^\p{C}/]*$/u.test(given) && !/^\.+$|\s$/.test(given);
  if (isPlain) return given;
  const remedy =
    'write letters, digits and . _ - without a slash, and begin with a letter or digit';
  throw refused('NAME', given, remedy);
}

/** Of something that is there, and may have been made by somebody who takes any text for a name. */
export function knownName(name: string | undefined): string {
  if (name === undefined) throw new UsageError('a name is missing');
  if (name === '')
    throw refused('NAME', name, 'write a name or an ID; `quarry volume list` has them');
  return name;
}

export function absolutePath(field: string, path: string | undefined): string {
  if (path === undefined) throw new UsageError('a path is missing');
  if (path.startsWith('/')) return path;
  throw refused(field, path, 'write an absolute path');
}

function refused(field: string, value: string, remedy: string): UsageError {
  return new UsageError(`${field} is ${show(value)}: ${remedy}`);
}
