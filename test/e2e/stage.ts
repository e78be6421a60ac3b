import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  type Cluster,
  conditionOf,
  type PodObject,
  startCluster,
} from '../../lab/cluster/index.ts';
import { type Look, waitUntil } from '../../lab/cluster/wait.ts';
import type { DiskSpec } from '../../lab/index.ts';
import type { Release } from '../../tools/manifests-settings.ts';
import { applyObjects, collectionOf, deleteObject } from './api.ts';
import { findingsIn, volumesOf } from './audit/findings.ts';
import { type Claim, type Lv, lookAtEverything, lookAtNode } from './audit/look.ts';
import { buildInstallation, byName, type Installation } from './image.ts';
import { disks, type Layout, layoutByHand, lvmdFile, prepareScript } from './layout.ts';
import {
  type ClaimSpec,
  type ClassSpec,
  claimObject,
  classObject,
  type PodOptions,
  podObject,
} from './objects.ts';

/** StorageClasses that are there from the beginning, named after their device classes. */
const classNames = ['thin', 'thick', 'small'] as const;

/** A real Kubernetes with two nodes, and Quarry on it as its own manifests install it. */
export class E2eStage {
  readonly cluster: Cluster;
  /** Whose image the nodes have. */
  readonly release: Release;
  readonly namespace: string;
  readonly timings: string[] = [];
  /** What the auditor takes the classes for. */
  layout: Layout = layoutByHand;
  /** Claims that a story lets wait on purpose, for as long as it does: `NAMESPACE/NAME`. */
  readonly waiting = new Set<string>();

  private constructor(cluster: Cluster, release: Release, namespace = 'quarry-system') {
    this.cluster = cluster;
    this.release = release;
    this.namespace = namespace;
  }

  /** Nodes whose groups and lvmd.yaml an administrator has made; images of others lie on them. */
  static open(others: readonly Installation[] = []): Promise<E2eStage> {
    return E2eStage.#installed(disks, E2eStage.#byHand, others);
  }

  static async #byHand(stage: E2eStage, install: () => Promise<void>): Promise<void> {
    await Promise.all(stage.cluster.nodes.map((node) => stage.#prepare(node.name)));
    await install();
    for (const name of classNames) {
      await stage.storageClass(name, { deviceClass: name, fsType: 'ext4' });
    }
    await stage.isServing();
  }

  /** The same with one node. */
  static openAlone(): Promise<E2eStage> {
    return E2eStage.#installed(disks, E2eStage.#byHand, [], ['n1']);
  }

  /** Nodes with disks on which there is nothing. */
  static openBare(
    bare: readonly DiskSpec[],
    others: readonly Installation[] = [],
  ): Promise<E2eStage> {
    const begin = async (stage: E2eStage, install: () => Promise<void>) => {
      await install();
      await stage.hasDriver();
    };
    return E2eStage.#installed(bare, begin, others);
  }

  /** Nodes with somebody else's programs first: they have the image, and nothing is installed. */
  static async openFor(nodeDisks: readonly DiskSpec[]): Promise<E2eStage> {
    return E2eStage.#installed(nodeDisks, async () => {});
  }

  /** One node. Whoever owns it installs, from files that are laid on it. */
  static async openEdge(nodeDisks: readonly DiskSpec[], namespace: string): Promise<E2eStage> {
    const { archive, release } = await buildInstallation();
    try {
      const nodes = [{ name: 'n1', disks: nodeDisks }];
      const cluster = await startCluster({ nodes, images: [archive] });
      return new E2eStage(cluster, release, namespace);
    } finally {
      await rm(dirname(archive), { recursive: true });
    }
  }

  static async #installed(
    nodeDisks: readonly DiskSpec[],
    begin: (stage: E2eStage, install: () => Promise<void>) => Promise<void>,
    others: readonly Installation[] = [],
    names: readonly string[] = ['n1', 'n2'],
  ): Promise<E2eStage> {
    const { archive, manifests, release } = await buildInstallation();
    const images = [archive, ...others.map((other) => other.archive)];
    const nodes = names.map((name) => ({ name, disks: nodeDisks }));
    const cluster = await startCluster({ nodes, images });
    const stage = new E2eStage(cluster, release);
    try {
      await begin(stage, async () => {
        const { crds, lvmsCrds, namespace, driver, operator, agent, policy, webhook } = manifests;
        await cluster.apply(byName([...crds, ...lvmsCrds]));
        const ours = [...driver, ...operator, ...agent, ...policy, ...webhook];
        await cluster.apply(byName([...namespace, ...ours]));
      });
    } catch (error) {
      const what = await stage.describe();
      await stage.close();
      throw new Error(what, { cause: error });
    } finally {
      for (const image of images) await rm(dirname(image), { recursive: true });
    }
    return stage;
  }

