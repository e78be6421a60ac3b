import { type Cluster, type Look, waitUntil } from '../cluster/index.ts';
import type { Story } from './story.ts';

/** Patience with a machine that is busy with other things. */
export const patienceSeconds = 240;

/** Types what a person would type, and shows what a person would see. */
export class Terminal {
  readonly #cluster: Cluster;
  readonly #story: Story;

  constructor(cluster: Cluster, story: Story) {
    this.#cluster = cluster;
    this.#story = story;
  }

  async kubectl(...words: readonly string[]): Promise<string> {
    this.#story.command(['kubectl', ...words.map(quoted)].join(' '));
    const { exitCode, stdout, stderr } = await this.#cluster.tryKubectl(words);
    this.#story.output(`${stdout}${stderr}`);
    if (exitCode !== 0) throw new Error(`kubectl ${words.join(' ')} ended with ${exitCode}`);
    return stdout;
  }

  apply(...files: readonly string[]): Promise<string> {
    return this.kubectl('apply', ...files.map((file) => `--filename=${file}`));
  }

  /** Waits for what kubectl can wait for. */
  wait(what: string, condition: string, ...words: readonly string[]): Promise<string> {
    const how = [`--for=${condition}`, `--timeout=${patienceSeconds}s`];
    return this.kubectl('wait', what, ...how, ...words);
  }

  rollout(...words: readonly string[]): Promise<string> {
    return this.kubectl('rollout', 'status', ...words, `--timeout=${patienceSeconds}s`);
  }

  async onNode(name: string, command: string): Promise<string> {
    this.#story.command(`ssh ${name} ${quoted(command)}`);
    const said = await this.#cluster.node(name).sh(command, { timeoutMs: patienceSeconds * 1000 });
    this.#story.output(said);
    return said;
  }

  /** Without a word on the screen. */
  ask(...words: readonly string[]): Promise<string> {
    return this.#cluster.kubectl(words);
  }

  async until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
    const look = async (): Promise<Look<true>> =>
      (await isTrue()) ? { found: true } : { missing: 'not yet' };
    await waitUntil(what, look, { timeoutMs: patienceSeconds * 1000 });
  }
}

/** A word as a shell wants it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
