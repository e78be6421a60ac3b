import assert from 'node:assert/strict';
import type { Call } from '../../src/csi/call.ts';
import {
  VolumeCapability_AccessMode_Mode as Mode,
  NodePublishVolumeRequest,
  NodeUnpublishVolumeRequest,
} from '../../src/csi/generated/csi.ts';
import { nodeService } from '../../src/csi/node.ts';
import { Volumes } from '../../src/csi/volumes.ts';
import { PublishingStage, target } from './publishing.ts';

const names = { driver: 'topolvm.io', version: '0', domain: 'topolvm.io', node: 'n1' };

type Given = {
  readonly path?: string;
  readonly mode?: Mode;
  readonly isRaw?: boolean;
  readonly flags?: readonly string[];
};

/** CSI's node service on the stage's node, as kubelet calls it. */
export class NodeScene {
  readonly stage = new PublishingStage();

  static async begin(): Promise<NodeScene> {
    const scene = new NodeScene();
    await scene.stage.setUp();
    return scene;
  }

  run<T>(work: Promise<T>): Promise<T> {
    return this.stage.run(work);
  }

  /** Only begun: `run` lets the time pass in which it is done. */
  publish(volumeId: string, given: Given = {}): Promise<unknown> {
    const { path = target, mode = Mode.SINGLE_NODE_WRITER, isRaw = false, flags = [] } = given;
    const mount = { fsType: 'ext4', mountFlags: [...flags] };
    const request = NodePublishVolumeRequest.fromPartial({
      volumeId,
      targetPath: path,
      volumeCapability: {
        accessMode: { mode },
        accessType: isRaw ? { $case: 'block', value: {} } : { $case: 'mount', value: mount },
      },
    });
    return this.#call('NodePublishVolume', request);
  }

  unpublish(volumeId: string, path = target): Promise<unknown> {
    const request = NodeUnpublishVolumeRequest.fromPartial({ volumeId, targetPath: path });
    return this.#call('NodeUnpublishVolume', request);
  }

  async #call(name: string, request: unknown): Promise<unknown> {
    const { engine, publisher, node, world } = this.stage;
    const volumes = new Volumes({
      ...{ engine, publisher, classes: () => node.deviceClasses },
      ...{ newId: () => 'unused', nowMs: () => world.clock.nowMs() },
    });
    const route = nodeService({ volumes, publisher }, names).find(
      ({ method }) => method.name === name,
    );
    assert.ok(route !== undefined, name);
    return route.handler(request, quiet);
  }
}

const quiet: Call = {
  signal: new AbortController().signal,
  deadlineMs: undefined,
  peer: 'kubelet',
  nameVolume: () => undefined,
};
