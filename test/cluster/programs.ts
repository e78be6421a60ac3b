import type { Build } from '../../src/core/cluster/skew.ts';
import type { DesiredNode } from '../../src/core/node.ts';
import type { Service } from '../../src/csi/service.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import type { Clock } from '../../src/kube/ports.ts';
import type { Transport } from '../../src/kube/transport.ts';
import type { Judge } from '../../src/operator/webhook.ts';
import type { Stored } from '../kube/fake-api.ts';
import type { FakeHost } from '../world/fake-host.ts';
import type { Life } from './life.ts';
import type { NodeDisk } from './node-disk.ts';

/** What a process of ours finds around it. */
export type Surroundings = {
  /** A way to the API server with connections of its own. */
  readonly transport: () => Transport;
  readonly client: () => KubeClient;
  readonly clock: Clock;
  readonly chance: () => number;
  readonly wall: () => number;
  readonly life: Life;
  /** A name that no other process has, nor an earlier life of this one. */
  readonly self: string;
  /** What it is and understands. */
  readonly build: Build;
  readonly log: (line: { readonly level: string; readonly message: string }) => void;
  /** What the API server has: it asks us, and waits meanwhile. */
  readonly stored: (collection: string) => readonly Stored[];
  /** From now on API servers find these behind the Service. */
  readonly judge: (judges: ReadonlyMap<string, Judge>) => void;
};

export type NodeSurroundings = Surroundings & {
  readonly node: string;
  readonly host: FakeHost;
  readonly desired: DesiredNode;
  /** What lies beside the disks that are given away. */
  readonly disk: NodeDisk;
  /** The socket appears: from now on kubelet finds this behind it. */
  readonly serve: (service: Service) => void;
};

/** The agent of a node. */
export type AgentProgram = (around: NodeSurroundings) => {
  run(signal: AbortSignal): Promise<void>;
};

export type OperatorProgram = (around: Surroundings) => {
  run(signal: AbortSignal): Promise<void>;
};

export const driver = 'topolvm.io';
export const namespace = 'quarry-system';
