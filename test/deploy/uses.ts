import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as kinds from '../../src/kube/kinds.ts';
import { leaseKind } from '../../src/kube/lease.ts';
import * as lvmsKinds from '../../src/kube/lvms-kinds.ts';
import * as webhookKinds from '../../src/kube/webhook-kinds.ts';
import { daemonSetKind, deploymentKind } from '../../src/kube/workload-kinds.ts';
import type { Part } from '../../tools/manifests-settings.ts';

/**
 * What each role asks of the API server, read off its sources: calls of a client, and informers.
 * What cannot be told from a line stands in `locals`; a line that nobody can tell stops the test.
 */
export type Use = {
  /** `patch logicalvolumes.topolvm.io/status`. */
  readonly what: string;
  readonly file: string;
};

const root = join(import.meta.dirname, '../..');
const domain = 'topolvm.io';

type AnyKind = { readonly group: string; readonly kind: string; readonly plural: string };

/** By the name of the constant or of the function that makes it. */
const known: Readonly<Record<string, AnyKind>> = {
  ...Object.fromEntries(
    Object.entries(kinds).map(([name, one]) => [
      name,
      (typeof one === 'function' ? one(domain) : one) as AnyKind,
    ]),
  ),
  logicalVolumeKind: kinds.logicalVolumeKind(domain),
  volumeGroupSnapshotClassKind: kinds.volumeGroupSnapshotClassKind('v1'),
  volumeGroupSnapshotContentKind: kinds.volumeGroupSnapshotContentKind('v1'),
  ...{ leaseKind, ...lvmsKinds, ...webhookKinds, deploymentKind, daemonSetKind },
};

/** Types that stand for several kinds. */
const severalKinds: Readonly<Record<string, readonly AnyKind[]>> = {
  WebhookConfiguration: [webhookKinds.validatingWebhookKind, webhookKinds.mutatingWebhookKind],
};

/** Names for a kind that mean something in one file only. */
const locals: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'src/operator/logical-volumes-objects.ts': { 'this.#kind': ['logicalVolumeKind'] },
  'src/operator/snapshotter-contents.ts': {
    'served.kind': ['volumeSnapshotContentKind', 'volumeGroupSnapshotContentKind'],
  },
  'src/operator/snapshot-controller-work.ts': {
    'contents.kind': ['volumeSnapshotContentKind'],
    'find kind': ['volumeSnapshotKind'],
    'patch kind': ['volumeSnapshotKind', 'volumeSnapshotContentKind', 'claimKind'],
  },
  'src/operator/certificates.ts': {
    'patch kind': ['validatingWebhookKind', 'mutatingWebhookKind'],
  },
  'src/operator/lvm-clusters-deeds.ts': { 'patch kind': ['lvmClusterKind', 'lvmNodeStatusKind'] },
  'src/operator/lvm-clusters-kinds.ts': {
    kind: ['lvmClusterKind', 'lvmVolumeGroupKind', 'lvmNodeStatusKind'],
  },
  'src/operator/old-workloads.ts': { kind: ['deploymentKind', 'daemonSetKind'] },
  'src/operator/kind-watch.ts': { customKind: ['customResourceDefinitionKind'] },
  'src/agent/logical-volumes.ts': { kind: ['logicalVolumeKind'] },
};

/** Calls that go to the status where the flag says so: both are used. */
const eitherWay: Readonly<Record<string, readonly string[]>> = {
  'src/operator/logical-volumes-objects.ts': ['LogicalVolume'],
  'src/operator/snapshotter-contents.ts': ['VolumeSnapshotContent', 'VolumeGroupSnapshotContent'],
  'src/operator/snapshot-controller-work.ts': ['VolumeSnapshot'],
  'src/agent/logical-volumes.ts': ['LogicalVolume'],
};

const verbs: Readonly<Record<string, readonly string[]>> = {
  get: ['get'],
  find: ['get'],
  list: ['list'],
  watch: ['watch'],
  create: ['create'],
  post: ['create'],
  patch: ['patch'],
  update: ['update'],
  delete: ['delete'],
};

export function usesOf(part: Part): readonly Use[] {
  const isCommon = (path: string) => path.startsWith('src/operator/snapshot-controller');
  const folder = part === 'agent' ? 'src/agent' : 'src/operator';
  const files = globSync(`${folder}/**/*.ts`, { cwd: root }).filter(
    (path) => !path.endsWith('.test.ts') && isCommon(path) === (part === 'snapshots'),
  );
  return files.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    return [...callsIn(file, text), ...informersIn(file, text), ...servicesIn(file, text)];
  });
}