  async close(): Promise<void> {
    await this.cluster.stop();
  }

  /** Every node has the driver, and has told what it can give. */
  async isServing(): Promise<void> {
    await this.hasDriver();
    await this.until('capacity of all classes on all nodes', async () => {
      const path = `/apis/storage.k8s.io/v1/namespaces/${this.namespace}/csistoragecapacities`;
      const list = await this.cluster.api.get<{ readonly items: readonly object[] }>(path);
      return (list?.items.length ?? 0) >= classNames.length * this.cluster.nodes.length;
    });
  }

  async hasDriver(): Promise<void> {
    for (const { name } of this.cluster.nodes) {
      await this.until(`the driver on ${name}`, async () => {
        const node = await this.cluster.api.get<{
          readonly spec: { readonly drivers: readonly { readonly name: string }[] | null };
        }>(`/apis/storage.k8s.io/v1/csinodes/${name}`);
        return (node?.spec.drivers ?? []).some((one) => one.name === 'topolvm.io');
      });
    }
  }

  async storageClass(name: string, spec: ClassSpec): Promise<void> {
    await applyObjects(this.cluster, [classObject(name, spec)]);
  }

  async claim(name: string, spec: ClaimSpec = {}): Promise<void> {
    await applyObjects(this.cluster, [claimObject(name, spec)]);
  }

  async claims(names: readonly string[], spec: ClaimSpec = {}): Promise<void> {
    await applyObjects(
      this.cluster,
      names.map((name) => claimObject(name, spec)),
    );
  }

  /** A pod that keeps the claims mounted at /data/NAME, on a node or as told otherwise. */
  async pod(name: string, claims: readonly string[], how?: string | PodOptions): Promise<void> {
    await this.apply(name, claims, how);
    await this.ready(name);
  }

  async apply(
    name: string,
    claims: readonly string[],
    how: string | PodOptions = {},
  ): Promise<void> {
    const options = typeof how === 'string' ? { node: how } : how;
    await applyObjects(this.cluster, [podObject(name, claims, options)]);
  }

