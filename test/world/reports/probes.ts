import { lvAt, noDevice } from '../commands/devices.ts';
import type { Signature } from '../content.ts';
import type { Machine } from '../machine.ts';
import { type Outcome, Voice } from '../text.ts';

export function probeWipefs(machine: Machine, path: string): Outcome {
  const found = look(machine, path);
  if (found === 'absent') return noDevice(path);
  if (found === 'broken') {
    return new Voice()
      .err(`wipefs: error: ${path}: probing initialization failed: Input/output error`)
      .end(1);
  }
  const name = path.replace(/^\/dev\//, '');
  const signatures = found.map(({ type, uuid, label, offset }) => ({
    device: name,
    offset: `0x${offset.toString(16)}`,
    type,
    uuid,
    label: label === '' ? null : label,
  }));
  return new Voice().out(JSON.stringify({ signatures }, null, 3)).end();
}

export function probeBlkid(machine: Machine, path: string): Outcome {
  const voice = new Voice();
  const found = look(machine, path);
  if (typeof found === 'string') return voice.end(2);
  const [first] = found;
  if (first === undefined) return voice.end(2);
  if (found.length > 1 && found.every(({ usage }) => usage !== 'partition-table')) {
    return voice.end(8);
  }
  voice.out(`DEVNAME=${path}`);
  if (first.usage === 'partition-table')
    voice.out(`PTUUID=${first.uuid}`).out(`PTTYPE=${first.type}`);
  else voice.out(`UUID=${first.uuid}`).out(`TYPE=${first.type}`).out(`USAGE=${first.usage}`);
  return voice.end();
}

function look(machine: Machine, path: string): readonly Signature[] | 'absent' | 'broken' {
  const device = machine.device(path);
  if (device !== undefined) return device.isBroken ? 'broken' : device.content.signatures;
  const lv = lvAt(machine, path);
  if (lv === undefined) return 'absent';
  if (lv.body.kind === 'cow' && lv.body.isInvalid) return 'broken';
  return lv.content.signatures;
}
