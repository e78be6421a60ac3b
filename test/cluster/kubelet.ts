import type { PersistentVolumeClaim } from '../../src/api/objects/claim.ts';
import type { PersistentVolume } from '../../src/api/objects/persistent-volume.ts';
import {
  VolumeCapability_AccessMode_Mode as Mode,
  NodeExpandVolumeRequest,
  type NodeGetInfoResponse,
  NodePublishVolumeRequest,
  NodeUnpublishVolumeRequest,
} from '../../src/csi/generated/csi.ts';
import { collections } from '../kube/fake-api-rules.ts';
import type { Chance } from '../world/chance.ts';
import type { FakeClock } from '../world/clock.ts';
import { type Desk, Refused } from './desk.ts';
import { CallFailed, callDriver, type Served } from './driver.ts';
import type { Pod, Pods, Shown } from './pods.ts';
import { isBound } from './scheduler.ts';

type Parts = {
  readonly node: string;
  readonly driver: string;
  readonly desk: Desk;
  readonly pods: Pods;
  readonly clock: FakeClock;
  readonly chance: Chance;
  readonly served: () => Served | undefined;
  /** Whether it reaches the API server. What it knows already it does without. */
  readonly isOnline: () => boolean;
};

const callTimeoutMs = 120_000;
export const podsPath = '/var/lib/kubelet/pods';

/** kubelet on one node: it registers the driver and shows volumes to pods. */
export class Kubelet {
  readonly #parts: Parts;
  /** What is under way, or waits after a failure: by pod and claim. */
  readonly #busy = new Set<string>();
  readonly #failures = new Map<string, number>();
  /** What an earlier life had shown: nobody knows if it is still there. */
  readonly #unsure = new Set<string>();
  #lostAnswers = 0;
  #life = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** A new kubelet asks once more for what it had shown, and forgets what it was about to do. */
  restart(): void {
    const { pods, node } = this.#parts;
    this.#life += 1;
    this.#busy.clear();
    this.#failures.clear();
    for (const pod of pods.all.filter((one) => one.node === node)) {
      for (const claim of pod.shown.keys()) this.#unsure.add(`${pod.uid} ${claim}`);
    }
  }

  /** How often a call is carried out and its answer lost: then it is repeated. */
  losesAnswers(rate: number): void {
    this.#lostAnswers = rate;
  }

  round(): void {
    const { pods, node } = this.#parts;
    for (const pod of pods.all) {
      if (pod.node !== node) continue;
      if (pod.isDeleting) this.#takeAway(pod);
      else this.#show(pod);
    }
  }

  /** It makes its Node where there is none: when it begins, and never again. */
  async join(): Promise<void> {
    const { clock, chance, desk, node } = this.#parts;
    const life = this.#life;
    while (desk.node(node) === undefined) {
      await clock.sleep(chance.between(100, 1_000));
      if (this.#life !== life) return;
      if (this.#parts.isOnline() && desk.node(node) === undefined) {
        desk.create(collections.nodes, newNode(node));
        void this.register('known');
      }
    }
  }

  /**
   * The entry comes when the driver has answered. Where its socket is a new one the old entry goes
   * first; a new kubelet finds the socket as it was, and asks again.
   */
  async register(socket: 'new' | 'known' = 'new'): Promise<void> {
    const { clock, chance, node, driver, desk } = this.#parts;
    const life = this.#life;
    let isOld = socket === 'new';
    for (;;) {
      await clock.sleep(chance.between(100, 1_000));
      if (this.#life !== life) return;
      if (!this.#parts.isOnline() || desk.node(node) === undefined) continue;
      if (isOld) this.#writeDrivers([]);
      isOld = false;
      try {
        const info = (await this.#call('NodeGetInfo', {})) as NodeGetInfoResponse;
        const labels = Object.fromEntries(info.accessibleTopology?.segments ?? []);
        desk.patch(collections.nodes, { name: node }, { metadata: { labels } });
        const topologyKeys = Object.keys(labels);
        this.#writeDrivers([{ name: driver, nodeID: info.nodeId, topologyKeys }]);
        return;
      } catch (error) {
        if (!(error instanceof CallFailed || error instanceof Refused)) throw error;
      }
    }
  }

  #writeDrivers(drivers: readonly object[]): void {
    const { desk, node } = this.#parts;
    if (desk.csiNode(node) === undefined) {
      const object = { metadata: { name: node }, spec: { drivers } };
      desk.create(collections.csiNodes, object);
    } else desk.patch(collections.csiNodes, { name: node }, { spec: { drivers } });
  }

  #show(pod: Pod): void {
    const { desk } = this.#parts;
    for (const name of pod.claims) {
      const shown = pod.shown.get(name);
      const key = `${pod.uid} ${name}`;
      if (shown?.isDone === true && !this.#unsure.has(key)) {
        this.#grow(pod, name, shown);
        continue;
      }
      const claim = this.#parts.isOnline() ? desk.claim(name) : undefined;
      if (claim === undefined || !isBound(claim)) continue;
      const volume = desk.volume(claim.spec.volumeName ?? '');
      if (volume?.spec.claimRef?.uid !== claim.metadata.uid) continue;
      this.#work(key, async () => {
        await this.#publish(pod, name, volume);
        this.#unsure.delete(key);
      });
    }
    const isRunning = pod.claims.every((name) => pod.shown.get(name)?.isDone === true);
    if (isRunning === pod.isRunning) return;
    pod.isRunning = isRunning;
    if (isRunning) pod.why = 'runs';
    this.#parts.pods.changed();
  }

