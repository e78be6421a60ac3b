import assert from 'node:assert/strict';
import { grownTo, type Stories, sizeInMiB } from './story.ts';

const names = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** Each of these disturbs whoever is beside it. */
export const troubleStories: Stories = {
  'whoever is killed while volumes are made, they are made, and once': async (stage) => {
    const killed = names('killed', 5);
    await stage.claims(killed, { size: '32Mi', className: 'thick' });
    await stage.apply('killed', killed);
    await stage.killOurs();
    await stage.ready('killed');
    await stage.remove('pod', 'killed');
    await stage.killOurs();
    await stage.remove('pvc', ...killed);
  },

  'a claim grows after the agent was started anew': async (stage) => {
    await stage.claim('anew', { className: 'thick', size: '100Mi' });
    await stage.pod('anew', ['anew']);
    await stage.killOurs();
    await stage.isServing();
    await stage.claim('anew', { className: 'thick', size: '200Mi' });
    await grownTo(stage, 'anew', '200Mi');
    assert.ok((await sizeInMiB(stage, 'anew', 'anew')) > 150);
    await stage.remove('pod', 'anew');
    await stage.remove('pvc', 'anew');
  },

  'a mirror that lost a half says so, and that it is well again': async (stage) => {
    await stage.storageClass('ill', { deviceClass: 'mirrored' });
    await stage.claim('ill', { className: 'ill', size: '64Mi' });
    await stage.pod('ill', ['ill'], 'n2');
    const { group, name } = await stage.lvOf('ill');
    const node = stage.cluster.node('n2');
    // Past LVM's own metadata: the disk answers, and loses what is written.
    const fromBytes = 2 * 1024 * 1024;
    await node.setDiskFault('e', { kind: 'failing', requests: ['write'], fromBytes });
    await stage.exec('ill', 'echo one > /data/ill/file && sync');
    await stage.tells('ill', /Warning\s+VolumeConditionAbnormal/, 240_000);
    assert.equal(await stage.exec('ill', 'cat /data/ill/file'), 'one\n');
    await node.setDiskFault('e', { kind: 'none' });
    await node.sh(`lvm lvchange --refresh ${group}/${name}`);
    await stage.tells('ill', /Normal\s+VolumeConditionNormal/, 240_000);
    await stage.remove('pod', 'ill');
    await stage.remove('pvc', 'ill');
    await stage.remove('storageclass', 'ill');
  },

  'after a power cut a pod has what it wrote': async (stage) => {
    await stage.claim('kept', { className: 'thick' });
    await stage.pod('kept', ['kept'], 'n1');
    await stage.exec('kept', 'echo thursday > /data/kept/day && sync');
    await stage.cutPower('n1');
    const read = ['exec', 'kept', '--', 'cat', '/data/kept/day'];
    await stage.until(
      'the pod reads again',
      async () => (await stage.cluster.tryKubectl(read)).stdout === 'thursday\n',
      300_000,
    );
    await stage.remove('pod', 'kept');
    await stage.remove('pvc', 'kept');
  },

  'fifty claims at once': async (stage, t) => {
    const claims = names('many', 50);
    await stage.timed('fifty claims in five pods', async () => {
      await stage.claims(claims, { size: '32Mi', className: 'thick' });
      const pods = names('many', 5);
      const apply = pods.map((pod, index) =>
        stage.apply(pod, claims.slice(10 * index, 10 * (index + 1))),
      );
      await Promise.all(apply);
      await Promise.all(pods.map((pod) => stage.ready(pod)));
    });
    await stage.timed('and gone', async () => {
      await stage.remove('pod', ...names('many', 5));
      await stage.remove('pvc', ...claims);
      await stage.audit();
    });
    for (const line of stage.timings.splice(0)) t.diagnostic(line);
  },
};
