import type { ObservedHost } from '../../src/core/observed.ts';
import type { Ask } from './protocol.ts';

/** One thing to bring about, what must be there first, and what must be true afterwards. */
export type Scenario = {
  readonly name: string;
  readonly before: readonly Ask[];
  readonly ask: Ask;
  /** Names of all volumes and the sizes in MiB that must be there at the end, and no others. */
  readonly volumes: Readonly<Record<string, number>>;
  /** Two volumes whose first bytes must be equal, when data is copied. */
  readonly same?: readonly [string, string];
};

export const groupName = 'vg';

export function nodeFile(paths: readonly string[]) {
  const volumeGroup = groupName;
  return {
    volumeGroups: [{ name: groupName, devices: { paths } }],
    deviceClasses: [
      { name: 'linear', volumeGroup },
      { name: 'striped', volumeGroup, striped: { stripes: 2 } },
      { name: 'raid1', volumeGroup, raid: { type: 'raid1' } },
      {
        name: 'thin',
        volumeGroup,
        default: true,
        thin: { poolName: 'pool', sizePercent: 30, overprovisionRatio: 10 },
      },
    ],
  };
}

/** Volume group and pool are there already, except where they are what is made. */
export function scenarios(node: unknown): readonly Scenario[] {
  const create = (name: string, className: string, size = '32Mi'): Ask => ({
    op: 'create',
    node,
    request: { name, className, size },
  });
  const remove = (name: string): Ask => ({ op: 'delete', vg: groupName, name });
  const snapshot = (name: string, source: string, className: string): Ask => ({
    op: 'snapshot',
    node,
    request: { name, source, className },
  });
  const clone = (name: string, source: string, className: string, size: string): Ask => ({
    op: 'clone',
    node,
    request: { name, source, className, size },
  });
  const both = { v: 32, s: 32 };
  return [
    ...['linear', 'striped', 'raid1', 'thin'].map((layout) => ({
      name: `create ${layout}`,
      before: [],
      ask: create('v', layout),
      volumes: { v: 32 },
    })),
    ...['linear', 'raid1', 'thin'].map((layout) => ({
      name: `expand ${layout}`,
      before: [create('v', layout)],
      ask: create('v', layout, '64Mi'),
      volumes: { v: 64 },
    })),
    ...['linear', 'thin'].map((layout) => ({
      name: `snapshot ${layout}`,
      before: [create('v', layout)],
      ask: snapshot('s', 'v', layout),
      volumes: both,
    })),
    ...['linear', 'raid1', 'thin'].map((layout) => ({
      name: `delete ${layout}`,
      before: [create('v', layout)],
      ask: remove('v'),
      volumes: {},
    })),
    {
      name: 'delete a snapshot',
      before: [create('v', 'linear'), snapshot('s', 'v', 'linear')],
      ask: remove('s'),
      volumes: { v: 32 },
    },
    {
      name: 'clone by copying',
      before: [create('v', 'linear')],
      ask: clone('c', 'v', 'linear', '32Mi'),
      volumes: { v: 32, c: 32 },
      same: ['v', 'c'],
    },
    {
      name: 'clone at once, larger',
      before: [create('v', 'thin')],
      ask: clone('c', 'v', 'thin', '64Mi'),
      volumes: { v: 32, c: 64 },
      same: ['v', 'c'],
    },
  ];
}

/** What is there, in the form a scenario states it. */
export function volumesOf(host: ObservedHost): Readonly<Record<string, number>> {
  const lvs = host.vgs.flatMap((vg) => vg.lvs).filter((lv) => lv.kind !== 'thin-pool');
  return Object.fromEntries(
    lvs.map((lv) => [lv.name, Number(BigInt(lv.sizeBytes) / 1024n / 1024n)]),
  );
}

/** Everything active, healthy and complete: nothing is left half done. */
export function unsettled(host: ObservedHost): readonly string[] {
  return host.vgs
    .flatMap((vg) => vg.lvs)
    .filter((lv) => !lv.isActive || lv.isSuspended || lv.isInvalid || lv.health !== '')
    .map((lv) => `${lv.name}: active ${lv.isActive}, suspended ${lv.isSuspended}, ${lv.health}`);
}
