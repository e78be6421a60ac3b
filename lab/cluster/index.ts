export type { ApiClient, ApiRequest, ApiResponse } from './api-client.ts';
export { type Cluster, type ClusterSpec, type NodeSpec, startCluster } from './cluster.ts';
export type { ExtraFlags, Server, ServerName } from './control-plane.ts';
export { busyboxImage, type ImageSpec, imageArchive, pauseImage } from './images.ts';
export { conditionOf, type NodeObject, type PodObject } from './objects.ts';
export { type TarEntry, tarOf } from './tar.ts';
export type { Versions } from './versions.ts';
export { type Look, type WaitOptions, waitUntil } from './wait.ts';