  async ready(name: string): Promise<void> {
    const ready = this.cluster.waitForPod({ name }, { timeoutMs: 300_000, intervalMs: 300 });
    await ready.catch((error: unknown) => this.#tell(error));
  }

  /** The scheduler has no place for the pod, and says so. */
  async waitsFor(pod: string, why: RegExp): Promise<void> {
    await this.until(`${pod} waits, ${why}`, async () => {
      const object = await this.cluster.api.get<PodObject>(`${collectionOf('pod')}/${pod}`);
      const scheduled = object && conditionOf(object, 'PodScheduled');
      return scheduled?.status === 'False' && why.test(scheduled.message ?? '');
    });
  }

  /** `kubectl describe` of a claim says something, in one of its lines. */
  async tells(claim: string, what: RegExp, timeoutMs?: number): Promise<void> {
    const described = async () => {
      const text = await this.cluster.kubectl(['describe', 'pvc', claim]);
      return text.split('\n').some((line) => what.test(line));
    };
    await this.until(`${claim} tells ${what}`, described, timeoutMs);
  }

  async nodeOf(pod: string): Promise<string> {
    const path = `${collectionOf('pod')}/${pod}`;
    return (await this.cluster.api.get<PodObject>(path))?.spec.nodeName ?? '';
  }

  /** Operator and agents at once, without a word before. */
  async killOurs(): Promise<void> {
    const words = ['delete', 'pod', `--namespace=${this.namespace}`, '--all', '--force'];
    await this.cluster.kubectl([...words, '--grace-period=0']);
  }

  async cutPower(name: string): Promise<void> {
    await this.cluster.node(name).cutPower({ loseUnflushed: true });
    await this.cluster.startNode(name);
  }

  exec(pod: string, script: string): Promise<string> {
    return this.cluster.kubectl(['exec', pod, '--', 'sh', '-c', script]);
  }

  async remove(kind: string, ...names: readonly string[]): Promise<void> {
    const collection = collectionOf(kind);
    if (collection === undefined) {
      await this.cluster.kubectl(['delete', kind, ...names, '--timeout=300s']);
      return;
    }
    const paths = names.map((name) => `${collection}/${name}`);
    for (const path of paths) await deleteObject(this.cluster, path);
    for (const path of paths) {
      const isGone = async () => (await this.cluster.api.get<object>(path)) === undefined;
      await this.until(`${path} is gone`, isGone);
    }
  }

  async boundClaim(name: string): Promise<Claim> {
    const look = async (): Promise<Look<Claim>> => {
      const claim = await this.cluster.api.get<Claim>(`${collectionOf('pvc')}/${name}`);
      return claim?.status.phase === 'Bound' ? { found: claim } : { missing: 'not bound' };
    };
    const wait = waitUntil(`the claim ${name} is bound`, look, { timeoutMs: 300_000 });
    return wait.catch((error: unknown) => this.#tell(error));
  }

  async until(what: string, isTrue: () => Promise<boolean>, timeoutMs = 300_000): Promise<void> {
    // A busy machine, or an API server that is away: a look that fails is one more reason to wait.
    const look = async (): Promise<Look<true>> => {
      const seen = await isTrue().catch((error: unknown) => String(error));
      return seen === true ? { found: true } : { missing: seen === false ? 'not yet' : seen };
    };
    const wait = waitUntil(what, look, { timeoutMs, intervalMs: 500 });
    await wait.catch((error: unknown) => this.#tell(error));
  }

  async #tell(error: unknown): Promise<never> {
    throw new Error(`${String(error)}\n${await this.describe()}`, { cause: error });
  }

  async timed<T>(what: string, work: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    const result = await work();
    this.timings.push(`${what}: ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
    return result;
  }

  /** Volumes on all nodes, without their pools. */
  async lvs(): Promise<readonly string[]> {
    const nodes = await Promise.all(this.cluster.nodes.map(lookAtNode));
    return nodes.flatMap((node) => volumesOf(node).map(({ name }) => name));
  }

  /** The LV of a claim that is bound, on whichever node. */
  async lvOf(claim: string): Promise<Lv> {
    const { spec } = await this.boundClaim(claim);
    const path = `/api/v1/persistentvolumes/${spec.volumeName}`;
    const volume = await this.cluster.api.get<{
      readonly spec: { readonly csi: { readonly volumeHandle: string } };
    }>(path);
    const nodes = await Promise.all(this.cluster.nodes.map(lookAtNode));
    const name = volume?.spec.csi.volumeHandle;
    const found = nodes.flatMap(({ lvs }) => lvs).filter((lv) => lv.name === name);
    const [lv] = found;
    if (lv === undefined || found.length > 1) throw new Error(`${found.length} LVs of ${claim}`);
    return lv;
  }

  /**
   * Nothing is leaked, nothing is lost, nothing is stuck: every object has its LV and its peers.
   * But what a story says, because it is not ours to tell.
   */
  async audit(but?: RegExp): Promise<void> {
    let findings: readonly string[] = [];
    const look = async () => {
      findings = (await this.#findings()).filter((text) => but?.test(text) !== true);
      return findings.length === 0;
    };
    await this.until('everything at rest', look).catch(() => assert.deepEqual(findings, []));
  }

  /** The same while others work: what is wrong now must not stay so. */
  async auditBeside(): Promise<void> {
    let findings = await this.#findings();
    const look = async () => {
      if (findings.length === 0) return true;
      const now = new Set(await this.#findings());
      findings = findings.filter((finding) => now.has(finding));
      return findings.length === 0;
    };
    await this.until('nothing stays wrong', look).catch(() => assert.deepEqual(findings, []));
  }

  async #findings(): Promise<readonly string[]> {
    return findingsIn(await lookAtEverything(this.cluster), this.layout, this.waiting);
  }

  async describe(): Promise<string> {
    const args = [
      ['get', 'pods,pvc,pv,logicalvolumes.topolvm.io,csistoragecapacities', '--all-namespaces'],
      ['get', 'events', '--all-namespaces', '--sort-by=.lastTimestamp'],
      ['get', 'pvc', '--output=yaml'],
      [
        ...['logs', `--namespace=${this.namespace}`, '--tail=60', '--prefix'],
        '--selector=app.kubernetes.io/name=topolvm',
      ],
    ];
    const said = await Promise.all(args.map((words) => this.cluster.tryKubectl(words)));
    return said.map(({ stdout, stderr }) => `${stdout}${stderr}`).join('\n');
  }

  async #prepare(name: string): Promise<void> {
    const node = this.cluster.node(name);
    const paths = new Map<string, string>();
    for (const disk of disks) paths.set(disk.name, await node.devicePath(disk.name));
    await node.sh(prepareScript(paths), { stdin: lvmdFile });
  }
}
