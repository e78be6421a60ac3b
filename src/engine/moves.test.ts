import assert from 'node:assert/strict';
import test from 'node:test';
import { settle, TinyClock } from '../../test/samples/tiny-clock.ts';
import { gate, TinyHost } from '../../test/samples/tiny-host.ts';
import type { EvacuatePv } from '../core/step.ts';
import type { Command } from '../lvm/command.ts';
import { HostModel } from './model.ts';
import { Moves } from './moves.ts';
import type { Running, Signal } from './ports.ts';

const subject = { noun: 'volume-group', volume: 'vg1' };
const step: EvacuatePv = {
  ...{ kind: 'evacuate-pv', vg: 'vg1', vgUuid: 'vg1-uuid' },
  ...{ device: '/dev/sdb', pvUuid: 'sdb-uuid' },
};

/** What it says reaches us by the pipe of its own, whenever a test lets it. */
class TalkingHost extends TinyHost {
  say: (text: string) => void = () => undefined;

  override start(command: Command, _signal?: Signal, heard?: (text: string) => void): Running {
    if (heard !== undefined) this.say = heard;
    return super.start(command);
  }
}

function scene() {
  const host = new TalkingHost();
  const model = new HostModel(host, new TinyClock());
  const nothing = () => undefined;
  return { host, moves: new Moves({ host, model, trace: nothing, suspect: nothing }) };
}

test('a word of a move that has ended does not make it run for ever', async () => {
  const { host, moves } = scene();
  const { passed, open } = gate();
  host.behave = () => ({ until: passed, isKilled: true });
  moves.goOn(step, subject);
  host.say('  /dev/sdb: Moved: 25.00%\n');
  assert.deepEqual(moves.in('vg1'), { device: '/dev/sdb', percent: 25 });
  open();
  await settle();
  assert.equal(moves.in('vg1'), undefined);
  host.say('  /dev/sdb: Moved: 75.00%\n');
  assert.equal(moves.in('vg1'), undefined);
  assert.throws(() => moves.goOn(step, subject), { code: 'CommandKilled' });
  host.behave = () => ({});
  moves.goOn(step, subject);
  assert.equal(host.changes.length, 2);
});
