import assert from 'node:assert/strict';
import { join } from 'node:path';
import { GiB, type Guest, type Lab, startLab } from '../../lab/index.ts';
import { bundle } from '../../tools/bundle.ts';
import type { Answer } from './protocol.ts';
import { toLine } from './protocol.ts';
import { RpcRemote } from './remote.ts';
import {
  createSnapshot,
  createVolume,
  deleteSnapshot,
  deleteVolume,
  listSnapshots,
  listVolumes,
  publish,
  type Request,
  unpublish,
} from './requests.ts';
import { kept, path, type Scenario } from './scenarios.ts';

const lvmdFile = `device-classes:
- {name: thick, volume-group: data, spare-gb: 0}
- name: thin
  volume-group: data
  default: true
  type: thin
  thin-pool: {name: pool, overprovision-ratio: 5}
lvcreate-option-classes:
- {name: mirror, options: [--type=raid1, --mirrors=1]}
- {name: stripes, options: [--type=striped, --stripes=2]}
`;

const disks = ['a', 'b', 'c'];
const contentMib = 32;
const rawNames = ['keep-thick', 'keep-thin', ...kept.snapshots] as const;

/** What is on the node, by the names that scenarios use; an id that nobody knows stays as it is. */
export type Books = {
  readonly mibByLv: Readonly<Record<string, number>>;
  readonly volumes: readonly string[];
  readonly snapshots: readonly string[];
  readonly pending: readonly string[];
  /** File systems at the path, from the bottom of the stack. */
  readonly shown: readonly string[];
  readonly trouble: readonly string[];
};

/** A guest with real LVM, the driver in it, and volumes with data that must never change. */
export class RpcStage {
  readonly lab: Lab;
  readonly guest: Guest;
  readonly #ids = new Map<string, string>();
  readonly #sums = new Map<string, string>();
  #remote: RpcRemote | undefined;

  constructor(lab: Lab) {
    this.lab = lab;
    this.guest = lab.guest('n1');
  }

  static async open(): Promise<RpcStage> {
    await bundle(join(import.meta.dirname, '../../build/quarry.cjs'));
    const specs = disks.map((name) => ({ name, sizeBytes: 2n * GiB }));
    const stage = new RpcStage(await startLab({ guests: [{ name: 'n1', disks: specs }] }));
    try {
      await stage.#setUp();
    } catch (error) {
      await stage.lab.stop();
      throw error;
    }
    return stage;
  }

