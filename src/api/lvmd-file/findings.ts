/** Something to tell about a file: where, what stands there, and what to write instead. */
export type Finding = {
  readonly file: string;
  readonly line: number;
  /** The whole path of the key, such as `device-classes[1].thin-pool.name`. */
  readonly field: string;
  /** As a person wrote it, or what kind of thing it is. */
  readonly value: string;
  readonly remedy: string;
};

export function showFinding({ file, line, field, value, remedy }: Finding): string {
  return `${file}:${line}: ${field} is ${value}: ${remedy}`;
}

/** Collects all there is to tell, so that a person sees everything at once. */
export class Findings {
  readonly #file: string;
  readonly #problems: Finding[] = [];
  readonly #warnings: Finding[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  problem(found: Omit<Finding, 'file'>): void {
    this.#problems.push({ file: this.#file, ...found });
  }

  warning(found: Omit<Finding, 'file'>): void {
    this.#warnings.push({ file: this.#file, ...found });
  }

  get problems(): readonly Finding[] {
    return this.#problems.toSorted((a, b) => a.line - b.line);
  }

  get warnings(): readonly Finding[] {
    return this.#warnings.toSorted((a, b) => a.line - b.line);
  }
}

/** A text for a message: quoted, on one line, and never long. */
export function quote(text: string): string {
  const lengthMax = 60;
  return JSON.stringify(text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text);
}

/** `key` below `path`; a key that is no plain word is quoted. */
export function pathOf(path: string, key: string): string {
  const word = /^[\w.+<-]{1,60}$/.test(key) ? key : quote(key);
  return path === '' ? word : `${path}.${word}`;
}

/** The known word that takes the fewest changes to get to; hyphens and case count for nothing. */
export function nearest(word: string, known: readonly string[]): string {
  const plain = (text: string) => text.toLowerCase().replace(/[-_]/g, '').slice(0, 60);
  const distances = known.map((candidate) => distance(plain(word), plain(candidate)));
  return known[distances.indexOf(Math.min(...distances))] ?? '';
}

/** Levenshtein's: letters to put in, take out or change. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let line = 1; line <= from.length; line += 1) {
    const above = row;
    row = [line];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[line - 1] === to[column - 1];
      const changed = (above[column - 1] ?? 0) + (isSame ? 0 : 1);
      row.push(Math.min(changed, (above[column] ?? 0) + 1, (row[column - 1] ?? 0) + 1));
    }
  }
  return row[to.length] ?? 0;
}
