import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { CallEvent } from '../../src/csi/call.ts';
import { SocketClient } from '../../src/csi/client.ts';
import {
  NodeDefinition,
  type NodeGetVolumeStatsRequest,
  type NodeGetVolumeStatsResponse,
} from '../../src/csi/generated/csi.ts';
import { type RunningServer, startServer } from '../../src/csi/server.ts';
import { type Handlers, type Service, service, unimplemented } from '../../src/csi/service.ts';

/** A directory of its own for each test; sockets need short paths. */
export async function socketPath(t: TestContext, name = 'csi.sock'): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'quarry-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return join(directory, name);
}

export type Served = {
  readonly path: string;
  readonly server: RunningServer;
  readonly client: SocketClient;
  readonly events: readonly CallEvent[];
};

export async function serve(t: TestContext, services: readonly Service[]): Promise<Served> {
  const path = await socketPath(t);
  const events: CallEvent[] = [];
  const server = await startServer({ path, services, log: (event) => events.push(event) });
  const client = new SocketClient(path);
  t.after(async () => {
    client.close();
    await server.stop(0);
  });
  return { path, server, client, events };
}

/** The node service with a few methods filled in. */
export function nodeService(handlers: Partial<Handlers<NodeDefinition>>): Service {
  return service(NodeDefinition, {
    nodeStageVolume: unimplemented,
    nodeUnstageVolume: unimplemented,
    nodePublishVolume: unimplemented,
    nodeUnpublishVolume: unimplemented,
    nodeGetVolumeStats: unimplemented,
    nodeExpandVolume: unimplemented,
    nodeGetCapabilities: unimplemented,
    nodeGetInfo: unimplemented,
    ...handlers,
  });
}

/** Answers with the number that stands in the volume id, so that answers cannot be mixed up. */
export async function echoStats(
  request: NodeGetVolumeStatsRequest,
): Promise<NodeGetVolumeStatsResponse> {
  const total = BigInt(request.volumeId);
  return { usage: [{ available: 0n, total, used: 0n, unit: 'BYTES' }] };
}
