import { topolvmSide } from '../../bench/kube/topolvm.ts';
import { busyboxImage } from '../../lab/cluster/index.ts';
import { type EdgeHost, lvmdPath, namespace } from './edge-host.ts';
import { oldDefinition, oldDriver } from './topolvm-objects.ts';

/** Two releases of MicroShift: lvmd in a container of its own, and inside of the node service. */
export const layouts = ['own lvmd', 'embedded lvmd'] as const;

export type OldLayout = (typeof layouts)[number];

const domain = 'topolvm.io';

/** TopoLVM as MicroShift runs it: its objects, and its own programs as processes of the node. */
export class OldMicroShift {
  readonly #host: EdgeHost;
  readonly #lvmd: string;
  #side: ReturnType<typeof topolvmSide> | undefined;

  constructor(host: EdgeHost, lvmd: string) {
    this.#host = host;
    this.#lvmd = lvmd;
  }

  /** What MicroShift does at its start, with its own assets and the file of the owner. */
  async start(layout: OldLayout): Promise<void> {
    const { cluster } = this.#host.stage;
    await this.#host.write(lvmdPath, this.#lvmd);
    await cluster.apply([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }]);
    await cluster.apply([oldDefinition(domain), oldDriver(domain), ...classes]);
    await cluster.apply([configMap(this.#lvmd), ...programs(layout)]);
    this.#side = topolvmSide(cluster, {
      ...{ namespace, lvmd: this.#lvmd },
      ...(layout === 'own lvmd' ? { lvmdSocket: '/run/lvmd/lvmd.sock' } : {}),
    });
    await this.#side.install();
  }

  /** Its pods end. */
  async stop(): Promise<void> {
    await this.#side?.uninstall();
    this.lost();
    await this.#withoutRights();
  }

  /** The host has lost its power. */
  lost(): void {
    this.#side = undefined;
  }

  /** The accounts of the stand-in may do everything, and ours are in the same namespace. */
  async #withoutRights(): Promise<void> {
    const words = ['delete', 'clusterrolebinding', namespace, '--ignore-not-found'];
    await this.#host.stage.cluster.kubectl(words);
  }
}

const storageClass = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass' };
const rest = {
  ...{ provisioner: domain, volumeBindingMode: 'WaitForFirstConsumer', allowVolumeExpansion: true },
};

/** MicroShift's own, and one of the owner. */
const classes = [
  {
    ...{ ...storageClass, ...rest, parameters: { 'csi.storage.k8s.io/fstype': 'xfs' } },
    metadata: {
      name: 'topolvm-provisioner',
      annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
    },
  },
  {
    ...{ ...storageClass, ...rest, metadata: { name: 'mirror' } },
    parameters: { 'csi.storage.k8s.io/fstype': 'ext4', [`${domain}/device-class`]: 'mirror' },
  },
];

function configMap(text: string): object {
  const metadata = { name: 'lvmd', namespace };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'lvmd.yaml': text } };
}

/** Asleep: what matters is what they are called, and that they go. */
function programs(layout: OldLayout): readonly object[] {
  const lvmd = layout === 'own lvmd' ? ['lvmd'] : [];
  return [
    workload('Deployment', 'topolvm-controller', ['topolvm-controller', 'csi-provisioner']),
    workload('DaemonSet', 'topolvm-node', [...lvmd, 'topolvm-node', 'csi-registrar']),
  ];
}

function workload(kind: string, name: string, containers: readonly string[]): object {
  const labels = {
    'app.kubernetes.io/name': 'topolvm-csi-driver',
    'app.kubernetes.io/component': name,
  };
  const asleep = { image: busyboxImage, imagePullPolicy: 'Never', command: ['sleep', '1000000'] };
  return {
    ...{ apiVersion: 'apps/v1', kind, metadata: { name, namespace } },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: containers.map((one) => ({ name: one, ...asleep })),
        },
      },
    },
  };
}
