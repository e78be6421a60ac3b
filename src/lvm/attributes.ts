import { OperationError } from '../base/failures.ts';
import { show } from '../base/show.ts';

/** The parts of `lv_attr` that no other report field says more clearly. */
export type LvAttributes = {
  readonly isActive: boolean;
  readonly isSuspended: boolean;
  readonly isOpen: boolean;
  readonly isReadOnly: boolean;
  /** Overflowed or unmergeable snapshot, or a pool that must be checked before use. */
  readonly isInvalid: boolean;
};

const typeIndex = 0;
const permissionIndex = 1;
const stateIndex = 4;
const openIndex = 5;

const inactiveStates = new Set(['-', 'X', 'd', 'i', 'h']);
const suspendedStates = new Set(['s', 'S', 'M', 'C']);
const invalidStates = new Set(['I', 'S', 'm', 'M', 'c', 'C']);

export function parseLvAttributes(attributes: string): LvAttributes {
  if (!/^[-a-zA-Z]{10}$/.test(attributes)) {
    throw new OperationError('UnreadableReport', `a report gave lv_attr ${show(attributes)}`);
  }
  const at = (index: number) => attributes.charAt(index);
  const isCacheState = at(typeIndex) === 'C';
  return {
    isActive: !inactiveStates.has(at(stateIndex)),
    isSuspended: suspendedStates.has(at(stateIndex)),
    isOpen: at(openIndex) === 'o',
    isReadOnly: at(permissionIndex) === 'r' || at(permissionIndex) === 'R',
    isInvalid: !isCacheState && invalidStates.has(at(stateIndex)),
  };
}
