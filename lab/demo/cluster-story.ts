import { strict as assert } from 'node:assert';
import type { Cluster } from '../cluster/index.ts';
import { archiveDisk, kindsDirectory, manifestsDirectory } from './cluster.ts';
import type { Story } from './story.ts';
import { patienceSeconds, Terminal } from './terminal.ts';

const namespace = '--namespace=quarry-system';
const clusterFile = 'lab/demo/lvm-cluster.yaml';

const roomColumns = [
  String.raw`NODE:.nodeTopology.matchLabels.topology\.topolvm\.io/node`,
  ...['CLASS:.storageClassName', 'ROOM:.capacity', 'LARGEST:.maximumVolumeSize'],
].join(',');

/** Puts a flag behind those that the operator has. */
const snapshotControllerPatch = JSON.stringify([
  {
    op: 'add',
    path: '/spec/template/spec/containers/0/args/-',
    value: '--snapshot-controller',
  },
]);

/**
 * From bare disks to volumes that survive a power cut, by commands that a person can type.
 * Every chapter checks what it tells, and throws when it is not so.
 */
export class ClusterStory {
  readonly #cluster: Cluster;
  readonly #story: Story;
  readonly #terminal: Terminal;

  constructor(cluster: Cluster, story: Story) {
    this.#cluster = cluster;
    this.#story = story;
    this.#terminal = new Terminal(cluster, story);
  }

  async tell({ isKept }: { readonly isKept: boolean }): Promise<void> {
    const story = this.#story;
    await story.chapter('Quarry is installed by its own manifests', () => this.#install());
    await story.chapter('what an LVMCluster would do to which disk', () => this.#foresee());
    await story.chapter('it is applied: bare disks become volume groups', () => this.#groups());
    await story.chapter('a claim, and a pod that writes to it', () => this.#write());
    await story.chapter('a snapshot while the pod writes', () => this.#snapshot());
    await story.chapter('a new volume from the snapshot', () => this.#restore());
    await story.chapter('the volume grows while the pod writes', () => this.#grow());
    await story.chapter('what no node can hold is refused, and says why', () => this.#refuse());
    const lines = await this.#linesOnDisk();
    const node = await this.#nodeOfWriter();
    await story.chapter(`${node} loses its power, and every write that was not flushed`, () =>
      this.#cutPower(node, lines),
    );
    await story.chapter(`${node} comes back, and the pod writes on`, () =>
      this.#comeBack(node, lines),
    );
    if (isKept) return;
    await story.chapter('everything is deleted, and nothing is left', () => this.#leave());
  }

  async #install(): Promise<void> {
    const terminal = this.#terminal;
    const made = (name: string): string => `${manifestsDirectory}/deploy/${name}.yaml`;
    await terminal.apply(kindsDirectory);
    await terminal.apply(...['namespace', 'crds'].map(made));
    await terminal.apply(...['quarry', 'node-policy', 'snapshot-controller'].map(made));
    await terminal.kubectl(
      ...['patch', 'deployment', 'lvms-operator', namespace],
      ...['--type=json', `--patch=${snapshotControllerPatch}`],
    );
    await terminal.rollout('daemonset/vg-manager', namespace);
    await terminal.rollout('deployment/lvms-operator', namespace);
    await terminal.kubectl('get', 'pods', '--output=wide', namespace);
  }

  /** The nodes have told of their disks, and nothing is written to any of them. */
  async #foresee(): Promise<void> {
    const words = ['apply', '--dry-run=server', `--filename=${clusterFile}`];
    await this.#terminal.until('the operator can tell', async () => {
      const { stderr } = await this.#cluster.tryKubectl(words);
      const isHeard = this.#cluster.nodes.every(({ name }) => stderr.includes(`${name}:`));
      return isHeard && !stderr.includes('has not told');
    });
    await this.#terminal.kubectl(...words);
    const plan = await this.#terminal.kubectl('quarry', 'plan', `--file=${clusterFile}`);
    for (const { name } of this.#cluster.nodes) {
      const device = await this.#cluster.node(name).devicePath(archiveDisk.name);
      assert.match(plan, new RegExp(`${device}\\s.*it holds xfs`), `the archive of ${name}`);
      assert.equal(await this.#cluster.node(name).sh('pvs --noheadings'), '');
    }
    this.#story.seen('two disks of each node would be taken; what holds something stays as it is');
  }

  async #groups(): Promise<void> {
    const terminal = this.#terminal;
    await terminal.apply(clusterFile);
    const isReady = 'jsonpath={.status.state}=Ready';
    await terminal.wait('lvmcluster/mine', isReady, namespace);
    const room = ['get', 'csistoragecapacities', namespace];
    await terminal.until('every node tells its room', async () => {
      const lines = (await terminal.ask(...room, '--no-headers')).trim().split('\n');
      return lines.length >= this.#cluster.nodes.length;
    });
    await terminal.kubectl('quarry', 'status');
    await terminal.kubectl(...room, `--output=custom-columns=${roomColumns}`);
    await terminal.onNode('n1', 'pvs');
  }

  async #write(): Promise<void> {
    await this.#terminal.apply('lab/demo/writer.yaml');
    await this.#terminal.rollout('statefulset/writer');
    await this.#terminal.kubectl('get', 'pvc,pv,logicalvolumes');
    await this.#terminal.kubectl('logs', 'writer-0', '--tail=1');
  }

  async #snapshot(): Promise<void> {
    await this.#terminal.apply('lab/demo/snapshot.yaml');
    await this.#terminal.wait('volumesnapshot/journal-then', 'jsonpath={.status.readyToUse}=true');
    await this.#terminal.kubectl('get', 'volumesnapshot');
  }

  async #restore(): Promise<void> {
    await this.#terminal.apply('lab/demo/restored.yaml');
    await this.#terminal.wait('pod/reader', 'condition=Ready');
    await this.#terminal.kubectl('exec', 'reader', '--', 'tail', '-n', '1', '/data/journal');
    const [then, now] = [await this.#linesIn('reader'), await this.#linesIn('writer-0')];
    assert.ok(then > 0 && then < now, `${then} lines in the snapshot, ${now} in the journal`);
    this.#story.seen(`the snapshot holds ${then} lines, the journal has ${now} by now`);
  }

  async #grow(): Promise<void> {
    const patch = JSON.stringify({ spec: { resources: { requests: { storage: '2Gi' } } } });
    await this.#terminal.kubectl('patch', 'pvc', 'journal', `--patch=${patch}`);
    await this.#terminal.wait('pvc/journal', 'jsonpath={.status.capacity.storage}=2Gi');
    const said = await this.#terminal.kubectl('exec', 'writer-0', '--', 'df', '-P', '-m', '/data');
    const sizeMiB = Number(said.split('\n')[1]?.split(/\s+/)[1]);
    assert.ok(sizeMiB > 1900 && sizeMiB <= 2048, `the file system has ${sizeMiB} MiB`);
  }

  async #refuse(): Promise<void> {
    await this.#terminal.apply('lab/demo/huge.yaml');
    const ask = ['events', '--for=pod/hopeful', '--types=Warning'];
    await this.#terminal.until('it is told why', async () =>
      (await this.#terminal.ask(...ask)).includes('Failed'),
    );
    await this.#terminal.kubectl(...ask);
    await this.#terminal.kubectl('delete', '--filename=lab/demo/huge.yaml');
  }

  async #cutPower(node: string, lines: number): Promise<void> {
    assert.ok(lines > 0, 'the pod has written nothing');
    this.#story.seen(`before it, ${lines} lines of the journal were on the disk`);
    await this.#cluster.node(node).cutPower({ loseUnflushed: true });
    await this.#terminal.wait(`node/${node}`, 'condition=Ready=Unknown');
    await this.#terminal.apply('lab/demo/newcomer.yaml');
    await this.#terminal.wait('pod/newcomer', 'condition=Ready');
    await this.#terminal.kubectl('get', 'nodes');
    await this.#terminal.kubectl('get', 'pods', '--output=wide');
    this.#story.seen('the other node goes on: it made a new volume meanwhile');
  }

