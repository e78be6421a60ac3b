import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { dump } from 'js-yaml';
import { groups, logicalVolumeCrd } from '../src/api/crds/logical-volume.ts';
import { chartFiles } from './manifests-chart.ts';
import { dashboard } from './manifests-dashboard.ts';
import {
  defaultSettings,
  legacyChoice,
  manifests,
  microShiftSettings,
} from './manifests-objects.ts';
import { openshiftNamespace } from './manifests-openshift.ts';
import type { Manifest, Release } from './manifests-settings.ts';

/**
 * Everything that is given to a cluster: plain manifests in `deploy/`, and a chart, from the
 * same objects.
 *
 *   node tools/manifests.ts --release build/image/release.json --out build/manifests
 */
const root = join(import.meta.dirname, '..');

/** The images that the manifests in the tree are for. */
export const releaseFile = 'deploy/release.json';

export function readRelease(file = join(root, releaseFile)): Release {
  return JSON.parse(readFileSync(file, 'utf8')) as Release;
}

/** Paths in the tree, and the text that belongs there. */
export function manifestFiles(release: Release): Readonly<Record<string, string>> {
  const settings = defaultSettings(release);
  const made = manifests(settings);
  const legacy = manifests({ ...settings, ...legacyChoice });
  const onEdge = manifests(microShiftSettings(release));
  const openshift = manifests({ ...settings, namespace: openshiftNamespace });
  const old = { group: groups.current, hasSelectableFields: false };
  return {
    'deploy/crds.yaml': yamlOf([...made.crds, ...made.lvmsCrds]),
    'deploy/crds-1.29.yaml': yamlOf([logicalVolumeCrd(old), ...made.lvmsCrds]),
    'deploy/namespace.yaml': yamlOf(made.namespace),
    'deploy/quarry.yaml': yamlOf([...separate(made), ...made.webhook]),
    'deploy/quarry-all.yaml': yamlOf(together(made)),
    'deploy/node-policy.yaml': yamlOf(made.policy),
    'deploy/snapshot-controller.yaml': yamlOf(made.snapshots),
    'deploy/monitoring.yaml': yamlOf([...made.monitors, ...made.alerts]),
    'deploy/openshift-namespace.yaml': yamlOf(openshift.openshiftNamespace),
    'deploy/openshift.yaml': yamlOf(onOpenShift(openshift)),
    'deploy/openshift-monitoring.yaml': yamlOf([
      ...openshift.openshiftMetrics,
      ...openshift.alerts,
    ]),
    'deploy/samples.yaml': yamlOf(made.samples),
    'deploy/snapshot-class.yaml': yamlOf(made.snapshotClass),
    'deploy/extender.yaml': yamlOf(made.extender),
    'deploy/microshift/crds.yaml': yamlOf([...onEdge.crds, ...onEdge.lvmsCrds]),
    'deploy/microshift/quarry.yaml': yamlOf(edgeOf(onEdge)),
    'deploy/microshift/storage.yaml': yamlOf(onEdge.edgeStorage),
    'deploy/legacy/crds.yaml': yamlOf(legacy.crds),
    'deploy/legacy/quarry.yaml': yamlOf(separate(legacy)),
    'deploy/legacy/node-policy.yaml': yamlOf(legacy.policy),
    'deploy/legacy/extender.yaml': yamlOf(legacy.extender),
    'deploy/dashboard.json': `${JSON.stringify(dashboard(), undefined, 2)}\n`,
    ...chartFiles(release),
  };
}

type Made = ReturnType<typeof manifests>;

/** Never with the namespace: who deletes one deletes the LVMCluster in it. */
function separate({ driver, roles, operator, agent, network }: Made): readonly Manifest[] {
  return [...driver, ...roles, ...operator, ...agent, ...network];
}

function together({ driver, roles, all, network, webhookOfAll }: Made): readonly Manifest[] {
  return [...driver, ...roles, ...all, ...network.slice(1), ...webhookOfAll];
}

/** All but what runs. */
function edgeOf({ namespace, driver, edge, network }: Made): readonly Manifest[] {
  return [...namespace, ...driver, ...edge, ...network.slice(1)];
}

function onOpenShift(made: Made): readonly Manifest[] {
  const { constraints, webhook, policy } = made;
  return [...separate(made), ...constraints, ...webhook, ...policy];
}

const note = '# Made by `make manifests`; do not edit.\n';

export function yamlOf(objects: readonly object[]): string {
  const documents = objects.map((one) => dump(one, { lineWidth: 100, noRefs: true }));
  return `${note}${documents.join('---\n')}`;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      release: { type: 'string', default: join(root, releaseFile) },
      out: { type: 'string', default: root },
    },
  });
  for (const [path, text] of Object.entries(manifestFiles(readRelease(values.release)))) {
    const file = join(values.out, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
