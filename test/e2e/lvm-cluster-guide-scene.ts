import assert from 'node:assert/strict';
import { GiB, MiB } from '../../lab/index.ts';
import type { Guide } from './guide.ts';
import { groupOn, path } from './lvm-cluster-scene.ts';
import type { E2eStage } from './stage.ts';

/** `/dev/sdb` of the guide is the disk `b` of each node. What is moved is small, what grows is not. */
export const sizes = {
  ...{ a: GiB, b: GiB, c: 512n * MiB, d: GiB, e: 80n * GiB, f: 2n * GiB },
} as const;
export type Disk = keyof typeof sizes;

type Group = NonNullable<Awaited<ReturnType<typeof groupOn>>>;

export const classPath = '/spec/storage/deviceClasses';

type Operation = { readonly op: string; readonly path: string; readonly value?: unknown };

/** A guide in hand, and what it speaks of: disks by the names that it gives them. */
export class GuideScene {
  readonly #stage: E2eStage;
  readonly #guide: Guide;
  readonly #pasted = new Set<string>();

  constructor(stage: E2eStage, guide: Guide) {
    this.#stage = stage;
    this.#guide = guide;
  }

  /** A block of a section as it stands there, but for names of disks where nodes have others. */
  async paste(heading: string, number: number, edit = (script: string) => script): Promise<string> {
    this.#pasted.add(`${heading} ${number}`);
    const paths = await this.#paths();
    return this.#guide.pasteBlock(heading, number, (script) =>
      edit(script).replaceAll(/\/dev\/sd([a-f])\b/g, (name, disk) => paths.get(disk) ?? name),
    );
  }

  /** What nobody has pasted. */
  notPasted(): readonly string[] {
    return Object.entries(this.#guide.blocks())
      .flatMap(([heading, count]) =>
        Array.from({ length: count }, (_, index) => `${heading} ${index + 1}`),
      )
      .filter((block) => !this.#pasted.has(block));
  }

  /** Those that are there, and called alike on all nodes. */
  async #paths(): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    for (const disk of Object.keys(sizes)) {
      const paths = await Promise.all(
        this.#stage.cluster.nodes.map((node) => node.devicePath(disk).catch(() => '')),
      );
      if (paths.some((each) => each === '')) continue;
      assert.equal(new Set(paths).size, 1, `the disk ${disk} is ${paths.join(' and ')}`);
      found.set(disk, paths[0] ?? '');
    }
    return found;
  }

  /** The device of a disk, as all nodes call it. */
  async device(disk: Disk): Promise<string> {
    return (await this.#paths()).get(disk) ?? '';
  }

  /** A group is Ready on all nodes with exactly these disks, as it is told and as LVM has it. */
  async hasDisks(group: string, disks: readonly Disk[]): Promise<void> {
    for (const node of this.#stage.cluster.nodes) {
      const wanted = await Promise.all(disks.map((disk) => node.devicePath(disk)));
      await this.tells(group, node.name, ({ status, devices = [] }) => {
        return status === 'Ready' && devices.toSorted().join() === wanted.toSorted().join();
      });
      const words = `pvs --noheadings --options pv_name --select vg_name=${group}`;
      const has = (await node.sh(words)).trim().split(/\s+/).toSorted();
      assert.deepEqual(has, wanted.toSorted());
    }
  }

  async tells(group: string, node: string, is: (one: Group) => boolean): Promise<void> {
    let last: Group | undefined;
    const look = async () => {
      last = await groupOn(this.#stage, group, node);
      return last !== undefined && is(last);
    };
    await this.#stage
      .until(`${group} on ${node} is told as ${String(is)}`, look)
      .catch((error: unknown) => {
        throw new Error(`last: ${JSON.stringify(last)}: ${String(error)}`, { cause: error });
      });
  }

  /** One thing is said otherwise in the LVMCluster. */
  async change(op: 'add' | 'remove' | 'replace', where: string, value?: unknown): Promise<void> {
    await this.#patch([{ op, path: where, ...(value === undefined ? {} : { value }) }]);
  }

  /** The classes are counted from 0. */
  async makesDefault(one: number, insteadOf: number): Promise<void> {
    await this.#patch([
      { op: 'add', path: `${classPath}/${insteadOf}/default`, value: false },
      { op: 'add', path: `${classPath}/${one}/default`, value: true },
    ]);
  }

  async #patch(body: readonly Operation[]): Promise<void> {
    const { status, text } = await this.#stage.cluster.api.request(`${path}/mine`, {
      ...{ method: 'PATCH', contentType: 'application/json-patch+json', body, timeoutMs: 60_000 },
    });
    assert.ok(status < 300, text);
  }

  /** It alone. */
  async isDefault(name: string): Promise<void> {
    const key = 'storageclass.kubernetes.io/is-default-class';
    await this.#stage.until(`${name} is the default`, async () => {
      const classes = await this.#stage.cluster.api.get<{ readonly items: readonly Named[] }>(
        '/apis/storage.k8s.io/v1/storageclasses',
      );
      const found = classes?.items.filter(({ metadata }) => metadata.annotations?.[key] === 'true');
      return found?.map(({ metadata }) => metadata.name).join() === name;
    });
  }

  /** Within one percent of the group. */
  async poolHas(node: string, percent: number): Promise<void> {
    const words = 'lvs --noheadings --units b --nosuffix --options lv_size,vg_size vg1/pool';
    await this.#stage.until(`the pool on ${node} has ${percent} %`, async () => {
      const said = (await this.#stage.cluster.node(node).sh(words)).trim().split(/\s+/);
      const [pool = 0, group = 1] = said.map(Number);
      return Math.abs((100 * pool) / group - percent) <= 1;
    });
  }

  async policyIs(group: string, policy: Group['deviceDiscoveryPolicy']): Promise<void> {
    for (const { name } of this.#stage.cluster.nodes) {
      await this.tells(
        group,
        name,
        ({ deviceDiscoveryPolicy }) => deviceDiscoveryPolicy === policy,
      );
    }
  }

  /** It is told of, and nobody takes it. */
  async isLeftAlone(group: string, disk: Disk): Promise<void> {
    for (const node of this.#stage.cluster.nodes) {
      const device = await node.devicePath(disk);
      await this.tells(group, node.name, ({ excluded = [], devices = [] }) => {
        return excluded.some(({ name }) => name === device) && !devices.includes(device);
      });
    }
  }

  async pull(...disks: readonly Disk[]): Promise<void> {
    for (const disk of disks)
      for (const node of this.#stage.cluster.nodes) await node.pullDisk(disk);
  }

  async plug(disk: Disk): Promise<void> {
    for (const node of this.#stage.cluster.nodes) await node.plugDisk(disk);
  }
}

type Named = {
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
};
