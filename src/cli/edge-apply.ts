import { OperationError } from '../base/failures.ts';
import { showList } from '../base/show.ts';
import type { DesiredEdge } from '../core/edge/desired.ts';
import {
  type EdgeDeed,
  type EdgeText,
  type EdgeWish,
  edgeNames,
  planEdge,
} from '../core/edge/plan.ts';
import type { KubeClient } from '../kube/client.ts';
import { daemonSetKind, lvmdConfigMapKind } from '../kube/edge-kinds.ts';
import type { KubeObject } from '../kube/kind.ts';
import { exitCodes } from './context.ts';
import {
  type ApplyOptions,
  checksumOf,
  type EdgeDoors,
  type EdgeOptions,
  lookAtEdge,
  oldKinds,
  sightOf,
} from './edge-sight.ts';

/** Each pass writes one of four objects; others may write them, too, but not for ever. */
const passesMax = 8;

/**
 * Gives the cluster what the file says: the text, and then the DaemonSet whose pods read it. What
 * is so already is not written, and a file with a fault changes nothing.
 */
export async function applyEdge(doors: EdgeDoors, options: ApplyOptions): Promise<number> {
  const { print, warn } = doors;
  const client = await doors.connect();
  const { desired, daemonSet } = await lookAtEdge(doors, client, options);
  if (desired.kind === 'refused') throw refusal(desired);
  if (desired.kind === 'nothing') {
    print(`${desired.why}.`);
    const isThere = daemonSet !== undefined;
    print(isThere ? 'What was deployed before stays as it is.' : 'Nothing is deployed.');
    return exitCodes.done;
  }
  const { namespace, replacesTopolvm } = options;
  const rest = { namespace, replacesTopolvm, digest: checksumOf };
  if (desired.kind === 'cluster') {
    print(`LVMCluster ${desired.name} has device classes: agents write lvmd.yaml of this host.`);
    return carriedOut({ doors, client, wish: { ...rest, lvmd: undefined } });
  }
  for (const warning of desired.warnings) warn(`quarry: ${warning}`);
  print(sourceText(desired, options));
  const { text, spec } = desired;
  const lvmd = { text, checksum: checksumOf(text), socketName: spec.socketName };
  return carriedOut({ doors, client, wish: { ...rest, lvmd } });
}

type Work = {
  readonly doors: EdgeDoors;
  readonly client: KubeClient;
  readonly wish: EdgeWish;
};

/** Look, write one thing, look again: whoever goes on after a cut finds what is left to do. */
async function carriedOut({ doors, client, wish }: Work): Promise<number> {
  const { print, warn } = doors;
  for (let pass = 0; pass < passesMax; pass += 1) {
    const decision = planEdge(wish, await sightOf(client, wish));
    switch (decision.kind) {
      case 'rest':
        if (pass === 0) print(`Nothing has changed${ofText(wish.lvmd)}.`);
        return exitCodes.done;
      case 'do':
        await carryOut(decision.deed, client, wish);
        print(deedText(decision.deed, wish));
        break;
      case 'wait':
        warn(`quarry: ${decision.why}`);
        return exitCodes.retryLater;
      case 'blocked':
        warn(`quarry: ${decision.why}`);
        return exitCodes.failed;
    }
  }
  warn('quarry: somebody else changes the same objects again and again: see who else writes them');
  return exitCodes.retryLater;
}

async function carryOut(deed: EdgeDeed, client: KubeClient, { namespace }: EdgeWish) {
  const name = edgeNames.configMap;
  switch (deed.kind) {
    case 'create-config-map': {
      const data = { [edgeNames.key]: deed.lvmd.text };
      await client.create(lvmdConfigMapKind, { metadata: { name, namespace }, data });
      return;
    }
    case 'change-config-map': {
      const body = { data: { [edgeNames.key]: deed.lvmd.text } };
      await client.patch(lvmdConfigMapKind, { name, namespace }, { type: 'merge', body });
      return;
    }
    case 'delete-old': {
      const { kind, name: old, uid } = deed.old;
      const options = { uid, propagation: 'Background' } as const;
      await client.delete<KubeObject>(oldKinds[kind], { name: old, namespace }, options);
      return;
    }
    case 'create-daemon-set':
      await client.create(daemonSetKind, deed.object);
      return;
    case 'update-daemon-set':
      await client.update(daemonSetKind, deed.object);
      return;
  }
}

function ofText(lvmd: EdgeText | undefined): string {
  return lvmd === undefined ? '' : ` (sha256 ${lvmd.checksum})`;
}

function deedText(deed: EdgeDeed, { namespace }: EdgeWish): string {
  switch (deed.kind) {
    case 'create-config-map':
    case 'change-config-map':
      return `ConfigMap ${namespace}/${edgeNames.configMap} has the text${ofText(deed.lvmd)}.`;
    case 'delete-old':
      return `${deed.old.kind} ${namespace}/${deed.old.name} of TopoLVM is deleted.`;
    case 'create-daemon-set':
      return `DaemonSet ${namespace}/${edgeNames.agent} is made.`;
    case 'update-daemon-set':
      return `DaemonSet ${namespace}/${edgeNames.agent} is changed: a pod that is another now starts anew.`;
  }
}

type Told = Extract<DesiredEdge, { kind: 'lvmd' }>;

function sourceText({ source, spec }: Told, { file, defaultGroup }: EdgeOptions): string {
  if (source === 'default') {
    return `There is no ${file}: the default gives class default in volume group ${defaultGroup}.`;
  }
  return `${file} gives ${showList(spec.deviceClasses.map(({ name }) => name))}.`;
}

function refusal({ what, problems }: Extract<DesiredEdge, { kind: 'refused' }>): OperationError {
  const lines = problems.map((problem) => `  ${problem}`).join('\n');
  const message = `${what} cannot be used, and nothing was changed:\n${lines}`;
  return new OperationError('InvalidConfiguration', message);
}
