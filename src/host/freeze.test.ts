import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freezeHolder, thawLeft } from '../lvm/freeze-argv.ts';

type Given = { readonly fails?: true; readonly seconds?: string; readonly hangs?: true };

/** The real script, with an fsfreeze that keeps a book of what it was told and fails as told. */
class Scene {
  readonly #directory: string;
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown[]>;

  constructor(t: TestContext, given: Given = {}) {
    this.#directory = mkdtempSync(join(tmpdir(), 'quarry-freeze-'));
    t.after(() => rmSync(this.#directory, { recursive: true }));
    const program = join(this.#directory, 'fsfreeze');
    const end = given.fails === true ? 'exit 1' : 'exit 0';
    const gate = join(this.#directory, 'gate');
    spawnSync('mkfifo', [gate]);
    const wait = given.hangs === true ? `[ "$1" = --unfreeze ] || cat ${gate} > /dev/null\n` : '';
    writeFileSync(program, `#!/bin/sh\n${wait}echo "$@" >> ${this.#book}\n${end}\n`);
    chmodSync(program, 0o755);
    const [shell, ...words] = freezeHolder('/pods/a').argv;
    const args = words.map((word, index) => (index === 3 ? (given.seconds ?? word) : word));
    this.#child = spawn(shell, this.#here(args), { detached: true, env: this.#environment });
    this.#closed = once(this.#child, 'close');
  }

  get #environment(): NodeJS.ProcessEnv {
    return { PATH: `${this.#directory}:/usr/sbin:/usr/bin:/sbin:/bin` };
  }

  get #notes(): string {
    return join(this.#directory, 'notes');
  }

  #here(args: readonly string[]): string[] {
    return [...args.slice(0, -1), this.#notes];
  }

  /** What our next life does when it starts. */
  thawLeft(): string {
    const [shell, ...args] = thawLeft.argv;
    const { status, stdout } = spawnSync(shell, this.#here(args), { env: this.#environment });
    assert.equal(status, 0);
    return stdout.toString();
  }

  get noteCount(): number {
    return existsSync(this.#notes) ? readdirSync(this.#notes).length : 0;
  }

  get #book(): string {
    return join(this.#directory, 'book');
  }

  get told(): readonly string[] {
    return existsSync(this.#book) ? readFileSync(this.#book, 'utf8').trim().split('\n') : [];
  }

  async frozen(): Promise<void> {
    assert.ok(this.#child.stdout !== null);
    assert.match(String((await once(this.#child.stdout, 'data'))[0]), /frozen/);
  }

  /** To it and to all it started, as a service manager or a terminal does. */
  signal(name: NodeJS.Signals): void {
    assert.ok(this.#child.pid !== undefined);
    process.kill(-this.#child.pid, name);
  }

  /** Its child is in the kernel and cannot be killed yet. */
  killShell(): void {
    this.#child.kill('SIGKILL');
  }

  /** Also where a test has failed half way. */
  endAll(): void {
    try {
      this.signal('SIGKILL');
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
    }
  }

  get hasBegun(): boolean {
    return this.noteCount === 1 && readFileSync(join(this.#notes, this.#note)).length > 0;
  }

  get #note(): string {
    return readdirSync(this.#notes)[0] ?? '';
  }

  /** The disk answers at last. */
  finishFreeze(): void {
    writeFileSync(join(this.#directory, 'gate'), '');
  }

  letGo(): void {
    this.#child.stdin?.end();
  }

  async end(): Promise<unknown> {
    const [code] = await this.#closed;
    return code;
  }
}

const freeze = '--freeze /pods/a';
const thaw = '--unfreeze /pods/a';

test('a file system stays frozen until its holder is let go', async (t) => {
  const scene = new Scene(t);
  await scene.frozen();
  await sleep(100);
  assert.deepEqual(scene.told, [freeze]);
  assert.equal(scene.thawLeft(), '', 'its holder lives');
  scene.letGo();
  assert.equal(await scene.end(), 0);
  assert.deepEqual(scene.told, [freeze, thaw]);
  assert.equal(scene.noteCount, 0);
});

test('what ended with everything it started is thawed by the next life, once', async (t) => {
  const scene = new Scene(t);
  await scene.frozen();
  assert.equal(scene.noteCount, 1);
  scene.signal('SIGKILL');
  await scene.end();
  assert.equal(scene.thawLeft(), '/pods/a\n');
  assert.deepEqual([scene.noteCount, scene.told], [0, [freeze, thaw]]);
  assert.equal(scene.thawLeft(), '');
});

for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  test(`${name} to everything we started leaves nothing frozen`, async (t) => {
    const scene = new Scene(t);
    await scene.frozen();
    scene.signal(name);
    await sleep(100);
    scene.letGo();
    assert.equal(await scene.end(), 0);
    assert.deepEqual(scene.told, [freeze, thaw]);
  });
}

test('what somebody else has frozen is not thawed', async (t) => {
  const scene = new Scene(t, { fails: true });
  assert.equal(await scene.end(), 1);
  assert.equal(scene.thawLeft(), '');
  assert.deepEqual(scene.told, [freeze]);
});

test('nothing stays frozen for ever, and who waited too long is told', async (t) => {
  const scene = new Scene(t, { seconds: '0.2' });
  assert.notEqual(await scene.end(), 0);
  assert.deepEqual(scene.told, [freeze, thaw]);
});

test('a freeze that outlives its holder is not forgotten before it has come about', async (t) => {
  const scene = new Scene(t, { hangs: true });
  t.after(() => scene.endAll());
  while (!scene.hasBegun) await sleep(5);
  scene.killShell();
  await sleep(50);
  assert.equal(scene.thawLeft(), '');
  assert.equal(scene.noteCount, 1, 'nothing is frozen yet, and it will be');
  scene.finishFreeze();
  await scene.end();
  assert.deepEqual(scene.told, [freeze]);
  assert.equal(scene.thawLeft(), '/pods/a\n');
  assert.deepEqual([scene.noteCount, scene.told], [0, [freeze, thaw]]);
});
