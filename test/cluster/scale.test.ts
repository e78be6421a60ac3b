import assert from 'node:assert/strict';
import test from 'node:test';
import { counted, type Heard, nothingHeard } from '../../bench/scale/counted.ts';
import { volumeObject } from '../../bench/scale/objects.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { plainDisks } from '../world/devices.ts';
import { ourAgent } from './our-agent.ts';
import { ourLvmsAgent } from './our-lvms-agent.ts';
import { ourLvmsOperator, ourOperator } from './our-operator.ts';
import { type AgentProgram, namespace } from './programs.ts';
import { ClusterStage } from './stage.ts';

/** An agent whose client counts what it hears. */
function counting(agent: AgentProgram, all: Heard[]): AgentProgram {
  return (around) => {
    const heard = nothingHeard();
    all.push(heard);
    const { clock, chance } = around;
    const transport = counted(around.transport(), heard);
    return agent({ ...around, client: () => new KubeClient({ transport, clock, chance }) });
  };
}

/** What each agent hears from its start on, while every node is given two volumes. */
async function heardIn(nodes: number): Promise<readonly Heard[]> {
  const all: Heard[] = [];
  const agent = counting(ourAgent, all);
  const stage = new ClusterStage({ nodes, operator: ourOperator, agent });
  await stage.start();
  await giveVolumes(stage);
  return all;
}

/** The same from when an LVMCluster is Ready on: what nodes tell of it is not for other nodes. */
async function heardBesideLvmCluster(nodes: number): Promise<readonly Heard[]> {
  const all: Heard[] = [];
  const agent = counting(ourLvmsAgent, all);
  const devices = plainDisks(1);
  const bare = () => ({ devices, hasVolatileCaches: false });
  const stage = new ClusterStage({ nodes, operator: ourLvmsOperator, agent, bare });
  await stage.start();
  const metadata = { name: 'mine', namespace };
  const deviceClasses = [{ name: 'thick', default: true }];
  stage.admin.create(collections.lvmClusters, { metadata, spec: { storage: { deviceClasses } } });
  const stateOf = () => stage.api.one(collections.lvmClusters, 'mine', namespace)?.['status'];
  await stage.until('it is Ready', () => (stateOf() as { state?: string })?.state === 'Ready');
  await stage.advance(90_000);
  for (const heard of all) Object.assign(heard, nothingHeard());
  await giveVolumes(stage);
  return all;
}

async function giveVolumes(stage: ClusterStage): Promise<void> {
  const nodes = stage.machines.size;
  for (const [index, node] of [...stage.machines.keys()].entries()) {
    for (const which of ['a', 'b']) {
      stage.admin.create(collections.logicalVolumes, volumeObject(`v${index}${which}`, node));
    }
  }
  await stage.until('every volume is made', () =>
    stage.admin.logicalVolumes.every(({ status }) => status?.volumeID !== undefined),
  );
  await stage.advance(90_000);
  assert.equal(stage.admin.logicalVolumes.length, 2 * nodes);
}

for (const [where, heard] of [
  ['', heardIn],
  [' beside an LVMCluster', heardBesideLvmCluster],
] as const) {
  test(`an agent hears as much in a large cluster as in a small one${where}`, async (t) => {
    const [small, large] = [await heard(2), await heard(12)];
    for (const key of ['bytes', 'events', 'requests'] as const) {
      const most = (each: readonly Heard[]) => Math.max(...each.map((one) => one[key]));
      const line = `${key}: ${most(small)} with 2 nodes, ${most(large)} with 12`;
      t.diagnostic(line);
      assert.ok(most(small) > 0, line);
      // Of a handful one more or less is chance.
      assert.ok(most(large) <= Math.max(1.2 * most(small), most(small) + 1), line);
    }
  });
}
