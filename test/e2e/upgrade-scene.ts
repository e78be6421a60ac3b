import assert from 'node:assert/strict';
import { GiB } from '../../lab/index.ts';
import type { LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import type { Release } from '../../tools/manifests-settings.ts';
import { volumesOf } from './audit/findings.ts';
import { lookAtNode } from './audit/look.ts';
import { namespace, settled } from './calm.ts';
import { buildInstallation, type OtherVersion } from './image.ts';
import { KeptPod } from './kept-pod.ts';
import { clusterOf, disksOf, isReady, taken } from './lvm-cluster-scene.ts';
import { Snapshots, snapshotParts } from './snapshots.ts';
import { E2eStage } from './stage.ts';
import { pasteGuide } from './upgrade-guide.ts';

type Versions = Readonly<Record<'first' | 'next' | 'apart', Release>>;

type RunningPod = {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly { readonly image: string }[];
  };
};

/** The node with the new agent, and the one with the old. */
export type Halves = { readonly on: string; readonly off: string };

const nodes = ['n1', 'n2'];
const disks = ['a', 'b', 'c'].map((name) => ({ name, sizeBytes: 4n * GiB }));

/** What operators of one version had made on bare disks, and one class more. */
async function classesOf(stage: E2eStage): Promise<readonly LvmDeviceClass[]> {
  return [
    {
      ...{ name: 'thin', default: true, fstype: 'ext4' },
      deviceSelector: await disksOf(stage, 'a'),
      thinPoolConfig: { name: 'pool', sizePercent: 90, overprovisionRatio: 5 },
    },
    { name: 'thick', fstype: 'ext4', deviceSelector: await disksOf(stage, 'b') },
    { name: 'more', fstype: 'ext4', deviceSelector: await disksOf(stage, 'c') },
  ];
}

/** Two nodes, on each a pod that never stops writing, and versions to go to and come back from. */
export class UpgradeScene {
  readonly stage: E2eStage;
  readonly snapshots: Snapshots;
  readonly #versions: Versions;
  readonly #kept: ReadonlyMap<string, KeptPod>;

