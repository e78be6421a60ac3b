import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import test from 'node:test';
import { StandaloneScene, thick, thin } from './standalone-scene.ts';

/** The value of a sample, by its name and labels as they are written. */
function valueIn(page: string, sample: string): number | undefined {
  const line = page.split('\n').find((candidate) => candidate.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
}

test('figures are those of the newest report, under names that dashboards know', async (t) => {
  const scene = await StandaloneScene.begin(t);
  await scene.write(scene.config(thick, thin));
  await scene.start();
  const before = await scene.page('/metrics');
  const labels = (name: string) => `{node="n1",device_class="${name}"}`;
  const free = `topolvm_volumegroup_available_bytes${labels('thick')}`;
  const promised = `topolvm_thinpool_overprovisioned_available${labels('thin')}`;
  const vg = scene.standalone.engine.model.newest?.host.vgs[0];
  assert.equal(valueIn(before, free), Number(vg?.freeBytes));
  assert.equal(
    valueIn(before, `topolvm_volumegroup_size_bytes${labels('thin')}`),
    Number(vg?.sizeBytes),
  );
  const client = scene.client(t);
  await scene.make(client, 'u1', 'thick');
  await scene.make(client, 'u2', 'thin');
  await scene.make(client, 'u3', 'no');
  const after = await scene.page('/metrics');
  const mib = 1024 * 1024;
  assert.equal(valueIn(after, free), (valueIn(before, free) ?? 0) - 100 * mib);
  assert.equal(valueIn(after, promised), (valueIn(before, promised) ?? 0) - 100 * mib);
  assert.equal(valueIn(after, `topolvm_thinpool_data_percent${labels('thin')}`), 0);
  assert.equal(valueIn(after, `topolvm_thinpool_size_bytes${labels('thick')}`), undefined);
  const calls = (code: string) =>
    `quarry_operations_total{method="proto.LVService/CreateLV",code="${code}"}`;
  assert.equal(valueIn(after, calls('OK')), 2);
  assert.equal(valueIn(after, calls('NOT_FOUND')), 1);
  const took = 'quarry_operation_duration_seconds_count{method="proto.LVService/CreateLV"}';
  assert.equal(valueIn(after, took), 3);
  assert.equal(valueIn(after, 'quarry_lvm_runs_total{command="lvcreate",result="ok"}'), 2);
  assert.equal(valueIn(after, 'quarry_queue_length{volume_group="data"}'), 0);
  assert.equal(valueIn(after, 'quarry_configuration_good'), 1);
  assert.ok((valueIn(after, 'process_resident_memory_bytes') ?? 0) > mib);
});

test('whoever scrapes runs no lvm', async (t) => {
  const scene = await StandaloneScene.begin(t);
  await scene.write(scene.config(thick));
  await scene.start();
  const looks = 'quarry_lvm_runs_total{command="fullreport",result="ok"}';
  const before = valueIn(await scene.page('/metrics'), looks);
  for (let nth = 0; nth < 5; nth += 1) await scene.page('/metrics');
  const after = valueIn(await scene.page('/metrics'), looks);
  assert.ok(before !== undefined && after !== undefined && after - before <= 1);
});

test('a bad edit shows in metrics and status, and so does a class that is kept', async (t) => {
  const scene = await StandaloneScene.begin(t);
  await scene.write(scene.config(thick, thin));
  await scene.start();
  await scene.make(scene.client(t), 'u1', 'thin');
  await scene.write('device-classes: [');
  await scene.until(
    async () => valueIn(await scene.page('/metrics'), 'quarry_configuration_good') === 0,
  );
  const status = await scene.page('/status');
  assert.match(status, /"state": "stale"/);
  assert.match(status, /lvmd.yaml:/);
  await scene.write(scene.config(thick));
  const refused = 'quarry_device_class_refused{device_class="thin"}';
  await scene.until(async () => valueIn(await scene.page('/metrics'), refused) === 1);
  assert.equal(valueIn(await scene.page('/metrics'), 'quarry_configuration_good'), 1);
});

test('ready is who looked not long ago and can be reached; alive is who answers', async (t) => {
  const scene = await StandaloneScene.begin(t);
  await scene.write(scene.config(thick));
  await scene.start();
  assert.equal(await scene.page('/readyz'), '200 ok\n');
  await rm(scene.path('lvmd.sock'));
  assert.match(await scene.page('/readyz'), /^503 nothing answers on .*lvmd.sock/);
  assert.equal(await scene.page('/healthz'), '200 ok\n');
});

test('a port that is taken stops nothing', async (t) => {
  const scene = await StandaloneScene.begin(t);
  await scene.write(scene.config(thick));
  await scene.start();
  const { port } = scene.log.findLast((event) => 'port' in event) as { readonly port?: number };
  const second = await StandaloneScene.begin(t);
  await second.write(second.config(thick));
  second.metricsAddress = `127.0.0.1:${port}`;
  await second.start();
  assert.ok(
    second.log.some(({ level, message }) => level === 'error' && /EADDRINUSE/.test(message)),
  );
  assert.equal(await second.make(second.client(t), 'u1', 'thick'), 'made');
});

test('who cannot look at the host for too long is not ready, and is again when a look works', async (t) => {
  const scene = await StandaloneScene.begin(t);
  await scene.write(scene.config(thick));
  await scene.start();
  scene.stepMs = 2_000;
  const heal = scene.stage.world.faults.always('fullreport', { kind: 'fail' });
  await scene.until(async () =>
    (await scene.page('/readyz')).startsWith('503 no look at this host'),
  );
  heal();
  await scene.until(async () => (await scene.page('/readyz')).startsWith('200'));
});
