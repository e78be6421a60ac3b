import type { KubeObject } from '../../api/objects/metadata.ts';
import type { Finding, ObjectRef } from './finding.ts';
import type { ClusterPicture, Part } from './picture.ts';

/** One thing to look for. It is left out where a part that it needs was not seen. */
export type Rule = {
  readonly needs: readonly Part[];
  readonly judge: (picture: ClusterPicture) => readonly Finding[];
};

export function refTo(kind: string, { metadata }: KubeObject): ObjectRef {
  const { namespace, name } = metadata;
  return { kind, ...(namespace === undefined ? {} : { namespace }), name };
}
