/** Sizes and percentages the way LVM prints them. */

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'] as const;

/** Two decimals, and a `<` where rounding made the number larger than the truth. */
export function displaySize(bytes: number): string {
  let unit = 0;
  let divisor = 1;
  while (unit < units.length - 1 && bytes >= divisor * 1024) {
    divisor *= 1024;
    unit += 1;
  }
  const hundredths = roundHalfEven((bytes * 100) / divisor);
  const mark = (hundredths * divisor) / 100 > bytes ? '<' : '';
  return `${mark}${(hundredths / 100).toFixed(2)} ${units[unit]}`;
}

/** As C's printf rounds; JavaScript rounds halves up. */
function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** Never 0.00 for a little, never 100.00 for almost all. */
export function displayPercent(part: number, whole: number): string {
  if (whole <= 0 || part >= whole) return '100.00';
  if (part <= 0) return '0.00';
  const percent = (100 * part) / whole;
  return Math.min(99.99, Math.max(0.01, percent)).toFixed(2);
}

/** What a command printed, in two streams, line by line. */
export class Voice {
  #stdout = '';
  #stderr = '';

  out(line: string): this {
    this.#stdout += `${line}\n`;
    return this;
  }

  /** LVM indents what it says by two blanks. */
  say(line: string): this {
    return this.out(`  ${line}`);
  }

  complain(line: string): this {
    this.#stderr += `  ${line}\n`;
    return this;
  }

  err(line: string): this {
    this.#stderr += `${line}\n`;
    return this;
  }

  end(exitCode = 0): Outcome {
    return { exitCode, stdout: this.#stdout, stderr: this.#stderr };
  }

  fail(line: string): Outcome {
    return this.complain(line).end(5);
  }
}

export type Outcome = {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
};
