import type { Problem } from '../decode.ts';

/**
 * Something wrong with an LVMCluster. A `strict` one would have passed LVMS: what is there already
 * may stay as it is, and only new things are refused for it.
 */
export type Finding = Problem & { readonly isStrict: boolean };

/** Everything that was found, so that a person sees all of it at once. */
export class Findings {
  readonly problems: Finding[] = [];
  readonly warnings: string[] = [];

  refuse(field: string, value: unknown, remedy: string): void {
    this.problems.push({ field, value, remedy, isStrict: false });
  }

  refuseNew(field: string, value: unknown, remedy: string): void {
    this.problems.push({ field, value, remedy, isStrict: true });
  }

  warn(text: string): void {
    this.warnings.push(text);
  }
}

/** Classes are known by their names: their places change. */
export function classField(name: string, field = ''): string {
  return `spec.storage.deviceClasses[${name}]${field === '' ? '' : `.${field}`}`;
}
