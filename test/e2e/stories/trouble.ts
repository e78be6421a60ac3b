import assert from 'node:assert/strict';
import { waitUntil } from '../../../lab/cluster/index.ts';
import type { DiskFault } from '../../../lab/index.ts';
import { collectionOf, deleteObject } from '../api.ts';
import type { Claim, Logical } from '../audit/look.ts';
import { groups } from '../layout.ts';
import type { E2eStage } from '../stage.ts';
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

  'a claim that goes while its volume is made leaves nothing behind': async (stage) => {
    const node = stage.cluster.node('n1');
    const slow = async (fault: DiskFault) => {
      for (const disk of groups.data.disks) await node.setDiskFault(disk, fault);
    };
    await stage.claim('gone', { className: 'thick', size: '64Mi' });
    const { metadata } = await claimNow(stage, 'gone');
    await slow({ kind: 'slow', delayMs: 200 });
    let id = '';
    try {
      await stage.apply('gone', ['gone'], node.name);
      await waitUntil(
        'lvcreate runs for it',
        async () => {
          id = (await recordOf(stage, metadata.uid))?.metadata.uid ?? '';
          const found = await node.run(['pgrep', '-f', `[l]vm lvcreate .*${id}`]);
          const isBegun = id !== '' && found.exitCode === 0;
          return isBegun ? { found: true } : { missing: id };
        },
        { timeoutMs: 120_000, intervalMs: 50 },
      );
      for (const kind of ['pod', 'pvc']) {
        await deleteObject(stage.cluster, `${collectionOf(kind)}/gone`);
      }
      const made = (await recordOf(stage, metadata.uid))?.status?.volumeID;
      assert.equal(made, undefined, 'it was deleted too late to tell anything');
    } finally {
      await slow({ kind: 'none' });
    }
    await stage.remove('pod', 'gone');
    await stage.remove('pvc', 'gone');
    await stage.until('nobody wants it', async () => {
      return (await recordOf(stage, metadata.uid)) === undefined;
    });
    assert.equal((await stage.lvs()).includes(id), false);
    const said = await stage.cluster.kubectl([
      ...['logs', '--namespace=quarry-system', '--tail=-1'],
      '--selector=app.kubernetes.io/component=node',
    ]);
    const deeds = said.split('\n').filter((line) => line.includes(id));
    for (const program of ['lvcreate', 'lvremove']) {
      assert.ok(
        deeds.some((line) => line.includes(program)),
        `${program} in ${deeds.join('\n')}`,
      );
    }
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

async function claimNow({ cluster }: E2eStage, name: string): Promise<Claim> {
  const claim = await cluster.api.get<Claim>(`${collectionOf('pvc')}/${name}`);
  assert.ok(claim !== undefined, `there is no claim ${name}`);
  return claim;
}

/** What its claim made of it, whether there is a volume yet or not. */
function recordOf({ cluster }: E2eStage, claim: string): Promise<Logical | undefined> {
  return cluster.api.get<Logical>(`/apis/topolvm.io/v1/logicalvolumes/pvc-${claim}`);
}