  async #comeBack(node: string, lines: number): Promise<void> {
    await this.#cluster.startNode(node, { timeoutMs: patienceSeconds * 1000 });
    await this.#terminal.rollout('statefulset/writer');
    await this.#terminal.until('the pod writes on', async () => {
      return (await this.#linesOnDisk().catch(() => 0)) > lines;
    });
    await this.#terminal.kubectl('logs', 'writer-0', '--tail=1');
    const gap = 'NR != $1 { print "line " NR " is missing"; exit 1 }';
    await this.#terminal.kubectl('exec', 'writer-0', '--', 'awk', gap, '/data/journal');
    const now = await this.#linesIn('writer-0');
    assert.ok(now > lines, `the journal had ${lines} lines before the power cut, now ${now}`);
    this.#story.seen(`the journal has ${now} lines by now, and none is missing`);
  }

  async #leave(): Promise<void> {
    for (const name of ['newcomer', 'restored', 'snapshot', 'writer']) {
      await this.#terminal.kubectl('delete', `--filename=lab/demo/${name}.yaml`);
    }
    await this.#terminal.until('no volume is left', async () => {
      return (await this.#terminal.ask('get', 'pv,logicalvolumes', '--output=name')) === '';
    });
    await this.#terminal.kubectl('delete', `--filename=${clusterFile}`);
    for (const { name } of this.#cluster.nodes) {
      assert.equal(await this.#terminal.onNode(name, 'pvs'), '', `${name} still has groups`);
      const device = await this.#cluster.node(name).devicePath(archiveDisk.name);
      const label = await this.#terminal.onNode(name, `blkid -o value -s LABEL ${device}`);
      assert.equal(label.trim(), 'archive', `the archive of ${name}`);
    }
    this.#story.seen('the disks are as bare as they were, and the archive is what it was');
  }

  #nodeOfWriter(): Promise<string> {
    return this.#terminal.ask('get', 'pod', 'writer-0', '--output=jsonpath={.spec.nodeName}');
  }

  /** As the pod says, which it does after each flush. */
  async #linesOnDisk(): Promise<number> {
    const said = await this.#terminal.ask('logs', 'writer-0', '--tail=1');
    return Number(/^line (\d+) is on the disk/.exec(said)?.[1] ?? 0);
  }

  async #linesIn(pod: string): Promise<number> {
    return Number.parseInt(
      await this.#terminal.ask('exec', pod, '--', 'wc', '-l', '/data/journal'),
      10,
    );
  }
}
