import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { hostOf, sampleLv, sampleVg } from '../../test/samples/observed.ts';
import { surroundings } from '../../test/samples/surroundings.ts';
import { serve } from '../../test/world/sockets.ts';
import { OperationError } from '../base/failures.ts';
import {
  ControllerDefinition,
  GroupControllerDefinition,
  IdentityDefinition,
  NodeDefinition,
} from '../csi/generated/csi.ts';
import { type Handlers, service, unimplemented } from '../csi/service.ts';
import { StatusError } from '../csi/status.ts';
import { type VolumeFlags, volume } from './volume.ts';

type Controller = Handlers<typeof ControllerDefinition>;
type Node = Handlers<typeof NodeDefinition>;

const GiB = 1024n ** 3n;
/** A driver may have any name; its keys go by that. */
const domain = 'lvm.example.com';
const db = {
  volumeId: 'id-1',
  capacityBytes: GiB,
  volumeContext: new Map([
    [`${domain}/name`, 'db'],
    [`${domain}/device-class`, 'fast'],
  ]),
  accessibleTopology: [],
};
const snapshot = {
  ...{ snapshotId: 'id-2', sourceVolumeId: 'id-1', sizeBytes: GiB, readyToUse: true },
  ...{ groupSnapshotId: '', creationTime: undefined },
};

/** A driver with one volume and one snapshot, which notes what it is asked for. */
async function driver(t: TestContext, given: Partial<Controller> = {}) {
  const asked: [string, unknown][] = [];
  const note = (name: string, answer: unknown) => (request: unknown) => {
    asked.push([name, request]);
    return Promise.resolve(answer);
  };
  const none = Object.fromEntries(
    Object.keys(ControllerDefinition.methods).map((name) => [name, unimplemented]),
  ) as unknown as Controller;
  const controller = {
    ...none,
    listVolumes: () => Promise.resolve({ entries: [{ volume: db }], nextToken: '' }),
    listSnapshots: () => Promise.resolve({ entries: [{ snapshot }], nextToken: '' }),
    createVolume: note('create', { volume: { ...db, volumeId: 'id-9' } }),
    deleteVolume: note('delete', {}),
    deleteSnapshot: note('delete-snapshot', {}),
    controllerExpandVolume: note('expand', {
      capacityBytes: 2n * GiB,
      nodeExpansionRequired: true,
    }),
    createSnapshot: note('snapshot', { snapshot }),
    controllerGetVolume: () => Promise.reject(new StatusError('NOT_FOUND', 'no such volume')),
    ...given,
  } as Controller;
  const node = {
    ...(Object.fromEntries(
      Object.keys(NodeDefinition.methods).map((name) => [name, unimplemented]),
    ) as unknown as Node),
    nodePublishVolume: note('publish', {}),
    nodeUnpublishVolume: note('unpublish', {}),
    nodeExpandVolume: note('grow', { capacityBytes: 2n * GiB }),
  } as Node;
  const identity = service(IdentityDefinition, {
    getPluginInfo: () =>
      Promise.resolve({ name: domain, vendorVersion: '0', manifest: new Map<string, string>() }),
    getPluginCapabilities: unimplemented,
    probe: unimplemented,
  });
  const groupSnapshot = {
    ...{ groupSnapshotId: 'id-g', creationTime: undefined, readyToUse: true },
    snapshots: [snapshot],
  };
  const groups = service(GroupControllerDefinition, {
    groupControllerGetCapabilities: unimplemented,
    getVolumeGroupSnapshot: unimplemented,
    createVolumeGroupSnapshot: note('group', { groupSnapshot }),
    deleteVolumeGroupSnapshot: note('delete-group', {}),
  } as Handlers<typeof GroupControllerDefinition>);
  const services = [
    groups,
    identity,
    service(ControllerDefinition, controller),
    service(NodeDefinition, node),
  ];
  return { socket: (await serve(t, services)).path, asked };
}

const noFlags: Omit<VolumeFlags, 'socket'> = {
  ...{ size: undefined, className: '', fsType: '', isBlock: false },
  look: () => Promise.reject(new OperationError('CommandNotFound', 'there is no lvm')),
  mounts: () => Promise.resolve(''),
};

async function run(socket: string, words: string, flags: Partial<VolumeFlags> = {}) {
  const printed: string[] = [];
  const print = (text: string) => printed.push(text);
  const environment = { ...surroundings, path: '', version: '0', print, warn: print };
  const code = await volume(environment, { ...noFlags, socket, ...flags }, words.split(' '));
  return { code, text: printed.join('\n') };
}

