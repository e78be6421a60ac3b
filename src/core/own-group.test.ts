import assert from 'node:assert/strict';
import test from 'node:test';
import { hostOf, sampleVg, thickClass } from '../../test/samples/observed.ts';
import { awayGroups } from './own-group.ts';

const ours = sampleVg({ name: 'vg1', uuid: 'U1' });
const strangers = sampleVg({ name: 'vg1', uuid: 'U2' });
const known = { ...thickClass(), vg: 'vg1', vgUuid: 'U1' };

for (const { what, host, deviceClass, away } of [
  { what: 'ours is here', host: hostOf(ours), deviceClass: known, away: [] },
  { what: 'none is here', host: hostOf(), deviceClass: known, away: ['vg1'] },
  { what: 'another took the name', host: hostOf(strangers), deviceClass: known, away: ['vg1'] },
  {
    what: 'another took the name of ours, which was renamed',
    host: hostOf(strangers, sampleVg({ name: 'vg9', uuid: 'U1' })),
    deviceClass: known,
    away: ['vg1'],
  },
  {
    what: 'nothing is known of it, and one of the name is here',
    host: hostOf(strangers),
    deviceClass: { ...thickClass(), vg: 'vg1' },
    away: [],
  },
  {
    what: 'somebody gave it up',
    host: hostOf(),
    deviceClass: { ...thickClass(), vg: 'vg1', isGivenUp: true },
    away: [],
  },
]) {
  test(`${away.length === 0 ? 'no group is' : 'a group is'} away where ${what}`, () => {
    assert.deepEqual(awayGroups([deviceClass, deviceClass], host), away);
  });
}