  private constructor(stage: E2eStage, snapshots: Snapshots, versions: Versions) {
    this.stage = stage;
    this.snapshots = snapshots;
    this.#versions = versions;
    this.#kept = new Map(
      nodes.map((node) => [node, new KeptPod(stage, node, [`thick-${node}`, `thin-${node}`])]),
    );
  }

  static async open(others: {
    readonly next: OtherVersion;
    readonly apart: OtherVersion;
  }): Promise<UpgradeScene> {
    await snapshotParts();
    const next = await buildInstallation({}, others.next);
    const apart = await buildInstallation({}, others.apart);
    const stage = await E2eStage.openBare(disks, [next, apart]);
    const versions = { first: stage.release, next: next.release, apart: apart.release };
    try {
      stage.layout = {
        thin: { group: 'thin', pool: { name: 'pool', ratio: 5n } },
        thick: { group: 'thick' },
        more: { group: 'more' },
      };
      const scene = new UpgradeScene(stage, await Snapshots.open(stage), versions);
      await scene.wants('thin', 'thick');
      await isReady(stage);
      for (const name of ['thin', 'thick']) {
        await stage.storageClass(name, { deviceClass: name, fsType: 'ext4' });
      }
      for (const node of nodes) await scene.#begin(node);
      return scene;
    } catch (error) {
      await stage.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.snapshots.close();
    await this.stage.close();
  }

  /** Groups of these classes on all nodes, of disks that are bare until then. */
  async wants(...names: readonly string[]): Promise<void> {
    const classes = await classesOf(this.stage);
    await taken(this.stage, clusterOf(classes.filter(({ name }) => names.includes(name))));
  }

  async #begin(node: string): Promise<void> {
    await this.stage.storageClass(`only-${node}`, {
      ...{ deviceClass: 'thin', fsType: 'ext4', isImmediate: true, nodes: [node] },
    });
    await this.#kept.get(node)?.make();
    await this.writeOn(node);
  }

  /** One line after the other, for as long as the pod lives. */
  async writeOn(node: string): Promise<void> {
    const pod = `thick-${node}`;
    await this.stage.until(`${pod} answers`, async () => (await this.stage.exec(pod, '')) === '');
    const loop = 'while n=$((n + 1)); do echo $n >> log && sync && sleep 0.2; done';
    const script = `cd /data/thick-${node} && touch log && n=$(wc -l < log)`;
    await this.stage.exec(pod, `${script}; (${loop}) > /dev/null 2>&1 &`);
  }

  /** Both nodes have all they had, and go on writing. */
  async isKept(): Promise<void> {
    await this.isWritten(...nodes);
    for (const pod of this.#kept.values()) await pod.isUntouched();
  }

  /** Every line is there and there are more and more; so are the words of the beginning. */
  async isWritten(...where: readonly string[]): Promise<void> {
    for (const node of where) {
      const gap = 'NR != $1 { exit 1 } END { print NR }';
      const lines = async () =>
        Number(await this.stage.exec(`thick-${node}`, `awk '${gap}' /data/thick-${node}/log`));
      const before = await lines();
      const isMore = async () => (await lines()) > before;
      await this.stage.until(`${node} writes on after ${before}`, isMore, 60_000);
      await this.#kept.get(node)?.holds(1);
    }
  }

  /** All that can become of a claim: made, written, grown, snapshotted, removed. */
  async work(name: string, node: string): Promise<void> {
    const { stage, snapshots } = this;
    await stage.claim(name, { className: 'thin', size: '48Mi' });
    await stage.pod(name, [name], node);
    await stage.exec(name, `echo ${name} > /data/${name}/word && sync`);
    await this.grow(name, '64Mi');
    await this.hasGrown(name, '64Mi');
    await snapshots.take(name, name);
    await snapshots.remove(name);
    assert.equal(await stage.exec(name, `cat /data/${name}/word`), `${name}\n`);
    await stage.remove('pod', name);
    await stage.remove('pvc', name);
  }

  async lvsOn(node: string): Promise<readonly string[]> {
    const seen = await lookAtNode(this.stage.cluster.node(node));
    return volumesOf(seen)
      .map(({ name, sizeBytes }) => `${name} ${sizeBytes}`)
      .toSorted();
  }

  async groupsOn(node: string): Promise<readonly string[]> {
    return (await lookAtNode(this.stage.cluster.node(node))).pvs.map(({ group }) => group);
  }

  async grow(claim: string, storage: string): Promise<void> {
    const patch = JSON.stringify({ spec: { resources: { requests: { storage } } } });
    await this.stage.cluster.kubectl(['patch', 'pvc', claim, `--patch=${patch}`]);
  }

  async hasGrown(claim: string, storage: string): Promise<void> {
    await this.stage.until(`${claim} has ${storage}`, async () => {
      const words = ['get', 'pvc', claim, '--output=jsonpath={.status.capacity.storage}'];
      return (await this.stage.cluster.kubectl(words)) === storage;
    });
  }

  /** As the guide says, to the end. */
  async goTo(name: keyof Versions, heading: 'Upgrade' | 'Downgrade'): Promise<void> {
    await pasteGuide(this.stage, heading, this.#versions[name]);
    const image = imageOf(this.#versions[name]);
    await this.stage.until(`all run ${image}`, async () => {
      const images = new Set((await this.#pods()).map((one) => one.image));
      return images.size === 1 && images.has(image);
    });
    await settled(this.stage);
    await isReady(this.stage);
  }

  /** As the guide says, and not to the end: one agent is of the new version, the other is not. */
  async goHalfWayTo(name: keyof Versions): Promise<Halves> {
    const { stage } = this;
    const release = this.#versions[name];
    const image = imageOf(release);
    const applies = (script: string) => script.replaceAll(/^(?!kubectl apply).*\n/gm, '');
    await pasteGuide(stage, 'Upgrade', release, applies);
    await pasteGuide(stage, 'Stop half-way', release);
    const first = (script: string) => script.replaceAll('NODE=n2', 'NODE=n1');
    await stage.until('it is stopped', () => this.#isHeard());
    await settled(stage);
    // The roll-out may have come to a node before it was stopped.
    const isBegun = (await this.#agentsOf(image)).length > 0;
    if (!isBegun) await pasteGuide(stage, 'One node by hand', release, first);
    await stage.until('it is half-way', async () => {
      const operators = (await this.#pods()).filter(({ role }) => role === 'controller');
      const isLed = operators.every((one) => one.image === image);
      return isLed && (await this.#agentsOf(image)).length === 1;
    });
    await settled(stage);
    const [on = ''] = await this.#agentsOf(image);
    return { on, off: nodes.find((node) => node !== on) ?? '' };
  }

  /** Whoever replaces agents goes by what was said last. */
  async #isHeard(): Promise<boolean> {
    const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets/vg-manager`;
    const found = await this.stage.cluster.api.get<{
      readonly metadata: { readonly generation: number };
      readonly status: { readonly observedGeneration?: number };
    }>(path);
    return found?.metadata.generation === found?.status.observedGeneration;
  }

  async #agentsOf(image: string): Promise<readonly string[]> {
    const agents = (await this.#pods()).filter(({ role }) => role === 'node');
    return agents.filter((agent) => agent.image === image).map(({ node }) => node);
  }

  async #pods() {
    const path = `/api/v1/namespaces/${namespace}/pods`;
    const list = await this.stage.cluster.api.get<{ readonly items: readonly RunningPod[] }>(path);
    return (list?.items ?? []).map(({ metadata, spec }) => ({
      role: metadata.labels['app.kubernetes.io/component'] ?? '',
      node: spec.nodeName ?? '',
      image: spec.containers[0]?.image ?? '',
    }));
  }
}

/** As the nodes have it: by name, without a digest. */
function imageOf({ image }: Release): string {
  return `${image.repository}:${image.tag}`;
}
