import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DiskSpec, Guest } from '../../lab/index.ts';
import type { ConfigMap, DaemonSet, Pod } from '../../src/api/objects/edge-workload.ts';
import { manifestFiles } from '../../tools/manifests.ts';
import type { Release } from '../../tools/manifests-settings.ts';
import { E2eStage } from './stage.ts';

export const namespace = 'openshift-storage';
export const lvmdPath = '/etc/microshift/lvmd.yaml';

const guide = join(import.meta.dirname, '../../docs/guides/microshift.md');
const lives = '{range .items[*]}{.metadata.uid} {.status.containerStatuses[0].restartCount};{end}';
const kubeconfig = '/var/lib/microshift/resources/kubeadmin/kubeconfig';

export type Ended = { readonly code: number; readonly text: string };

/** A host with a cluster of its own, as far as MicroShift has to do with us. */
export class EdgeHost {
  readonly stage: E2eStage;
  readonly #release: Release;
  /** Files of the host's image, by their path. */
  readonly #image = new Map<string, string>();

  private constructor(stage: E2eStage, release: Release) {
    this.stage = stage;
    this.#release = release;
  }

  static async open(disks: readonly DiskSpec[]): Promise<EdgeHost> {
    const stage = await E2eStage.openEdge(disks, namespace);
    const { release } = stage;
    return new EdgeHost(stage, release);
  }

  get node(): Guest {
    return this.stage.cluster.node('n1');
  }

  /** What the guide lays on a host, and what else its image has. At every start it is there. */
  async lay(): Promise<void> {
    const { node } = this;
    await node.sh(`mkdir -p ${kubeconfig.replace(/\/[^/]*$/, '')}`);
    await node.copyIn(this.stage.cluster.kubeconfig, kubeconfig);
    await this.#put('/usr/local/sbin/systemctl', systemctl);
    await this.#put('/usr/local/bin/quarry', '#!/bin/sh\nexec /quarry/bin/quarry "$@"\n');
    await node.sh('chmod 755 /usr/local/sbin/systemctl /usr/local/bin/quarry');
    await node.sh('mkdir -p /etc/greenboot/check/required.d');
    for (const [path, text] of Object.entries(manifestFiles(this.#release))) {
      // An archive that was imported has no digest to be asked for by.
      const named = text.replaceAll(/(image: [^@\s]+)@sha256:[0-9a-f]{64}/g, '$1');
      if (path.startsWith('deploy/microshift/')) await this.#put(`/root/${path}`, named);
    }
    await this.runGuide('## What lies on the host');
    await this.runGuide('## Is storage well?');
    for (const [path, text] of this.#image) await this.#put(path, text);
  }

  /** A file of the host, from now on. */
  async write(path: string, text: string): Promise<void> {
    this.#image.set(path, text);
    await this.#put(path, text);
  }

  async remove(path: string): Promise<void> {
    this.#image.delete(path);
    await this.node.sh(`rm ${path}`);
  }

  /** MicroShift starts: it applies what lies there, and those start that want to be after it. */
  restart(): Promise<Ended> {
    return this.run('systemctl restart microshift.service');
  }

  /** `quarry edge`, on the host. */
  edge(words: string): Promise<Ended> {
    return this.run(`quarry edge ${words}`);
  }

  /** As greenboot asks. */
  greenboot(): Promise<Ended> {
    return this.run('/etc/greenboot/check/required.d/50-quarry.sh');
  }

  async run(script: string): Promise<Ended> {
    const path = '/usr/local/sbin:/usr/local/bin:$PATH';
    const setting = `export KUBECONFIG=${kubeconfig} HOME=/root PATH=${path}; cd /root`;
    const words = ['sh', '-e', '-c', `${setting}\n${script}`];
    const { exitCode, stdout, stderr } = await this.node.run(words, { timeoutMs: 600_000 });
    return { code: exitCode ?? -1, text: `${stdout}${stderr}` };
  }

  /** What MicroShift does alone. */
  async applyManifests(): Promise<void> {
    const { code, text } = await this.run('systemctl restart microshift-manifests');
    assert.equal(code, 0, text);
  }

  /** The commands of a section, as they stand there. A host of the lab has no podman. */
  async runGuide(heading: string): Promise<readonly Ended[]> {
    const section = (await readFile(guide, 'utf8')).split(`\n${heading}\n`)[1]?.split('\n## ')[0];
    const blocks = [...(section ?? '').matchAll(/```sh\n([^`]*)```/g)].map(([, text = '']) => text);
    const ended: Ended[] = [];
    for (const block of blocks.filter((text) => !text.includes('podman'))) {
      const done = await this.run(block);
      assert.equal(done.code, 0, `${block}\n${done.text}`);
      ended.push(done);
    }
    assert.ok(ended.length > 0, `${heading} has commands`);
    return ended;
  }

  async #put(path: string, text: string): Promise<void> {
    await this.node.sh(`mkdir -p "$(dirname ${path})" && cat >${path}`, { stdin: text });
  }

  async configMap(): Promise<string | undefined> {
    const path = `/api/v1/namespaces/${namespace}/configmaps/lvmd`;
    return (await this.stage.cluster.api.get<ConfigMap>(path))?.data?.['lvmd.yaml'];
  }

  daemonSet(): Promise<DaemonSet | undefined> {
    const path = `/apis/apps/v1/namespaces/${namespace}/daemonsets/vg-manager`;
    return this.stage.cluster.api.get<DaemonSet>(path);
  }

  /** The pods of the DaemonSet that stay: one, unless something goes on. */
  async agents(): Promise<readonly Pod[]> {
    const path = `/api/v1/namespaces/${namespace}/pods`;
    const list = await this.stage.cluster.api.get<{ readonly items: readonly Pod[] }>(path);
    return (list?.items ?? []).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** Which pod runs, and how often it was started. */
  async life(): Promise<string> {
    const words = ['get', 'pods', `--namespace=${namespace}`, '--output', `jsonpath=${lives}`];
    return this.stage.cluster.kubectl(words);
  }
}

/**
 * In the place of systemd and of MicroShift, for a oneshot and whoever wants it. MicroShift tries
 * again until the manifests are taken: kinds are known some time after their definitions.
 */
const systemctl = `#!/bin/sh -e
units=/etc/systemd/system
run() {
  tries=20
  until $(sed -n 's/^ExecStart=//p' $units/$1); do
    code=$?; tries=$((tries - 1))
    # What is not there yet is tried again, as Restart=on-failure has it.
    [ $code = 75 ] && [ $tries -gt 0 ] || exit $code
    sleep 3
  done
}
case $1:$2 in
enable:*)
  wants=$units/$(sed -n 's/^WantedBy=//p' $units/$2).wants
  mkdir -p $wants && ln -sf $units/$2 $wants/ ;;
disable:*) rm -f $units/*.wants/$2 ;;
daemon-reload:*) ;;
restart:microshift*)
  for manifests in /etc/microshift/manifests.d/*; do
    tries=30
    until kubectl apply --kustomize $manifests; do
      tries=$((tries - 1)); [ $tries -gt 0 ] || exit 1; sleep 2
    done
  done
  [ $2 != microshift-manifests ] || exit 0
  for unit in $units/microshift.service.wants/*; do run \${unit##*/}; done ;;
restart:*) run $2 ;;
esac
`;
