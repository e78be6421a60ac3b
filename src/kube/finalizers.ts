import type { KubeObject } from '../api/objects/metadata.ts';
import { type Patch, pointer } from './patch.ts';

/** Adds a finalizer to an object that is still as we know it. */
export function guardOn({ metadata }: KubeObject, finalizer: string): Patch {
  const { resourceVersion, finalizers } = metadata;
  const add =
    finalizers === undefined || finalizers.length === 0
      ? { op: 'add', path: pointer('metadata', 'finalizers'), value: [finalizer] }
      : { op: 'add', path: pointer('metadata', 'finalizers', '-'), value: finalizer };
  const test = { op: 'test', path: pointer('metadata', 'resourceVersion'), value: resourceVersion };
  return { type: 'json', operations: [test, add] } as Patch;
}

/** Takes one finalizer away and leaves those of others; undefined when it is not there. */
export function guardOff({ metadata }: KubeObject, finalizer: string): Patch | undefined {
  const index = metadata.finalizers?.indexOf(finalizer) ?? -1;
  if (index < 0) return undefined;
  const path = pointer('metadata', 'finalizers', index);
  return {
    type: 'json',
    operations: [
      { op: 'test', path: pointer('metadata', 'uid'), value: metadata.uid },
      { op: 'test', path, value: finalizer },
      { op: 'remove', path },
    ],
  };
}
