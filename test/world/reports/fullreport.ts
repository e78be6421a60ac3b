import type { Machine } from '../machine.ts';
import { duplicateWarnings, stateWarnings } from '../machine.ts';
import type { Device, Vg } from '../model.ts';
import { type Outcome, Voice } from '../text.ts';
import { lvFields, type PvRow, pvFields, segmentFields, segmentsOf, vgFields } from './fields.ts';

/** `lvm fullreport`, in the very layout of the real one. */
export function fullreport(machine: Machine, argv: readonly string[]): Outcome {
  const wanted = wantedFields(argv);
  const voice = new Voice();
  const warnings: string[] = [...duplicateWarnings(machine)];
  const reports: string[] = [];
  for (const vg of machine.visibleVgs().toSorted((a, b) => compare(a.name, b.name))) {
    warnings.push(...stateWarnings(machine, vg));
    reports.push(vgReport(machine, vg, wanted));
  }
  const orphans = orphanDevices(machine).filter(({ path }) => !machine.unlisted.has(path));
  if (orphans.length > 0) reports.push(orphanReport(orphans, wanted));
  for (const warning of warnings) voice.complain(warning);
  const body = reports.map((report) => `          {\n${report}          }\n`);
  const log = argv.some((word) => word.includes('report_command_log=0')) ? '' : logText(warnings);
  voice.out(`  {\n      "report": [\n${body.join('          ,\n')}      ]\n${log}  }`);
  return voice.end();
}

type Wanted = Readonly<Record<string, readonly string[]>>;

const cache = new Map<string, Wanted>();

function wantedFields(argv: readonly string[]): Wanted {
  const key = argv.join(' ');
  const known = cache.get(key);
  if (known !== undefined) return known;
  const wanted: Record<string, readonly string[]> = {};
  let report = '';
  for (let index = 0; index < argv.length; index += 1) {
    if (argv[index] === '--configreport') report = argv[index + 1] ?? '';
    if (argv[index] === '--options') {
      wanted[report] = (argv[index + 1] ?? '').split(',').filter((name) => name !== '');
    }
  }
  cache.set(key, wanted);
  return wanted;
}

function vgReport(machine: Machine, vg: Vg, wanted: Wanted): string {
  const lvs = vg.lvs.toSorted((a, b) => compare(a.name, b.name));
  const pvs = vg.pvs
    .map((pv): PvRow => ({ pv, vg }))
    .toSorted((a, b) => compare(nameOf(machine, a), nameOf(machine, b)));
  const segments = lvs.flatMap(segmentsOf).toSorted((a, b) => compare(a.lv.uuid, b.lv.uuid));
  const sections = [
    section('vg', [row(machine, vg, vgFields, wanted['vg'])]),
    section(
      'pv',
      pvs.map((item) => row(machine, item, pvFields, wanted['pv'])),
    ),
    section(
      'lv',
      lvs.map((item) => row(machine, item, lvFields, wanted['lv'])),
    ),
    section(
      'pvseg',
      vg.pvs.map(() => '{}'),
    ),
    section(
      'seg',
      segments.map((item) => row(machine, item, segmentFields, wanted['seg'])),
    ),
  ];
  return sections.join('              ,\n');
}

function nameOf(machine: Machine, { pv }: PvRow): string {
  return machine.deviceOf(pv)?.path ?? '[unknown]';
}

/** Labels without a group: LVM counts the whole device as free. */
export function orphanDevices(machine: Machine): readonly Device[] {
  const seen = new Set<string>();
  return machine
    .present()
    .filter((device) => {
      const uuid = device.label?.pvUuid;
      if (uuid === undefined || seen.has(uuid) || machine.vgOfPv(uuid) !== undefined) return false;
      seen.add(uuid);
      return true;
    })
    .toSorted((a, b) => compare(a.path, b.path));
}

function orphanReport(devices: readonly Device[], wanted: Wanted): string {
  const rows = devices.map((device) => {
    const values: Readonly<Record<string, string>> = {
      pv_uuid: device.label?.pvUuid ?? '',
      pv_name: device.path,
      pv_size: String(device.sizeBytes),
      pv_free: String(device.sizeBytes),
      pv_allocatable: '',
    };
    const cells = (wanted['pv'] ?? []).map((name) => `"${name}":"${values[name] ?? ''}"`);
    return `{${cells.join(', ')}}`;
  });
  return [
    section('pv', rows),
    section(
      'pvseg',
      devices.map(() => '{}'),
    ),
  ].join('              ,\n');
}

function section(name: string, rows: readonly string[]): string {
  const lines = rows.map((item) => `                  ${item}`).join(',\n');
  return `              "${name}": [\n${lines === '' ? '' : `${lines}\n`}              ]\n`;
}

function row<T>(
  machine: Machine,
  item: T,
  fields: Readonly<Record<string, (machine: Machine, row: T) => string>>,
  names: readonly string[] = [],
): string {
  const cells = names.map((name) => {
    const field = fields[name];
    if (field === undefined) throw new Error(`the fake LVM knows no report field ${name}`);
    return `"${name}":"${field(machine, item)}"`;
  });
  return `{${cells.join(', ')}}`;
}

function logText(warnings: readonly string[]): string {
  const rows = warnings.map((warning, index) => logRow(warning, index + 1));
  const lines = rows.length > 0 ? `${rows.join(',\n')}\n` : '';
  return `      ,\n      "log": [\n${lines}      ]\n`;
}

function logRow(message: string, number: number): string {
  return (
    `          {"log_seq_num":"${number}", "log_type":"warn", "log_context":"processing", ` +
    `"log_object_type":"vg", "log_message":${JSON.stringify(message)}, "log_errno":"0", ` +
    `"log_ret_code":"0"}`
  );
}

/** By bytes, as C compares; a locale would put capitals elsewhere. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
