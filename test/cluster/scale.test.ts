import assert from 'node:assert/strict';
import test from 'node:test';
import { counted, type Heard, nothingHeard } from '../../bench/scale/counted.ts';
import { volumeObject } from '../../bench/scale/objects.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { ourAgent } from './our-agent.ts';
import { ourOperator } from './our-operator.ts';
import { ClusterStage } from './stage.ts';

/** What each agent hears from its start on, while every node is given two volumes. */
async function heardIn(nodes: number): Promise<readonly Heard[]> {
  const all: Heard[] = [];
  const stage = new ClusterStage({
    nodes,
    operator: ourOperator,
    agent: (around) => {
      const heard = nothingHeard();
      all.push(heard);
      const { clock, chance } = around;
      const transport = counted(around.transport(), heard);
      return ourAgent({ ...around, client: () => new KubeClient({ transport, clock, chance }) });
    },
  });
  await stage.start();
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
  return all;
}

test('an agent hears as much in a large cluster as in a small one', async (t) => {
  const [small, large] = [await heardIn(2), await heardIn(12)];
  for (const key of ['bytes', 'events', 'requests'] as const) {
    const most = (heard: readonly Heard[]) => Math.max(...heard.map((each) => each[key]));
    const line = `${key}: ${most(small)} with 2 nodes, ${most(large)} with 12`;
    t.diagnostic(line);
    assert.ok(most(large) <= 1.2 * most(small), line);
  }
});
