import {
  componentLabel,
  components,
  partOf,
  workloadNames,
} from '../src/core/cluster/installed.ts';

/** What an installation may choose. In the chart each of these is a word of its template. */
export type Settings = {
  readonly namespace: string;
  /** `topolvm.io`, or the group that TopoLVM had before. */
  readonly domain: string;
  /** `true` or `false`, as the program reads it. */
  readonly useLegacy: string;
  /** Name, tag and digest. */
  readonly image: string;
  readonly kubeletRoot: string;
  /** Where `lvmd.yaml` comes from. */
  readonly lvmdVolume: object;
  /** Of both, for LVMClusters. */
  readonly lvmsFlags: readonly string[];
  /** Of the operator, for API servers that ask about them. */
  readonly webhookFlags: readonly string[];
  /** Of the operator, beside those that it always has. */
  readonly flags: readonly string[];
  /** Of the agents. */
  readonly agentFlags: readonly string[];
  /** Of API servers, as network policies name ports. */
  readonly apiServerPorts: readonly unknown[];
  readonly resources: { readonly operator: unknown; readonly agent: unknown };
};

/** One image, for all machines: its digest is that of an index. */
export type Release = {
  readonly version: string;
  readonly image: { readonly repository: string; readonly tag: string; readonly digest: string };
};

export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
};

export const names = workloadNames;

export type Role = keyof typeof names;

/** What may be done. The last is an addition to the operator that clusters may have elsewhere. */
export const partNames = { ...names, snapshots: 'lvms-snapshot-controller' } as const;

export type Part = keyof typeof partNames;

export function labelsOf(role: Role): Readonly<Record<string, string>> {
  return { ...selectorOf(role), [partOf.key]: partOf.value };
}

/** A selector can never change: nothing that differs between two installations is in it. */
export function selectorOf(role: Role): Readonly<Record<string, string>> {
  return {
    'app.kubernetes.io/name': 'topolvm',
    [componentLabel]: components[role],
  };
}

/** Where TopoLVM's extender listens, on the nodes that kube-scheduler runs on. */
export const extenderPort = 9251;

/** Where API servers ask about LVMClusters. */
export const webhookPort = 9443;

export const lvmsFlags = ['--lvm-clusters'] as const;
export const webhookFlags = [`--webhook-address=:${webhookPort}`] as const;

/** Metrics and probes. */
export const diagnosticsPort = 8080;

export const defaultResources = {
  operator: { requests: { cpu: '10m', memory: '100Mi' }, limits: { memory: '256Mi' } },
  // No limit: mkfs and lvm count as part of the agent, and a killed lvm leaves volumes suspended.
  agent: { requests: { cpu: '10m', memory: '80Mi' } },
} as const;

/** API servers listen on one of these: behind the service address, or as they are. */
export const usualApiServerPorts = [443, 6443] as const;

/** As network policies name it. */
export function tcp(port: number) {
  return { protocol: 'TCP', port };
}

/** The file of each node: what the nodes of a cluster have for disks differs. */
export { lvmdOnHost } from '../src/core/edge/plan.ts';