/** What `src/kube/` does for a role: it writes events, and holds leases. */
function servicesIn(file: string, text: string): readonly Use[] {
  const events = /\brecorder\s*\.event\(/.test(text) ? ['create events', 'patch events'] : [];
  const leases = /\bnew Election\(/.test(text) ? ['get', 'create', 'update'] : [];
  return [...events, ...leases.map((verb) => `${verb} ${nameOf(leaseKind)}`)].map((what) => ({
    what,
    file,
  }));
}

export function callsIn(file: string, text: string): readonly Use[] {
  const pattern =
    /\bclient\s*\.(get|find|list|watch|create|post|patch|update|delete)\(\s*([\w.#]+)([^;]*)/g;
  return [...text.matchAll(pattern)].flatMap(([, method = '', expression = '', rest = '']) =>
    kindsOf(file, text, expression, method).flatMap((kind) =>
      verbsOf(method, rest).flatMap((verb) =>
        resourcesOf(file, text, { kind, verb, rest }).map((resource) => ({
          what: `${verb} ${resource}`,
          file,
        })),
      ),
    ),
  );
}

/** What is applied is made where it is not there yet. */
function verbsOf(method: string, rest: string): readonly string[] {
  const isApplied = method === 'patch' && /\bapplied\(/.test(rest);
  return [...(verbs[method] ?? []), ...(isApplied ? ['create'] : [])];
}

type Call = { readonly kind: AnyKind; readonly verb: string; readonly rest: string };

function resourcesOf(file: string, text: string, { kind, verb, rest }: Call): readonly string[] {
  const whole = nameOf(kind);
  if (verb !== 'patch' && verb !== 'update') return [whole];
  if (eitherWay[file]?.includes(kind.kind)) return [whole, `${whole}/status`];
  const isStatus = /subresource: 'status'/;
  const options = /\boptions\b/.test(rest) && /const options = \{[^}]*\}/.exec(text)?.[0];
  const said = isStatus.test(rest.split(')')[0] ?? '') || isStatus.test(String(options));
  return [said ? `${whole}/status` : whole];
}

/** A store of objects is one list and one watch. */
function informersIn(file: string, text: string): readonly Use[] {
  const types = [...text.matchAll(/\bInformer<([A-Z]\w+)>/g)].map(([, type = '']) => type);
  const followed = [...text.matchAll(/\bkindOf: (?:\(\) => )?(\w+)/g)].map(([, one = '']) => one);
  const made = [...text.matchAll(/\bkind: (customKind)\b/g)].map(([, one = '']) => one);
  return [
    ...types.flatMap((type) => severalKinds[type] ?? [kindOfType(type)]),
    ...[...followed, ...made].flatMap((name) => kindsOf(file, text, name)),
  ].flatMap((kind) => ['list', 'watch'].map((verb) => ({ what: `${verb} ${nameOf(kind)}`, file })));
}

/** `CsiNode` here is Kubernetes' `CSINode`. */
function kindOfType(type: string): AnyKind {
  const found = Object.values(known).find(({ kind }) => kind.toLowerCase() === type.toLowerCase());
  assert.ok(found !== undefined, `no kind is called ${type}`);
  return found;
}

function kindsOf(file: string, text: string, expression: string, method = ''): readonly AnyKind[] {
  const word = expression.replaceAll(/[.#]/g, '\\$&');
  const alias = new RegExp(`(\\w+) as ${word}\\b|${word} = (\\w+Kind)\\(`).exec(text);
  const told = locals[file]?.[`${method} ${expression}`] ?? locals[file]?.[expression];
  const names = told ?? [alias?.[1] ?? alias?.[2] ?? expression];
  return names.map((name) => {
    const kind = known[name] ?? definedIn(text, name);
    assert.ok(kind !== undefined, `${file}: tell test/deploy/uses.ts which kind ${expression} is`);
    return kind;
  });
}

/** A kind that only one file reads is described there. */
function definedIn(text: string, name: string): AnyKind | undefined {
  const body =
    new RegExp(`const ${name}: Kind<[^=]*= \\{([\\s\\S]*?)\\n\\};`).exec(text)?.[1] ?? '';
  const field = (key: string) => new RegExp(`${key}: '([^']*)'`).exec(body)?.[1];
  const [group, kind, plural] = [field('group'), field('kind'), field('plural')];
  if (group === undefined || kind === undefined || plural === undefined) return undefined;
  return { group, kind, plural };
}

/** `persistentvolumes` of the core group, `storageclasses.storage.k8s.io` of another. */
function nameOf({ group, plural }: AnyKind): string {
  return group === '' ? plural : `${plural}.${group}`;
}