  async #publish(pod: Pod, claim: string, { metadata, spec }: PersistentVolume): Promise<void> {
    const volumeId = spec.csi?.volumeHandle ?? '';
    const path = `${podsPath}/${pod.uid}/volumes/kubernetes.io~csi/${metadata.name}/mount`;
    const known = pod.shown.get(claim);
    const shown: Shown = known?.path === path ? known : { volumeId, path, isDone: false };
    pod.shown.set(claim, shown);
    const isRaw = spec.volumeMode === 'Block';
    const mount = { fsType: spec.csi?.fsType ?? '', mountFlags: [] };
    await this.#call(
      'NodePublishVolume',
      NodePublishVolumeRequest.fromPartial({
        ...{ volumeId, targetPath: path },
        volumeCapability: {
          accessMode: { mode: Mode.SINGLE_NODE_WRITER },
          accessType: isRaw ? { $case: 'block', value: {} } : { $case: 'mount', value: mount },
        },
        volumeContext: new Map(Object.entries(spec.csi?.volumeAttributes ?? {})),
      }),
    );
    shown.isDone = true;
  }

  /** Only what the API server says is to be grown. */
  #grow(pod: Pod, name: string, shown: Shown): void {
    const { desk, isOnline } = this.#parts;
    const claim = isOnline() ? desk.claim(name) : undefined;
    if (claim === undefined || !isBound(claim) || !isToGrow(claim)) return;
    const volume = desk.volume(claim.spec.volumeName ?? '');
    if (volume?.spec.csi?.volumeHandle !== shown.volumeId) return;
    this.#work(`${pod.uid} ${name}`, () => this.#expand(claim, volume, shown));
  }

  async #expand(
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
    { volumeId, path }: Shown,
  ): Promise<void> {
    const { desk } = this.#parts;
    const begun = { allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } };
    desk.status(collections.claims, claim.metadata, { status: begun });
    const { capacity } = volume.spec;
    await this.#call(
      'NodeExpandVolume',
      NodeExpandVolumeRequest.fromPartial({ volumeId, volumePath: path }),
    );
    const now = desk.claim(claim.metadata.name, claim.metadata.namespace);
    if (now?.metadata.uid !== claim.metadata.uid) return;
    const conditions = (now.status?.conditions ?? []).filter(({ type }) => !resizing.has(type));
    const status = { capacity, conditions, allocatedResourceStatuses: null };
    desk.status(collections.claims, claim.metadata, { status });
  }

  #takeAway(pod: Pod): void {
    for (const [name, { volumeId, path }] of pod.shown) {
      this.#work(`${pod.uid} ${name}`, async () => {
        const request = NodeUnpublishVolumeRequest.fromPartial({ volumeId, targetPath: path });
        await this.#call('NodeUnpublishVolume', request);
        pod.shown.delete(name);
      });
    }
    if (pod.shown.size === 0) this.#parts.pods.gone(pod);
  }

  /** One thing at a time for one volume of one pod, later and later while it fails. */
  #work(key: string, work: () => Promise<void>): void {
    if (this.#busy.has(key)) return;
    this.#busy.add(key);
    const life = this.#life;
    void this.#try(key, work).then((waitMs) => {
      if (this.#life !== life) return;
      this.#parts.clock.after(waitMs, () => {
        if (this.#life !== life) return;
        this.#busy.delete(key);
        this.#parts.pods.changed();
      });
    });
  }

  /** How long to wait before it is looked at again. */
  async #try(key: string, work: () => Promise<void>): Promise<number> {
    try {
      await work();
      this.#failures.delete(key);
      return 0;
    } catch (error) {
      if (!(error instanceof CallFailed || error instanceof Refused)) throw error;
      const failures = this.#failures.get(key) ?? 0;
      this.#failures.set(key, failures + 1);
      const pod = this.#parts.pods.all.find(({ uid }) => key.startsWith(uid));
      if (pod !== undefined) pod.why = error.message;
      return Math.min(500 * 2 ** failures, 122_000);
    }
  }

  async #call(method: string, request: unknown): Promise<unknown> {
    const { clock, served, chance } = this.#parts;
    const answer = await callDriver(clock, served(), method, request, callTimeoutMs);
    if (!chance.happens(this.#lostAnswers)) return answer;
    throw new CallFailed('UNAVAILABLE', 'the answer was lost');
  }
}

export function newNode(name: string) {
  return { metadata: { name, labels: { 'kubernetes.io/hostname': name } } };
}

const resizing = new Set(['Resizing', 'FileSystemResizePending', 'NodeResizeError']);

function isToGrow({ status }: PersistentVolumeClaim): boolean {
  const state = status?.allocatedResourceStatuses?.storage;
  return state === 'NodeResizePending' || state === 'NodeResizeInProgress';
}
