import type { Machine } from './machine.ts';
import type { Lv, Vg } from './model.ts';
import { fieldsOf } from './reports/fields.ts';

/**
 * The part of LVM's selection language our steps use: conditions joined by `&&` and `||`, each a
 * field that equals a value or matches a pattern. Anything else is a mistake, in a step or here.
 */
export function selects(machine: Machine, selection: string, on: Vg | Lv): boolean {
  return selection
    .split('||')
    .some((one) => one.split('&&').every((part) => holds(machine, part.trim(), on)));
}

const condition = /^([a-z_]+)\s*(=~|!~|!=|=)\s*(.*)$/;

function holds(machine: Machine, text: string, on: Vg | Lv): boolean {
  const match = condition.exec(text);
  if (match === null) throw new Error(`the fake LVM cannot read the selection ${text}`);
  const [, field = '', operator = '', quoted = ''] = match;
  const wanted = quoted.replaceAll('"', '');
  const value = fieldsOf(machine, on)(field);
  if (value === undefined) throw new Error(`the fake LVM knows no field ${field} to select by`);
  // One word is compared with each item of a list, and sizes carry their unit.
  if (field === 'lv_tags') return value.split(',').includes(wanted);
  if (field === 'lv_size') return `${value}b` === wanted;
  switch (operator) {
    case '=':
      return value === wanted;
    case '!=':
      return value !== wanted;
    case '=~':
      return new RegExp(wanted).test(value);
    default:
      return !new RegExp(wanted).test(value);
  }
}
