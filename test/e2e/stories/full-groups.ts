import assert from 'node:assert/strict';
import { grownTo, type Stories, sizeInMiB } from './story.ts';

const noRoom = /did not have enough free storage/;

/** The group `small` has less than a GiB on each node, and these stories have it to themselves. */
export const fullGroupStories: Stories = {
  'a full node is left for the other, and who finds no room at all waits for some': async (
    stage,
  ) => {
    await stage.claims(['big-1', 'big-2', 'big-3'], { className: 'small', size: '600Mi' });
    await stage.pod('big-1', ['big-1'], 'n1');
    await stage.pod('big-2', ['big-2']);
    assert.equal(await stage.nodeOf('big-2'), 'n2');
    await stage.apply('big-3', ['big-3']);
    await stage.waitsFor('big-3', noRoom);
    await stage.remove('pod', 'big-1');
    await stage.remove('pvc', 'big-1');
    await stage.ready('big-3');
    assert.equal(await stage.nodeOf('big-3'), 'n1');
    await stage.remove('pod', 'big-2', 'big-3');
    await stage.remove('pvc', 'big-2', 'big-3');
  },

  'a claim that was sent to a full node goes to the other': async (stage) => {
    await stage.claims(['fills', 'sent'], { className: 'small', size: '600Mi' });
    await stage.pod('fills', ['fills'], 'n1');
    // As a scheduler does that has not heard yet that the node is full.
    const choice = 'volume.kubernetes.io/selected-node=n1';
    await stage.cluster.kubectl(['annotate', 'pvc', 'sent', choice]);
    await stage.pod('sent', ['sent']);
    assert.equal(await stage.nodeOf('sent'), 'n2');
    await stage.remove('pod', 'fills', 'sent');
    await stage.remove('pvc', 'fills', 'sent');
  },

  'a growth that finds no room is told, and a smaller one is given instead': async (stage) => {
    const className = 'small';
    await stage.claim('wish', { className, size: '300Mi' });
    await stage.pod('wish', ['wish']);
    await stage.exec('wish', 'echo monday > /data/wish/day && sync');
    await stage.claim('wish', { className, size: '3Gi' });
    await stage.tells('wish', /VolumeResizeFailed.*InsufficientCapacityToExpand: .*Remedy: /);
    await stage.exec('wish', 'echo tuesday >> /data/wish/day && sync');
    await stage.claim('wish', { className, size: '500Mi' });
    await grownTo(stage, 'wish', '500Mi');
    assert.ok((await sizeInMiB(stage, 'wish', 'wish')) > 400);
    assert.equal(await stage.exec('wish', 'cat /data/wish/day'), 'monday\ntuesday\n');
    await stage.remove('pod', 'wish');
    await stage.remove('pvc', 'wish');
  },

  'a claim that waits for nobody is made where most room is, and its pod follows': async (
    stage,
  ) => {
    await stage.claim('takes', { className: 'small', size: '400Mi' });
    await stage.pod('takes', ['takes'], 'n1');
    await stage.storageClass('now', { deviceClass: 'small', isImmediate: true });
    await stage.until('the room on both nodes is told', async () => {
      const words = ['get', 'csistoragecapacities', '--all-namespaces', '--output=json'];
      const { items } = JSON.parse(await stage.cluster.kubectl(words)) as {
        readonly items: readonly { readonly storageClassName: string }[];
      };
      return items.filter(({ storageClassName }) => storageClassName === 'now').length === 2;
    });
    await stage.claim('at-once', { className: 'now', size: '300Mi' });
    await stage.boundClaim('at-once');
    await stage.pod('follows', ['at-once']);
    assert.equal(await stage.nodeOf('follows'), 'n2');
    await stage.remove('pod', 'takes', 'follows');
    await stage.remove('pvc', 'takes', 'at-once');
    await stage.remove('storageclass', 'now');
  },
};
