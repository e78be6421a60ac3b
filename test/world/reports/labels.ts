import { duplicateWarnings, type Machine, stateWarnings } from '../machine.ts';
import { type Outcome, Voice } from '../text.ts';
import { compare } from './fullreport.ts';

/** `lvm pvs --all`: every device LVM may look at, with the label it carries or none. */
export function labels(machine: Machine): Outcome {
  const voice = new Voice();
  for (const warning of duplicateWarnings(machine)) voice.complain(warning);
  for (const vg of machine.visibleVgs()) {
    for (const warning of stateWarnings(machine, vg)) voice.complain(warning);
  }
  const rows = [
    ...machine.present().flatMap((device) => deviceRow(machine, device.path)),
    ...missingRows(machine),
  ].toSorted((a, b) => compare(a.name, b.name));
  const lines = rows.map(
    ({ name, uuid, vg, duplicate }) =>
      `                  {"pv_name":"${name}", "pv_uuid":"${uuid}", "vg_name":"${vg}", ` +
      `"pv_duplicate":"${duplicate}"}`,
  );
  voice.out(
    `  {\n      "report": [\n          {\n              "pv": [\n${lines.join(',\n')}\n` +
      '              ]\n          }\n      ]\n  }',
  );
  return voice.end();
}

type Row = {
  readonly name: string;
  readonly uuid: string;
  readonly vg: string;
  readonly duplicate: string;
};

function deviceRow(machine: Machine, path: string): readonly Row[] {
  const device = machine.device(path);
  // LVM passes over devices with partitions, and over those it cannot read.
  if (device === undefined || device.isBroken || device.partitionTable !== '') return [];
  const uuid = device.label?.pvUuid;
  if (uuid === undefined) return [{ name: path, uuid: '', vg: '', duplicate: '' }];
  const [preferred] = machine.devicesOf(uuid);
  const duplicate = preferred === device ? '' : 'duplicate';
  return [{ name: path, uuid, vg: machine.vgOfPv(uuid)?.name ?? '', duplicate }];
}

function missingRows(machine: Machine): readonly Row[] {
  return machine
    .visibleVgs()
    .flatMap((vg) =>
      vg.pvs
        .filter((pv) => machine.deviceOf(pv) === undefined)
        .map((pv) => ({ name: '[unknown]', uuid: pv.uuid, vg: vg.name, duplicate: '' })),
    );
}
