export type { Running, RunOptions, RunResult } from './channel.ts';
export type { DiskFault } from './disk/fault.ts';
export type { Guest } from './guest.ts';
export type { Namespace } from './host/namespace.ts';
export { type Lab, type LabSpec, startLab } from './lab.ts';
export { type DiskSpec, GiB, type GuestKind, type GuestSpec, MiB, type Suite } from './spec.ts';
