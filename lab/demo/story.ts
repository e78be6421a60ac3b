type Row = { readonly title: string; readonly seconds: number | undefined };

const ruleColumns = 72;

/** What is told while it happens: headings, commands, what was seen, and how long each part took. */
export class Story {
  readonly #rows: Row[] = [];
  #current = '';

  part(title: string): void {
    console.log(`\n${'='.repeat(ruleColumns)}\n${title}`);
    this.#rows.push({ title, seconds: undefined });
  }

  async chapter<T>(title: string, work: () => Promise<T>): Promise<T> {
    console.log(`\n=== ${title}`);
    this.#current = title;
    const startedAtMs = performance.now();
    const result = await work();
    const seconds = (performance.now() - startedAtMs) / 1000;
    this.#rows.push({ title, seconds });
    console.log(`    ${seconds.toFixed(1)} s`);
    return result;
  }

  /** A command as a person would type it. */
  command(text: string): void {
    console.log(`$ ${text}`);
  }

  output(text: string): void {
    if (text.trim() !== '') console.log(text.trimEnd());
  }

  /** What was checked, in a sentence. */
  seen(sentence: string): void {
    console.log(`-> ${sentence}`);
  }

  summary(): void {
    console.log('\n=== summary');
    for (const { title, seconds } of this.#rows) console.log(lineOf(seconds, title));
    const totalSeconds = this.#rows.reduce((sum, { seconds = 0 }) => sum + seconds, 0);
    console.log(lineOf(totalSeconds, 'in all'));
  }

  failed(error: unknown): void {
    console.error(`\nFAILED in: ${this.#current}`);
    for (let cause = error; cause instanceof Error; cause = cause.cause) {
      console.error(cause.message);
    }
  }
}

function lineOf(seconds: number | undefined, what: string): string {
  return seconds === undefined ? `\n${what}` : `${seconds.toFixed(1).padStart(6)} s  ${what}`;
}