  get remote(): RpcRemote {
    assert.ok(this.#remote !== undefined, 'the driver was not started');
    return this.#remote;
  }

  /** A new agent and a new driver: at first, and after every boot. */
  async live(): Promise<void> {
    await this.guest.sh('mkdir -p /etc/topolvm /pods; cat >/etc/topolvm/lvmd.yaml', {
      stdin: lvmdFile,
    });
    this.#remote = new RpcRemote(this.guest);
    await this.#remote.serve();
  }

  ask(request: Request, cancelAfterMs?: number): Promise<Answer> {
    return this.remote.call(
      request.wire((name) => this.idOf(name)),
      cancelAfterMs,
    );
  }

  /** Asks for something that must succeed, and remembers the id of what it made. */
  async must(request: Request, why = ''): Promise<unknown> {
    const { code, message, response } = await this.ask(request);
    const { method } = request.wire((name) => this.idOf(name));
    if (code !== 'OK') {
      assert.fail(`${why}: ${method}: ${code} ${message}\n${await this.remote.log()}`);
    }
    this.learn(request, response);
    return response;
  }

  learn(request: Request, response: unknown): void {
    if (request.makes === undefined) return;
    const { volume, snapshot } = response as {
      readonly volume?: { readonly volumeId?: string; readonly name?: string };
      readonly snapshot?: { readonly snapshotId?: string; readonly name?: string };
    };
    const id = volume?.volumeId ?? snapshot?.snapshotId ?? volume?.name ?? snapshot?.name;
    assert.ok(id !== undefined && id !== '', `${request.makes} has no id`);
    this.#ids.set(request.makes, id);
  }

  idOf(name: string): string {
    return this.#ids.get(name) ?? `no-${name}`;
  }

  knows(name: string): boolean {
    return this.#ids.has(name);
  }

  async before(scenario: Scenario): Promise<void> {
    for (const act of scenario.before) {
      if ('soil' in act) await this.#soil(act.soil);
      else await this.must(act, `before ${scenario.name}`);
    }
  }

  /** Everything a call may have spoiled, once the same call has succeeded. */
  async check(scenario: Scenario, why: string): Promise<Books> {
    const books = await this.books();
    const { volumes = [], snapshots = [], shown } = scenario;
    const all = { volumes: [...kept.volumes, ...volumes], snapshots: [...kept.snapshots] };
    const expected = {
      volumes: all.volumes.toSorted(),
      snapshots: [...all.snapshots, ...snapshots].toSorted(),
    };
    const names = Object.keys(books.mibByLv).toSorted();
    assert.deepEqual(names, [...expected.volumes, ...expected.snapshots].toSorted(), why);
    assert.deepEqual({ volumes: books.volumes, snapshots: books.snapshots }, expected, why);
    assert.deepEqual(books.pending, scenario.pending ?? [], `${why}: pending marks`);
    const fsType = shown?.access === 'block' ? 'devtmpfs' : shown?.access;
    assert.deepEqual(books.shown, fsType === undefined ? [] : [fsType], `${why}: shown`);
    assert.deepEqual(books.trouble, [], why);
    await this.#checkContent(scenario, why);
    return books;
  }

  /** Takes away what the scenario made: nothing else may be left. */
  async cleanUp(scenario: Scenario, why: string): Promise<void> {
    const { volumes = [], snapshots = [], shown } = scenario;
    if (shown !== undefined) await this.must(unpublish(shown.name, path), why);
    for (const name of snapshots) await this.must(deleteSnapshot(name), why);
    for (const name of volumes) await this.must(deleteVolume(name), why);
    for (const name of [...snapshots, ...volumes, 'v', 's', 'l']) this.#ids.delete(name);
    const left = (await this.#lvs()).map(({ name }) => name);
    assert.deepEqual(left.toSorted(), [...kept.volumes, ...kept.snapshots].toSorted(), why);
    assert.equal(await this.guest.sh('ls -A /pods/p 2>/dev/null || true'), '', why);
  }

  /** An answer with names for ids, and without what differs whenever it is asked for anew. */
  plain(response: unknown): unknown {
    let text = toLine(steady(response));
    for (const [name, id] of this.#ids) text = text.replaceAll(id, `<${name}>`);
    return JSON.parse(text, (key, value: unknown) => {
      if (key === 'creationTime') return undefined;
      if (key !== 'tags') return value;
      const tags = value as readonly string[];
      return tags.filter((tag) => !tag.startsWith('quarry.created=')).toSorted();
    });
  }

  async books(): Promise<Books> {
    const lvs = await this.#lvs();
    const text = await this.guest.sh(`
      grep -F ' ${path} ' /proc/self/mountinfo | sed 's/.* - //; s/ .*//'
      echo --
      dmsetup info --columns --noheadings --options name,suspended | grep Suspended
      find /pods/* -maxdepth 1 | grep -vx -e /pods/p -e ${path}
      true`);
    const [shown = '', trouble = ''] = text.split('--\n');
    const stray = lvs.filter(({ tags }) => tags.includes('quarry.copying'));
    const named = async (list: Promise<readonly string[]>) =>
      (await list).map((id) => this.#nameOf(id)).toSorted();
    return {
      mibByLv: Object.fromEntries(lvs.map(({ name, mib }) => [name, mib])),
      volumes: await named(this.#listed('volume')),
      snapshots: await named(this.#listed('snapshot')),
      pending: lvs.filter(({ tags }) => tags.includes('quarry.pending')).map(({ name }) => name),
      shown: shown.split('\n').filter((line) => line !== ''),
      trouble: [
        ...trouble.split('\n').filter((line) => line !== ''),
        ...stray.map(({ name }) => `${name} is a copy without an end`),
      ],
    };
  }

  async #setUp(): Promise<void> {
    const paths = await Promise.all(disks.map((name) => this.guest.devicePath(name)));
    await this.guest.sh(`set -e
      lvm vgcreate --metadatasize 16m data ${paths.join(' ')}
      lvm lvcreate --yes --type thin-pool --size 1500m --name pool data`);
    await this.live();
    for (const className of ['thick', 'thin'] as const) {
      const name = `keep-${className}`;
      await this.must(createVolume(name, { className }));
      await this.must(publish(name, path, 'block'));
      await this.#fill(0, contentMib);
      await this.must(createSnapshot(`snap-${className}`, name));
      await this.#fill(1, 1);
      await this.must(unpublish(name, path));
    }
    for (const [access, mib] of [
      ['ext4', 64],
      ['xfs', 304],
    ] as const) {
      const name = `keep-${access}`;
      await this.must(createVolume(name, { className: 'thin', mib, access }));
      await this.must(publish(name, path, access));
      await this.guest.sh(`head -c 3M /dev/urandom >${path}/mine && sync --file-system ${path}`);
      this.#sums.set(name, await this.#fileSum());
      await this.must(unpublish(name, path));
    }
    const sums = await this.#deviceSums(rawNames);
    for (const [index, name] of rawNames.entries()) this.#sums.set(name, sums[index] ?? '');
  }

  /** Data of whoever uses the raw volume at the path, made to stay. */
  async #fill(fromMib: number, countMib: number): Promise<void> {
    const how = 'bs=1M oflag=direct conv=fsync,notrunc status=none';
    await this.guest.sh(
      `dd if=/dev/urandom of=${path} seek=${fromMib} count=${countMib} iflag=fullblock ${how}`,
    );
  }

  /** What a former tenant left where the new volume lies. The beginning is wiped by lvcreate. */
  async #soil(name: string): Promise<void> {
    const device = `/dev/data/${this.idOf(name)}`;
    const how = 'bs=1M seek=1 count=31 iflag=fullblock conv=fsync,notrunc status=none';
    await this.guest.sh(`tr '\\0' q </dev/zero | dd of=${device} ${how}`);
  }

  async #checkContent(scenario: Scenario, why: string): Promise<void> {
    const { content, shown } = scenario;
    const isFile = shown !== undefined && shown.access !== 'block';
    const also = content === undefined || isFile ? [] : [content.in];
    const sums = await this.#deviceSums([...rawNames, ...also]);
    const known = rawNames.map((name) => this.#sums.get(name));
    assert.deepEqual(sums.slice(0, rawNames.length), known, `${why}: ${rawNames.join(', ')}`);
    if (content !== undefined) {
      const sum = isFile ? await this.#fileSum() : sums.at(-1);
      assert.equal(sum, this.#sums.get(content.of), `${why}: what ${content.in} holds`);
    }
    if (scenario.isNew && shown !== undefined) await this.#use(shown, why);
  }

  /** A new volume is empty, takes data, and has it when it is shown again. */
  async #use(shown: NonNullable<Scenario['shown']>, why: string): Promise<void> {
    const isRaw = shown.access === 'block';
    if (isRaw) await this.guest.sh(`cmp --bytes ${contentMib * 1024 * 1024} ${path} /dev/zero`);
    const file = isRaw ? path : `${path}/mine`;
    const write = `dd if=/dev/urandom of=${file} bs=64k count=4 conv=fsync,notrunc status=none`;
    const sum = `head -c 262144 ${file} | md5sum`;
    const written = await this.guest.sh(`${write}; ${sum}`);
    await this.must(unpublish(shown.name, path), why);
    await this.must(publish(shown.name, path, shown.access), why);
    assert.equal(await this.guest.sh(sum), written, `${why}: what was written`);
  }

  /** Of the beginning and the end, past every cache. */
  async #deviceSums(names: readonly string[]): Promise<readonly string[]> {
    const dd = 'dd bs=1M iflag=direct status=none';
    const devices = names.map((name) => `/dev/data/${this.idOf(name)}`).join(' ');
    const text = await this.guest.sh(`for device in ${devices}; do
      { ${dd} if=$device count=2; ${dd} if=$device count=2 skip=${contentMib - 2}; } | md5sum
    done`);
    return text.trim().split('\n');
  }

  async #fileSum(): Promise<string> {
    return this.guest.sh(`md5sum <${path}/mine`);
  }

  async #lvs() {
    const fields = 'lv_name,lv_size,lv_tags';
    const text = await this.guest.sh(
      `lvm lvs --noheadings --nosuffix --units m --options ${fields} --select 'lv_name!=pool' data`,
    );
    return text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((line) => {
        const [id = '', mib = '', tags = ''] = line.trim().split(/\s+/);
        return { name: this.#nameOf(id), mib: Number(mib), tags: tags.split(',') };
      });
  }

  async #listed(kind: 'volume' | 'snapshot'): Promise<readonly string[]> {
    const { code, message, response } = await this.remote.call(
      kind === 'volume' ? listVolumes() : listSnapshots(),
    );
    assert.equal(code, 'OK', message);
    type Entry = { volume?: { volumeId: string }; snapshot?: { snapshotId: string } };
    const { entries } = response as { readonly entries: readonly Entry[] };
    return entries.map(({ volume, snapshot }) => volume?.volumeId ?? snapshot?.snapshotId ?? '');
  }

  #nameOf(id: string): string {
    return [...this.#ids].find(([, known]) => known === id)?.[0] ?? id;
  }
}

/** An answer without what may differ from one moment to the next though nothing has changed. */
export function steady(response: unknown): unknown {
  return JSON.parse(toLine(response), (key, value: unknown) => {
    if (key === 'devMinor') return undefined;
    // udev opens a new device for a moment.
    return key === 'attr' ? String(value).slice(0, 5) : value;
  });
}
