import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytes } from '../../src/base/bytes.ts';
import {
  geometryOf,
  type Layout,
  logicalExtents,
  physicalExtents,
} from '../../src/core/layouts.ts';
import { findLv, type ObservedHost, type ObservedVg } from '../../src/core/observed.ts';
import type { Step } from '../../src/core/step.ts';
import { commandsOf } from '../../src/lvm/argv.ts';
import type { Command, CommandResult } from '../../src/lvm/command.ts';
import { lookHost } from '../../src/lvm/looks.ts';
import { parseHost } from '../../src/lvm/report.ts';
import { plainDisks } from './devices.ts';
import type { FakeHost } from './fake-host.ts';
import { type FakeWorld, fakeWorld } from './world.ts';

const mib = 1024n ** 2n;
const extent = 4n * mib;

const thickLayouts: readonly Layout[] = [
  { kind: 'linear' },
  { kind: 'striped', stripes: 2 },
  { kind: 'striped', stripes: 3, stripeSizeBytes: 131072n },
  { kind: 'raid1', mirrors: 1 },
  { kind: 'raid1', mirrors: 2 },
  { kind: 'raid4', stripes: 2 },
  { kind: 'raid5', stripes: 3 },
  { kind: 'raid6', stripes: 3 },
  { kind: 'raid10', stripes: 2, mirrors: 1 },
];

for (const layout of thickLayouts) {
  const name = JSON.stringify(layout, plainNumbers);
  test(`a volume ${name} takes and shows what it should`, async () => {
    const story = await start();
    const before = await story.look();
    await story.step({
      kind: 'create-lv',
      ...story.group(before),
      lv: 'v',
      layout,
      sizeBytes: bytes(100n * mib),
      tags: ['quarry', 'quarry.class=x'],
      options: [],
    });
    const after = await story.look();
    const geometry = geometryOf(layout);
    assert.ok(geometry !== undefined);
    const lv = findLv(only(after), 'v');
    assert.equal(lv?.kind, layout.kind);
    assert.equal(lv?.sizeBytes, logicalExtents(geometry, 25n) * extent);
    assert.equal(lv?.stripes, geometry.areas);
    assert.equal(lv?.dataColumns, geometry.dataColumns);
    assert.deepEqual(lv?.tags, ['quarry', 'quarry.class=x']);
    const taken = only(before).freeBytes - only(after).freeBytes;
    assert.equal(taken, physicalExtents(geometry, 25n) * extent);
    assert.equal(sumFree(only(after)), only(after).freeBytes);
  });
}

test('a thin pool takes its data, its metadata and a spare', async () => {
  const story = await start();
  const before = await story.look();
  await story.step({
    kind: 'create-thin-pool',
    ...story.group(before),
    pool: 'pool',
    sizeBytes: bytes(400n * mib),
    chunkSizeBytes: bytes(131072n),
    metadataBytes: bytes(8n * mib),
    tags: ['quarry'],
  });
  const after = only(await story.look());
  const pool = findLv(after, 'pool');
  assert.equal(pool?.kind, 'thin-pool');
  assert.equal(pool?.chunkSizeBytes, 131072n);
  assert.equal(pool?.metadataSizeBytes, 8n * mib);
  assert.equal(pool?.dataPercent, 0);
  assert.equal(only(before).freeBytes - after.freeBytes, (100n + 2n + 2n) * extent);
});

type Story = {
  readonly world: FakeWorld;
  readonly host: FakeHost;
  look(): Promise<ObservedHost>;
  step(step: Step): Promise<CommandResult>;
  group(host: ObservedHost): { readonly vg: string; readonly vgUuid: string };
};

async function start(): Promise<Story> {
  const world = fakeWorld({ seed: 1, devices: plainDisks(6) });
  const host = world.host();
  const run = (command: Command) => world.clock.run(host.start(command).result);
  const story: Story = {
    world,
    host,
    look: async () => parseHost((await run(lookHost)).stdout),
    step: async (step) => {
      const [command] = commandsOf(step);
      assert.ok(command !== undefined);
      const result = await run(command);
      assert.equal(result.exitCode, 0, result.stderr);
      return result;
    },
    group: (observed) => ({ vg: only(observed).name, vgUuid: only(observed).uuid }),
  };
  await story.step({
    kind: 'create-vg',
    vg: 'vg1',
    devices: world.machine.devices.map((device) => device.path),
    tags: ['lvms'],
    metadataBytes: bytes(16n * mib),
  });
  return story;
}

function only(host: ObservedHost): ObservedVg {
  const [vg] = host.vgs;
  assert.ok(vg !== undefined);
  return vg;
}

function sumFree(vg: ObservedVg): bigint {
  return vg.pvs.reduce((sum, pv) => sum + pv.freeBytes, 0n);
}

function plainNumbers(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}
