import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { runCli } from '../../src/cli/cli.ts';
import type { Environment } from '../../src/cli/context.ts';
import type { ClusterPicture, Part } from '../../src/core/doctor/picture.ts';
import type { FakeApi } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { FakeServer } from '../kube/fake-server.ts';
import { kubeconfigFor } from '../kube/scene.ts';
import { healthy } from '../samples/cluster-picture.ts';
import { surroundings } from '../samples/surroundings.ts';

const places: Readonly<Partial<Record<Part, string>>> = {
  clusters: collections.lvmClusters,
  groups: collections.lvmVolumeGroups,
  reports: collections.lvmNodeStatuses,
  nodes: collections.nodes,
  csiNodes: collections.csiNodes,
  csiDrivers: collections.csiDrivers,
  classes: collections.classes,
  claims: collections.claims,
  volumes: collections.volumes,
  logicalVolumes: collections.logicalVolumes,
  capacities: collections.capacities,
  deployments: '/apis/apps/v1/deployments',
  daemonSets: '/apis/apps/v1/daemonsets',
  pods: '/api/v1/pods',
  endpoints: '/apis/discovery.k8s.io/v1/endpointslices',
};

/** A server that has what a picture shows. */
export function putPicture(api: FakeApi, picture: ClusterPicture): void {
  for (const [part, collection] of Object.entries(places)) {
    for (const object of picture[part as Part]) {
      api.put(collection, object);
    }
  }
  for (const { kind, ...object } of picture.webhooks) {
    const collection = kind.startsWith('Validating')
      ? collections.validatingWebhooks
      : collections.mutatingWebhooks;
    api.put(collection, { kind, ...object });
  }
  const lease = { name: '1136b8a6.topolvm.io', namespace: 'quarry-system' };
  api.put(collections.leases, { metadata: lease, spec: { holderIdentity: 'lvms-operator-a' } });
  for (const field of ['involvedObject.uid', 'involvedObject.kind']) api.selectable.add(field);
}

/** Somebody at a shell, with a kubeconfig for a server that he can reach. */
export class CommandLine {
  readonly server = new FakeServer();
  readonly directory: string;
  #kubeconfig = '';

  private constructor(directory: string) {
    this.directory = directory;
  }

  static async begin(t: TestContext, change: Partial<ClusterPicture> = {}): Promise<CommandLine> {
    const line = new CommandLine(await mkdtemp(join(tmpdir(), 'quarry-line-')));
    const { port } = await line.server.start();
    t.after(async () => {
      await line.server.stop();
      await rm(line.directory, { recursive: true });
    });
    line.#kubeconfig = join(line.directory, 'kubeconfig');
    await writeFile(line.#kubeconfig, kubeconfigFor(line.server, port));
    putPicture(line.server.api, { ...healthy, ...change });
    return line;
  }

  async run(words: string, more: Partial<Environment> = {}) {
    const told: Record<'out' | 'err', string[]> = { out: [], err: [] };
    const variables = { ...surroundings.variables, kubeconfig: this.#kubeconfig };
    const code = await runCli(words.split(' '), {
      ...surroundings,
      ...{ path: '/usr/bin:/bin', version: '1.2.3', variables },
      print: (text) => told.out.push(text),
      warn: (text) => told.err.push(text),
      ...more,
    });
    return { code, out: told.out.join('\n'), err: told.err.join('\n') };
  }

  /** Every file below a directory, by its path in it. */
  async files(directory: string): Promise<ReadonlyMap<string, string>> {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    const texts = await Promise.all(paths.map((path) => readFile(path, 'utf8')));
    return new Map(paths.map((path, at) => [path.slice(directory.length + 1), texts[at] ?? '']));
  }
}
