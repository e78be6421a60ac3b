import { dump } from 'js-yaml';
import { groups, logicalVolumeCrd, selectableFieldsMinor } from '../api/crds/logical-volume.ts';
import { lvmsCrds } from '../api/crds/lvms.ts';
import { show } from '../base/show.ts';
import { UsageError } from './context.ts';

type Flags = {
  readonly legacy: boolean;
  /** The version of the server, `1.29`. */
  readonly kubernetes: string;
};

/** The definitions of our kinds as a manifest. */
export function crds({ legacy, kubernetes }: Flags): string {
  const minor = /^v?1\.(\d+)/.exec(kubernetes)?.[1];
  if (minor === undefined) {
    throw new UsageError(`--kubernetes ${show(kubernetes)}: write a version such as 1.29`);
  }
  const crd = logicalVolumeCrd({
    group: legacy ? groups.legacy : groups.current,
    hasSelectableFields: Number(minor) >= selectableFieldsMinor,
  });
  const all = [crd, ...(legacy ? [] : lvmsCrds)];
  const texts = all.map((one) => dump(one, { lineWidth: 100, noRefs: true }));
  return texts.join('---\n').trimEnd();
}
