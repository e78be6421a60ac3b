import assert from 'node:assert/strict';
import test from 'node:test';
import { volume } from '../../src/cli/volume.ts';
import { surroundings } from '../samples/surroundings.ts';
import { StandaloneScene, thick, thin } from './standalone-scene.ts';

test('a person takes a group snapshot, sees it in the list, and deletes it as a whole', async (t) => {
  const scene = await StandaloneScene.begin(t);
  await scene.write(scene.config(thick, thin));
  await scene.start();
  const quarry = async (words: string, className = '', size?: string) => {
    const told: string[] = [];
    const say = (text: string) => told.push(text);
    const flags = {
      ...{ socket: scene.path('csi.sock'), className, size, fsType: '', isBlock: false },
      look: async () => (await scene.standalone.engine.observe()).host,
      mounts: () => Promise.resolve(''),
    };
    const environment = { ...surroundings, path: '', version: '0', print: say, warn: say };
    const code = await volume(environment, flags, words.split(' '));
    return { code, text: told.join('\n') };
  };
  await quarry('create db', 'thick', '100Mi');
  await quarry('create log', 'thin', '100Mi');
  const taken = await quarry('group-snapshot monday db log');
  assert.equal(taken.code, 0);
  const [, group = '', first = ''] =
    /^group snapshot monday of db and log \((\S+)\): (\S+) and \S+$/.exec(taken.text) ?? [];
  const { text } = await quarry('list');
  assert.match(text, new RegExp(`^monday +group +- +- +- +${group} +2 snapshots$`, 'm'));
  assert.equal(text.split(`ready, in the group ${group} (monday)`).length - 1, 2);
  const alone = await quarry(`delete ${first}`);
  assert.equal(alone.code, 1);
  assert.match(alone.text, /SnapshotInGroup/);
  assert.deepEqual(await quarry(`delete ${group}`), { code: 0, text: `deleted ${group}` });
  assert.doesNotMatch((await quarry('list')).text, /group|snapshot/);
});
