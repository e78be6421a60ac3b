import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { failures } from '../src/base/failures.ts';
import { limits } from '../src/base/limits.ts';
import { findings } from '../src/core/doctor/finding.ts';
import { devicesMin, geometryOf, type Layout, layouts } from '../src/core/layouts.ts';
import { crdsPage, schemaSources } from './crds.ts';
import { grpcCode, grpcFiles } from './grpc-code.ts';
import { manifestFiles, readRelease } from './manifests.ts';

/** Pages and files that are made from the code. `--check` fails when one of them is stale. */
const root = join(import.meta.dirname, '..');

const pages: Readonly<Record<string, () => string>> = {
  'docs/reference/failures.md': failuresPage,
  'docs/reference/findings.md': findingsPage,
  'docs/reference/limits.md': limitsPage,
  'docs/reference/layouts.md': layoutsPage,
  'docs/sbom.json': billOfMaterials,
  ...schemaSources(),
  'docs/reference/crds.md': crdsPage,
};

const note = 'Made by `make generate` from the code; do not edit.';

function failuresPage(): string {
  const rows = Object.entries(failures).map(
    ([code, { grpc, retry, fault, hint }]) =>
      `| ${code} | ${grpc} | ${retry} | ${fault} | ${hint} |`,
  );
  return [
    '# Failures',
    '',
    `Every way Quarry can refuse or fail. ${note}`,
    '',
    '- retry `backoff`: it is tried again by itself; `after-change`: once somebody changed something;',
    '  `never`: not for this request.',
    '- fault: who can do something about it.',
    '',
    '| code | gRPC status | retry | fault | what to do |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function findingsPage(): string {
  const rows = Object.entries(findings).map(
    ([code, { when, why, remedy }]) => `| ${code} | ${when} | ${why} | ${remedy} |`,
  );
  return [
    '# Findings',
    '',
    `Everything that \`quarry doctor\` looks for, in the order in which it tells it. ${note}`,
    '',
    '| code | when | why it matters | what to do, unless the message says more |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function limitsPage(): string {
  const source = readFileSync(join(root, 'src/base/limits.ts'), 'utf8');
  const rows = Object.entries(limits).map(
    ([name, value]) => `| ${name} | ${value} | ${commentOf(source, name)} |`,
  );
  const head = ['# Limits', '', `Every limit, with its unit in its name. ${note}`, ''];
  return [...head, '| name | value | why |', '|---|---|---|', ...rows, ''].join('\n');
}

/** The comment that stands right above a name in the source. */
function commentOf(source: string, name: string): string {
  const lines = source.split('\n');
  const at = lines.findIndex((line) => line.trim().startsWith(`${name}:`));
  return /^\s*\/\*\* (.*) \*\/$/.exec(lines[at - 1] ?? '')?.[1] ?? '';
}

const examples: readonly Layout[] = [
  { kind: 'linear' },
  { kind: 'striped', stripes: 2 },
  { kind: 'raid1', mirrors: 1 },
  { kind: 'raid4', stripes: 2 },
  { kind: 'raid5', stripes: 2 },
  { kind: 'raid6', stripes: 3 },
  { kind: 'raid10', stripes: 2, mirrors: 1 },
  { kind: 'thin', pool: 'pool' },
];

function layoutsPage(): string {
  const rows = examples.map((layout) => {
    const can = layouts[layout.kind];
    const geometry = geometryOf(layout);
    const overhead = geometry === undefined ? '-' : `${geometry.areas}/${geometry.dataColumns}`;
    const cells = [
      ...[layout.kind, can.snapshots, can.clone, yes(can.growOnline), yes(can.growWithSnapshots)],
      ...[yes(can.sharedActivation), String(devicesMin(layout)), overhead],
      ...[String(can.survivesDeviceLoss)],
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    '# Layouts',
    '',
    `What each layout of a volume can do. ${note}`,
    '',
    'Overhead is extents taken for extents given, with the smallest stripe and mirror counts;',
    'RAID takes one more extent on each device for its own metadata.',
    '',
    '| layout | snapshots | clone | grows online | grows with CoW snapshots | shared activation | devices at least | overhead | device losses survived |',
    '|---|---|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function yes(value: boolean): string {
  return value ? 'yes' : 'no';
}

type LockedPackage = {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
};

/** CycloneDX, from the lockfile alone: the same lockfile always gives the same file. */
function billOfMaterials(): string {
  const text = readFileSync(join(root, 'package-lock.json'), 'utf8');
  const lock = JSON.parse(text) as { packages: Record<string, LockedPackage> };
  const { '': own, ...others } = lock.packages;
  const components = Object.entries(others).map(([path, entry]) => {
    const name = path.replace(/^.*node_modules\//, '');
    const hash = entry.integrity?.replace(/^sha512-/, '');
    return {
      type: 'library',
      name,
      version: entry.version,
      scope: entry.dev === true ? 'excluded' : entry.optional === true ? 'optional' : 'required',
      purl: `pkg:npm/${name.replace('@', '%40')}@${entry.version}`,
      ...(entry.license === undefined ? {} : { licenses: [{ expression: entry.license }] }),
      ...(hash === undefined
        ? {}
        : { hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }] }),
    };
  });
  const component = { type: 'application', name: 'quarry', version: own?.version };
  const bom = { bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 };
  return `${JSON.stringify({ ...bom, metadata: { component }, components }, undefined, 2)}\n`;
}

if (import.meta.main) {
  const code = grpcCode();
  const made = Object.entries(pages).map(([path, make]) => [path, make()] as const);
  const deployed = manifestFiles(readRelease());
  const wanted = new Map([...made, ...Object.entries(code), ...Object.entries(deployed)]);
  const isCheck = process.argv.includes('--check');
  for (const [path, text] of wanted) {
    if (readOr(join(root, path)) === text) continue;
    if (isCheck) complain(`${path} is stale`);
    else write(join(root, path), text);
  }
  for (const path of grpcFiles()) {
    if (wanted.has(path)) continue;
    if (isCheck) complain(`${path} is made from nothing`);
    else rmSync(join(root, path));
  }
}

function complain(what: string): void {
  console.error(`${what}: run make generate`);
  process.exitCode = 1;
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
