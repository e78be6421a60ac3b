import type { LvmDeviceClass, LvmDeviceSelector } from '../objects/lvm-cluster.ts';

type Selecting = { readonly deviceSelector?: LvmDeviceSelector };

/** Every device that a class names, with the field that does. */
export function pathsOf({ deviceSelector = {} }: Selecting) {
  const { paths = [], optionalPaths = [] } = deviceSelector;
  return [
    ...paths.map((path, at) => ({ field: `deviceSelector.paths[${at}]`, path })),
    ...optionalPaths.map((path, at) => ({ field: `deviceSelector.optionalPaths[${at}]`, path })),
  ];
}

/** A class that names no device takes every disk that nobody uses. */
export function isGreedy(one: Pick<LvmDeviceClass, 'deviceSelector'>): boolean {
  return pathsOf(one).length === 0;
}
