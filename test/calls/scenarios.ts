import {
  type Access,
  createLv,
  createSnapshot,
  createVolume,
  deleteSnapshot,
  deleteVolume,
  expandVolume,
  nodeExpand,
  publish,
  type Request,
  removeLv,
  resizeLv,
  snapshotLv,
  unpublish,
} from './requests.ts';

/** Where scenarios show volumes. */
export const path = '/pods/p/mount';

/** Volumes with data that are there all the time, and snapshots of them with older data. */
export const kept = {
  volumes: ['keep-ext4', 'keep-thick', 'keep-thin', 'keep-xfs'],
  snapshots: ['snap-thick', 'snap-thin'],
} as const;

/** One call, what is there before it, and what must be true afterwards beside what is kept. */
export type Scenario = {
  readonly name: string;
  readonly before: readonly Act[];
  readonly ask: Request;
  readonly volumes?: readonly string[];
  readonly snapshots?: readonly string[];
  /** Volumes that nobody has used yet, and that may be formatted. */
  readonly pending?: readonly string[];
  readonly shown?: { readonly name: string; readonly access: Access };
  /** The one kept thing whose content it has: as a device, or as the file in a file system. */
  readonly content?: { readonly of: string; readonly in: string };
  /** It was never used before: raw, it must show zeroes. */
  readonly isNew?: true;
  /** What kubelet does again after a boot, because no mount outlives one. */
  readonly afterBoot?: readonly Request[];
};

/** What comes before: calls, and a former tenant's data on a volume that nobody has used yet. */
export type Act = Request | { readonly soil: string };

const thick = { className: 'thick' } as const;
const thin = { className: 'thin' } as const;
const v = { volumes: ['v'] } as const;

export const scenarios: readonly Scenario[] = [
  ...(['linear', 'stripes', 'mirror', 'thin'] as const).map(
    (layout): Scenario => ({
      name: `CreateVolume, ${layout}`,
      before: [],
      ask: createVolume('v', layoutOf(layout)),
      ...v,
      pending: ['v'],
    }),
  ),
  ...([thin, thick] as const).flatMap(({ className }): readonly Scenario[] => [
    {
      name: `CreateVolume from a snapshot, ${className}`,
      before: [],
      ask: createVolume('v', { className, snapshot: `snap-${className}` }),
      ...v,
      content: { of: `snap-${className}`, in: 'v' },
    },
    {
      name: `CreateVolume from a volume, ${className}`,
      before: [],
      ask: createVolume('v', { className, mib: 64, volume: `keep-${className}` }),
      ...v,
      content: { of: `keep-${className}`, in: 'v' },
    },
    {
      name: `ControllerExpandVolume, ${className}`,
      before: [createVolume('v', { className, volume: `keep-${className}` })],
      ask: expandVolume('v', 64),
      ...v,
      content: { of: `keep-${className}`, in: 'v' },
    },
    {
      name: `CreateSnapshot, ${className}`,
      before: [],
      ask: createSnapshot('s', `keep-${className}`),
      snapshots: ['s'],
      content: { of: `keep-${className}`, in: 's' },
    },
    {
      name: `DeleteSnapshot, ${className}`,
      before: [createSnapshot('s', `keep-${className}`)],
      ask: deleteSnapshot('s'),
    },
  ]),
  ...(['linear', 'mirror', 'thin'] as const).map(
    (layout): Scenario => ({
      name: `DeleteVolume, ${layout}`,
      before: [createVolume('v', layoutOf(layout))],
      ask: deleteVolume('v'),
    }),
  ),
  ...publications(),
  ...lvmd(),
];

function publications(): readonly Scenario[] {
  const first = (access: Access, mib: number, className: 'thick' | 'thin'): Scenario => ({
    name: `NodePublishVolume for the first time, ${access}`,
    before: [
      createVolume('v', { className, mib, access }),
      ...(access === 'block' ? [{ soil: 'v' }] : []),
    ],
    ask: publish('v', path, access),
    ...v,
    shown: { name: 'v', access },
    isNew: true,
  });
  const again = (access: Access, name: string): readonly Scenario[] => [
    {
      name: `NodePublishVolume once more, ${access}`,
      before: [],
      ask: publish(name, path, access),
      shown: { name, access },
      content: { of: name, in: name },
    },
    {
      name: `NodeUnpublishVolume, ${access}`,
      before: [publish(name, path, access)],
      ask: unpublish(name, path),
    },
  ];
  const grown = (access: 'ext4' | 'xfs', mib: number, larger: number): Scenario => ({
    name: `NodeExpandVolume, ${access}`,
    before: [
      createVolume('v', { ...thin, mib, access, volume: `keep-${access}` }),
      publish('v', path, access),
      expandVolume('v', larger),
    ],
    ask: nodeExpand('v', path),
    ...v,
    shown: { name: 'v', access },
    content: { of: `keep-${access}`, in: 'v' },
    afterBoot: [publish('v', path, access)],
  });
  return [
    ...[first('ext4', 64, 'thick'), first('xfs', 304, 'thin'), first('block', 32, 'thick')],
    ...[...again('ext4', 'keep-ext4'), ...again('block', 'keep-thick')],
    ...[grown('ext4', 64, 128), grown('xfs', 304, 400)],
  ];
}

function lvmd(): readonly Scenario[] {
  const copy = (className: string, accessType: 'ro' | 'rw'): Scenario => ({
    name: `CreateLVSnapshot, ${className} ${accessType}`,
    before: [],
    ask: snapshotLv('l', className, { source: `keep-${className}`, accessType }),
    ...(accessType === 'ro' ? { snapshots: ['l'] } : { volumes: ['l'] }),
    content: { of: `keep-${className}`, in: 'l' },
  });
  const l = { volumes: ['l'] } as const;
  return [
    { name: 'CreateLV, thick', before: [], ask: createLv('l', 'thick'), ...l },
    { name: 'CreateLV, thin', before: [], ask: createLv('l', 'thin'), ...l },
    { name: 'RemoveLV', before: [createLv('l', 'thick')], ask: removeLv('l', 'thick') },
    {
      name: 'ResizeLV',
      before: [createLv('l', 'thick')],
      ask: resizeLv('l', 'thick', 64),
      ...l,
    },
    ...[copy('thick', 'ro'), copy('thick', 'rw'), copy('thin', 'rw')],
  ];
}

function layoutOf(layout: 'linear' | 'stripes' | 'mirror' | 'thin') {
  if (layout === 'thin') return thin;
  return layout === 'linear' ? thick : { ...thick, optionClass: layout };
}
