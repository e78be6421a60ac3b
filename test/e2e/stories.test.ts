import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { E2eStage } from './stage.ts';

describe('claims on a real cluster', { timeout: 1_500_000 }, () => {
  let stage: E2eStage;

  before(async () => {
    stage = await E2eStage.open();
  });

  afterEach(async () => {
    await stage.audit();
  });

  after(async () => {
    await stage?.close();
  });

  test('a claim becomes a volume that a pod writes to, and goes with it', async (t) => {
    await stage.claim('first');
    await stage.timed('claim and pod', () => stage.pod('first', ['first']));
    await stage.exec('first', 'echo monday > /data/first/day && sync');
    assert.equal(await stage.exec('first', 'cat /data/first/day'), 'monday\n');
    await stage.remove('pod', 'first');
    await stage.timed('pod again', () => stage.pod('first', ['first']));
    assert.equal(await stage.exec('first', 'cat /data/first/day'), 'monday\n');
    await stage.remove('pod', 'first');
    await stage.remove('pvc', 'first');
    await stage.until('no volume is left', async () => (await stage.lvs()).length === 0);
    for (const line of stage.timings.splice(0)) t.diagnostic(line);
  });

  test('a claim grows while its pod writes', async () => {
    await stage.claim('grows', { className: 'thick' });
    await stage.pod('grows', ['grows']);
    await stage.claim('grows', { className: 'thick', size: '400Mi' });
    await stage.until('the file system has grown', async () => {
      const [, line = ''] = (await stage.exec('grows', 'df -P -m /data/grows')).split('\n');
      return Number(line.split(/\s+/)[1]) > 300;
    });
    await stage.until('the claim says so', async () => {
      const { status } = await stage.boundClaim('grows');
      return status.capacity?.storage === '400Mi';
    });
    await stage.remove('pod', 'grows');
    await stage.remove('pvc', 'grows');
  });

  test('a clone has what its source had', async () => {
    await stage.claim('source');
    await stage.pod('source', ['source']);
    await stage.exec('source', 'echo tuesday > /data/source/day && sync');
    await stage.claim('clone', { dataSource: { kind: 'PersistentVolumeClaim', name: 'source' } });
    await stage.pod('clone', ['clone']);
    assert.equal(await stage.exec('clone', 'cat /data/clone/day'), 'tuesday\n');
    await stage.remove('pod', 'source', 'clone');
    await stage.remove('pvc', 'source', 'clone');
  });

  test('whoever is killed while volumes are made, they are made, and once', async () => {
    const names = Array.from({ length: 5 }, (_, index) => `killed-${index}`);
    for (const name of names) await stage.claim(name, { size: '32Mi', className: 'thick' });
    await stage.apply('killed', names);
    await stage.killOurs();
    await stage.ready('killed');
    await stage.remove('pod', 'killed');
    await stage.killOurs();
    await stage.remove('pvc', ...names);
  });

  test('a claim that goes while its volume is made leaves nothing behind', async () => {
    await stage.claim('gone');
    await stage.apply('gone', ['gone']);
    await stage.remove('pod', 'gone');
    await stage.remove('pvc', 'gone');
  });

  test('a full node is left for the other', async () => {
    await stage.claim('big-1', { className: 'thick', size: '4Gi' });
    await stage.pod('big-1', ['big-1'], 'n1');
    await stage.claim('big-2', { className: 'thick', size: '4Gi' });
    await stage.pod('big-2', ['big-2']);
    assert.equal(await stage.nodeOf('big-2'), 'n2');
    await stage.remove('pod', 'big-1', 'big-2');
    await stage.remove('pvc', 'big-1', 'big-2');
  });

  test('after a power cut a pod has what it wrote', async () => {
    await stage.claim('kept', { className: 'thick' });
    await stage.pod('kept', ['kept'], 'n1');
    await stage.exec('kept', 'echo thursday > /data/kept/day && sync');
    await stage.cutPower('n1');
    await stage.until('the pod writes again', async () => {
      const said = await stage.cluster.tryKubectl(['exec', 'kept', '--', 'cat', '/data/kept/day']);
      return said.stdout === 'thursday\n';
    });
    await stage.remove('pod', 'kept');
    await stage.remove('pvc', 'kept');
  });

  test('twenty claims at once', async (t) => {
    const names = Array.from({ length: 20 }, (_, index) => `many-${index}`);
    for (const name of names) await stage.claim(name, { size: '32Mi' });
    await stage.timed('twenty claims in one pod', () => stage.pod('many', names));
    await stage.remove('pod', 'many');
    await stage.remove('pvc', ...names);
    for (const line of stage.timings.splice(0)) t.diagnostic(line);
  });
});