type Fields = Readonly<Record<string, unknown>>;
const requestOf = (asked: readonly [string, unknown][]) => asked.at(-1)?.[1] as Fields;

test('list shows volumes by name and snapshots by id', async (t) => {
  const { socket } = await driver(t);
  const { code, text } = await run(socket, 'list');
  assert.equal(code, 0);
  assert.match(text, /^db +volume +fast +1 GiB +- +id-1/m);
  assert.match(text, /^- +snapshot +- +1 GiB +id-1 +id-2 +ready/m);
});

test('list tells from the tags what CSI has no words for', async (t) => {
  const { socket } = await driver(t, {
    listVolumes: () =>
      Promise.resolve({
        nextToken: '',
        entries: [
          { volume: db },
          {
            volume: {
              ...db,
              volumeId: 'id-3',
              contentSource: { type: { $case: 'snapshot', value: { snapshotId: 'id-2' } } },
            },
            status: {
              publishedNodeIds: [],
              volumeCondition: { abnormal: false, message: 'the volume is healthy' },
            },
          },
        ],
      }),
  });
  const lvs = [
    sampleLv({ name: 'id-1', tags: ['quarry', 'quarry.name=db', 'quarry.class=fast'] }),
    sampleLv({
      name: 'id-2',
      tags: ['quarry', 'quarry.role=snapshot', 'quarry.name=nightly!20.one', 'quarry.class=fast'],
    }),
    sampleLv({ name: 'id-3', tags: ['quarry', 'quarry.pending', 'quarry.name=db'] }),
  ];
  const look = () => Promise.resolve(hostOf(sampleVg({ lvs })));
  const { text } = await run(socket, 'list', { look });
  assert.match(text, /^nightly one +snapshot +fast +1 GiB +id-1 \(db\) +id-2 +ready$/m);
  assert.match(text, /id-2 \(nightly one\) +id-3 +the volume is healthy, not yet published$/m);
  assert.match(text, / id-1 +-$/m);
});

test('create asks for the size and the class, and tells the id', async (t) => {
  const { socket, asked } = await driver(t);
  const { text } = await run(socket, 'create web', { size: '1.5Gi', className: 'fast' });
  assert.equal(text, 'created web (1 GiB, id-9)');
  const { name, capacityRange, parameters } = requestOf(asked);
  assert.equal(name, 'web');
  assert.deepEqual(capacityRange, { requiredBytes: (3n * GiB) / 2n, limitBytes: 0n });
  assert.deepEqual(parameters, new Map([[`${domain}/device-class`, 'fast']]));
});

test('a clone has the size and the class of its source unless told otherwise', async (t) => {
  const { socket, asked } = await driver(t);
  await run(socket, 'clone web db');
  const { capacityRange, parameters, volumeContentSource } = requestOf(asked);
  assert.deepEqual(capacityRange, { requiredBytes: GiB, limitBytes: 0n });
  assert.deepEqual(parameters, new Map([[`${domain}/device-class`, 'fast']]));
  assert.deepEqual(volumeContentSource, { type: { $case: 'volume', value: { volumeId: 'id-1' } } });
  await run(socket, 'clone web id-2');
  const type = { $case: 'snapshot', value: { snapshotId: 'id-2' } };
  assert.deepEqual(requestOf(asked)['volumeContentSource'], { type });
});

test('volumes are named by name or id, snapshots by id', async (t) => {
  const { socket, asked } = await driver(t);
  for (const words of ['delete db', 'delete id-1', 'delete id-2', 'delete nobody']) {
    assert.equal((await run(socket, words)).code, 0);
  }
  assert.deepEqual(
    asked.map(([name]) => name),
    ['delete', 'delete', 'delete-snapshot', 'delete'],
  );
  await run(socket, 'publish db /mnt/db', { isBlock: true });
  assert.deepEqual(requestOf(asked)['targetPath'], '/mnt/db');
});

const member = { ...snapshot, snapshotId: 'id-m', groupSnapshotId: 'id-g' };
const withMember = {
  listSnapshots: () =>
    Promise.resolve({ entries: [{ snapshot }, { snapshot: member }], nextToken: '' }),
};

