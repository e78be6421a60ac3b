import type { StorageClass } from '../../api/objects/storage.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { show, showList } from '../../base/show.ts';
import { fileSystems, isFsType } from '../publication/file-systems.ts';
import { type ClusterNames, clusterNames } from './names.ts';

/** What a StorageClass says about its volumes. */
export type ClassParameters = {
  /** '' is the default class of the node. */
  readonly className: string;
  readonly optionClass: string;
  /** '' when the class leaves it to the driver. */
  readonly fsType: string;
  /** Keys that name secrets. No volume of ours needs one. */
  readonly secretKeys: readonly string[];
};

const reserved = 'csi.storage.k8s.io/';

const secretUses = [
  ...['', 'provisioner-', 'controller-publish-', 'node-stage-', 'node-publish-'],
  ...['controller-expand-', 'node-expand-', 'controller-modify-'],
] as const;

const secretKeys: ReadonlySet<string> = new Set(
  secretUses.flatMap((use) => [
    `${reserved}${use}secret-name`,
    `${reserved}${use}secret-namespace`,
  ]),
);

/**
 * Keys that Kubernetes reserved must be known. Any other key that we do not know is left alone, as
 * TopoLVM does: classes that worked go on working.
 */
export function readParameters(
  storageClass: StorageClass,
  names: ClusterNames,
): ClassParameters | Blocked {
  const { deviceClassParameter, optionClassParameter } = clusterNames(names);
  const parameters = storageClass.parameters ?? {};
  const keys = Object.keys(parameters);
  const name = `StorageClass ${storageClass.metadata.name}`;
  const unknown = keys.filter((key) => key.startsWith(reserved) && !isKnown(key));
  if (unknown.length > 0) {
    const message = `${name} has the unknown parameters ${showList(unknown)}`;
    return blocked('InvalidConfiguration', message);
  }
  const typeKeys = keys.filter(isFsTypeKey);
  if (typeKeys.length > 1) {
    const message = `${name} says the file system twice, in ${showList(typeKeys)}`;
    return blocked('InvalidConfiguration', message);
  }
  const fsType = parameters[typeKeys[0] ?? ''] ?? '';
  if (fsType !== '' && !isFsType(fsType)) {
    const message = `${name} asks for ${show(fsType)}, which is none of `;
    return blocked('UnknownFileSystem', message + showList(Object.keys(fileSystems)));
  }
  return {
    className: parameters[deviceClassParameter] ?? '',
    optionClass: parameters[optionClassParameter] ?? '',
    fsType,
    secretKeys: keys.filter((key) => secretKeys.has(key)),
  };
}

function isKnown(key: string): boolean {
  return key === `${reserved}fstype` || secretKeys.has(key);
}

/** The key without prefix is from before CSI, and was taken in any letter case. */
function isFsTypeKey(key: string): boolean {
  return key === `${reserved}fstype` || key.toLowerCase() === 'fstype';
}
