/**
 * A real Kubernetes in the lab:
 *
 *   const cluster = await startCluster({
 *     nodes: [{ name: 'n1', disks: [{ name: 'a', sizeBytes: 4n * GiB }] }, { name: 'n2' }],
 *   });
 *   await cluster.apply([pod]);
 *   await cluster.waitForPod({ name: 'pod' });
 *   await cluster.node('n1').sh('lvs');
 *   await cluster.node('n1').cutPower();
 *   await cluster.startNode('n1');
 *   await cluster.stop();
 *
 * There is no DNS and no kube-proxy in it: pods are reached by address, and the only service with
 * an address that works is the API server's. Images come from archives, so pods need
 * `imagePullPolicy: Never`.
 */
export type { ApiClient, ApiRequest, ApiResponse } from './api-client.ts';
export { type Cluster, type ClusterSpec, type NodeSpec, startCluster } from './cluster.ts';
export type { ExtraFlags, Server, ServerName } from './control-plane.ts';
export type { Gateway } from './gateway.ts';
export { apiOfAccount, kubeconfigOfAccount, type ServiceAccount } from './identity.ts';
export { busyboxImage, type ImageSpec, imageArchive, pauseImage } from './images.ts';
export type { KubectlOptions } from './kubectl.ts';
export { type Condition, conditionOf, type NodeObject, type PodObject } from './objects.ts';
export { describePrograms, type Program, type Programs } from './programs.ts';
export { type TarEntry, tarOf } from './tar.ts';
export type { Versions } from './versions.ts';
export { type Look, type WaitOptions, waitUntil } from './wait.ts';
export type { PodName } from './waits.ts';
