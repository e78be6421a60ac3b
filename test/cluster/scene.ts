import assert from 'node:assert/strict';
import { audit } from './audit.ts';
import { ourAgent } from './our-agent.ts';
import { ourOperator } from './our-operator.ts';
import { ClusterStage } from './stage.ts';

/** A cluster with our processes in it. */
export async function cluster(
  spec: {
    readonly seed?: number;
    readonly nodes?: number;
    readonly operators?: readonly string[];
  } = {},
): Promise<ClusterStage> {
  const stage = new ClusterStage({ ...spec, agent: ourAgent, operator: ourOperator });
  await stage.start(spec.operators);
  return stage;
}

/** After a while without trouble nothing is leaked, lost or stuck. */
export async function assertSound(stage: ClusterStage, restMs = 30_000): Promise<void> {
  await stage.advance(restMs);
  assert.deepEqual(audit(stage), []);
}

export function runs(stage: ClusterStage, pod: string): () => boolean {
  return () => stage.pods.get(pod)?.isRunning === true;
}
