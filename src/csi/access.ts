import { OperationError } from '../base/failures.ts';
import {
  VolumeCapability_AccessMode_Mode as Mode,
  type VolumeCapability,
} from './generated/csi.ts';

/** How somebody wants to use a volume, in our words. */
export type VolumeAccess = {
  readonly access:
    | { readonly kind: 'block' }
    | { readonly kind: 'mount'; readonly fsType: string; readonly flags: readonly string[] };
  readonly isReadOnly: boolean;
  /** Nobody else may use it, not even at another path of this node. */
  readonly isExclusive: boolean;
};

const modes: readonly string[] = [
  Mode.UNKNOWN,
  ...[Mode.SINGLE_NODE_WRITER, Mode.SINGLE_NODE_READER_ONLY],
  ...[Mode.SINGLE_NODE_SINGLE_WRITER, Mode.SINGLE_NODE_MULTI_WRITER],
];

export function volumeAccess(capability: VolumeCapability): VolumeAccess {
  const mode = capability.accessMode?.mode ?? Mode.UNKNOWN;
  if (!modes.includes(mode)) {
    throw new OperationError('AccessUnsupported', `access_mode is ${mode}`);
  }
  const common = {
    isReadOnly: mode === Mode.SINGLE_NODE_READER_ONLY,
    isExclusive: mode === Mode.SINGLE_NODE_SINGLE_WRITER,
  };
  const type = capability.accessType;
  switch (type?.$case) {
    case 'block':
      return { ...common, access: { kind: 'block' } };
    case 'mount': {
      const { fsType, mountFlags } = type.value;
      return { ...common, access: { kind: 'mount', fsType, flags: mountFlags } };
    }
    default:
      throw new OperationError('InvalidRequest', 'access_type is missing: say block or mount');
  }
}