test('a group snapshot is taken of volumes by name or id, and deleted by its id', async (t) => {
  const { socket, asked } = await driver(t, withMember);
  const { code, text } = await run(socket, 'group-snapshot monday db id-7');
  assert.deepEqual([code, text], [0, 'group snapshot monday of db and id-7 (id-g): id-2']);
  const { name, sourceVolumeIds } = requestOf(asked);
  assert.deepEqual([name, sourceVolumeIds], ['monday', ['id-1', 'id-7']]);
  assert.equal((await run(socket, 'delete id-g')).text, 'deleted id-g');
  assert.equal(asked.at(-1)?.[0], 'delete-group');
  assert.equal(requestOf(asked)['groupSnapshotId'], 'id-g');
});

test('list shows a group, and which snapshots are in it', async (t) => {
  const { socket } = await driver(t, withMember);
  const tags = ['quarry', 'quarry.role=snapshot', 'quarry.group=id-g', 'quarry.group-name=monday'];
  const lvs = [sampleLv({ name: 'id-m', tags })];
  const look = () => Promise.resolve(hostOf(sampleVg({ lvs })));
  const { text } = await run(socket, 'list', { look });
  assert.match(text, /^monday +group +- +- +- +id-g +1 snapshot$/m);
  assert.match(text, /^- +snapshot +- +1 GiB +id-1 +id-m +ready, in the group id-g \(monday\)$/m);
  assert.match(text, / id-2 +ready$/m);
  assert.match((await run(socket, 'list')).text, /^- +group +- +- +- +id-g +1 snapshot$/m);
});

const refusals: readonly (readonly [string, string, RegExp])[] = [
  ['a verb that is none', 'destroy db', /volume knows list, create/],
  ['a missing name', 'create', /a name is missing/],
  ['a group of nothing', 'group-snapshot g', /name the volumes/],
  ['a group of one volume twice', 'group-snapshot g db db', /"db" is named twice/],
  ['a missing size', 'create db', /--size 10Gi/],
];

for (const [title, words, message] of refusals) {
  test(`${title} is told before anything is asked`, async (t) => {
    const { socket, asked } = await driver(t);
    await assert.rejects(run(socket, words), { message });
    assert.deepEqual(asked, []);
  });
}

test('a volume that is not listed is asked for by its id', async (t) => {
  const { socket, asked } = await driver(t);
  await run(socket, 'snapshot s nobody');
  assert.equal(requestOf(asked)['sourceVolumeId'], 'nobody');
  await run(socket, 'unpublish nobody /mnt/x');
  assert.equal(requestOf(asked)['volumeId'], 'nobody');
  await assert.rejects(run(socket, 'clone web nobody'), { code: 'SourceNotFound' });
});

test('what the driver refuses is printed, and the exit code says if trying again helps', async (t) => {
  const full = () => Promise.reject(new StatusError('RESOURCE_EXHAUSTED', 'full'));
  const { socket } = await driver(t, { createVolume: full });
  const refused = await run(socket, 'create web', { size: '1Gi' });
  assert.deepEqual(refused, { code: 1, text: 'quarry: RESOURCE_EXHAUSTED: full' });
});

test('without a driver the hint says what to start', async () => {
  const { code, text } = await run('/run/quarry-nobody.sock', 'list');
  assert.equal(code, 75);
  assert.match(text, /nothing answers on \/run\/quarry-nobody\.sock\n.*quarry standalone/);
});

test('a file system that is mounted grows with its volume', async (t) => {
  const { socket, asked } = await driver(t);
  const mounts = () =>
    Promise.resolve(
      '30 1 254:3 / /mnt/db rw - ext4 /dev/mapper/data-id--1 rw\n' +
        '31 1 254:4 / /mnt/other rw - ext4 /dev/mapper/data-id--11 rw\n',
    );
  const { text } = await run(socket, 'expand db', { size: '2Gi', mounts });
  assert.deepEqual(
    asked.map(([name]) => name),
    ['expand', 'grow'],
  );
  assert.equal(requestOf(asked)['volumePath'], '/mnt/db');
  assert.match(text, /expanded db \(2 GiB\)\nits file system at \/mnt\/db has grown with it/);
});

test('what did not grow is not said to have', async (t) => {
  const still = () => Promise.resolve({ capacityBytes: GiB, nodeExpansionRequired: false });
  const { socket } = await driver(t, { controllerExpandVolume: still });
  const { text } = await run(socket, 'expand db', { size: '1Mi' });
  assert.equal(text, 'db has 1 GiB already');
});

test('only the driver says that something is gone', async (t) => {
  const away = () => Promise.reject(new StatusError('UNAVAILABLE', 'the group is away'));
  const { socket } = await driver(t, { deleteVolume: away });
  const { code, text } = await run(socket, 'delete elsewhere');
  assert.equal(code, 75);
  assert.match(text, /UNAVAILABLE: the group is away/);
});
