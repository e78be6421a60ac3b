import assert from 'node:assert/strict';
import test from 'node:test';
import * as csi from './generated/csi.ts';
import * as health from './generated/health.ts';
import * as lvmd from './generated/lvmd.ts';
import * as registration from './generated/registration.ts';

/**
 * Bytes that were computed by hand from field numbers and types: a wrong number in the schema
 * would agree with itself, but not with these.
 */
type Row = {
  readonly name: string;
  readonly hex: readonly string[];
  readonly decode: (bytes: Uint8Array) => unknown;
  readonly encode: (message: never) => { finish(): Uint8Array };
  readonly message: object;
};

const rows: readonly Row[] = [
  {
    name: 'Controller: a volume with maps, a choice and 2^53 + 1 bytes',
    hex: [
      '0a05 7076632d31', // 1 name "pvc-1"
      '1209 08 8180808080808010', // 2 capacity_range { 1 required_bytes }
      '1a0c 1206 0a04 65787434 1a02 0801', // 3 { 2 mount { 1 "ext4" } 3 access_mode { 1 } }
      '2206 0a0161 120162', // 4 parameters { a: b }
      '2a06 0a016b 120176', // 5 secrets { k: v }
      '3206 0a04 0a02 7331', // 6 volume_content_source { 1 snapshot { 1 "s1" } }
      '3a0a 0a08 0a06 0a017a 12016e', // 7 { 1 requisite { 1 segments { z: n } } }
      '4206 0a016d 120131', // 8 mutable_parameters { m: 1 }
    ],
    ...csi.CreateVolumeRequest,
    message: csi.CreateVolumeRequest.fromPartial({
      name: 'pvc-1',
      capacityRange: { requiredBytes: 9_007_199_254_740_993n },
      volumeCapabilities: [
        {
          accessType: { $case: 'mount', value: { fsType: 'ext4' } },
          accessMode: { mode: 'SINGLE_NODE_WRITER' },
        },
      ],
      parameters: new Map([['a', 'b']]),
      secrets: new Map([['k', 'v']]),
      volumeContentSource: { type: { $case: 'snapshot', value: { snapshotId: 's1' } } },
      accessibilityRequirements: { requisite: [{ segments: new Map([['z', 'n']]) }] },
      mutableParameters: new Map([['m', '1']]),
    }),
  },
  {
    name: 'Controller: a block volume cloned from a volume',
    hex: ['1a02 0a00', '3206 1204 0a02 7631'],
    ...csi.CreateVolumeRequest,
    message: csi.CreateVolumeRequest.fromPartial({
      volumeCapabilities: [{ accessType: { $case: 'block', value: {} } }],
      volumeContentSource: { type: { $case: 'volume', value: { volumeId: 'v1' } } },
    }),
  },
  {
    name: 'Controller: a capacity with a known largest size of zero, and no smallest one',
    hex: ['08ac02', '1200'],
    ...csi.GetCapacityResponse,
    message: csi.GetCapacityResponse.fromPartial({
      availableCapacity: 300n,
      maximumVolumeSize: 0n,
    }),
  },
  {
    name: 'Controller: a limit of -1 takes ten bytes',
    hex: ['10 ffffffffffffffffff01'],
    ...csi.CapacityRange,
    message: csi.CapacityRange.fromPartial({ limitBytes: -1n }),
  },
  {
    name: 'Controller: what it can do',
    hex: ['0a04 0a02 0801', '0a04 0a02 080f'],
    ...csi.ControllerGetCapabilitiesResponse,
    message: csi.ControllerGetCapabilitiesResponse.fromPartial({
      capabilities: [
        { type: { $case: 'rpc', value: { type: 'CREATE_DELETE_VOLUME' } } },
        { type: { $case: 'rpc', value: { type: 'GET_SNAPSHOT' } } },
      ],
    }),
  },
  {
    name: 'Identity: ready',
    hex: ['0a02 0801'],
    ...csi.ProbeResponse,
    message: csi.ProbeResponse.fromPartial({ ready: true }),
  },
  {
    name: 'Identity: not ready is another thing than no word',
    hex: ['0a00'],
    ...csi.ProbeResponse,
    message: csi.ProbeResponse.fromPartial({ ready: false }),
  },
  {
    name: 'Identity: plugin capabilities',
    hex: ['0a04 0a02 0802', '0a04 1202 0801'],
    ...csi.GetPluginCapabilitiesResponse,
    message: csi.GetPluginCapabilitiesResponse.fromPartial({
      capabilities: [
        { type: { $case: 'service', value: { type: 'VOLUME_ACCESSIBILITY_CONSTRAINTS' } } },
        { type: { $case: 'volumeExpansion', value: { type: 'ONLINE' } } },
      ],
    }),
  },
  {
    name: 'Node: usage and condition',
    hex: [
      '0a11 08 808080808080808040 10ac02 1801 2001', // 1 { 2^62, 300, 1, BYTES }
      '0a04 0805 2002', // 1 { 5, INODES }
      '1205 0801 120178', // 2 { abnormal, "x" }
    ],
    ...csi.NodeGetVolumeStatsResponse,
    message: csi.NodeGetVolumeStatsResponse.fromPartial({
      usage: [
        { available: 4_611_686_018_427_387_904n, total: 300n, used: 1n, unit: 'BYTES' },
        { available: 5n, unit: 'INODES' },
      ],
      volumeCondition: { abnormal: true, message: 'x' },
    }),
  },
  {
    name: 'Node: publish, with the fields that only it has',
    hex: ['0a0176', '1a0173', '220174', '3001', '4206 0a0161 120162'],
    ...csi.NodePublishVolumeRequest,
    message: csi.NodePublishVolumeRequest.fromPartial({
      volumeId: 'v',
      stagingTargetPath: 's',
      targetPath: 't',
      readonly: true,
      volumeContext: new Map([['a', 'b']]),
    }),
  },
  {
    name: 'GroupController: a group snapshot',
    hex: [
      '0a1e 0a0167', // 1 { 1 "g"
      '1213 0801 120173 1a0176 2204 0801 1002 2801 320167', // 2 snapshot
      '1a02 0801 2001', // 3 creation_time 4 ready_to_use }
    ],
    ...csi.CreateVolumeGroupSnapshotResponse,
    message: csi.CreateVolumeGroupSnapshotResponse.fromPartial({
      groupSnapshot: {
        groupSnapshotId: 'g',
        snapshots: [
          {
            sizeBytes: 1n,
            snapshotId: 's',
            sourceVolumeId: 'v',
            creationTime: { seconds: 1n, nanos: 2 },
            readyToUse: true,
            groupSnapshotId: 'g',
          },
        ],
        creationTime: { seconds: 1n },
        readyToUse: true,
      },
    }),
  },
  {
    name: 'lvmd: create a volume',
    hex: ['0a02 6c76', '1a0161', '1a0162', '2203 737364', '2a016f', '30 8080808004'],
    ...lvmd.CreateLVRequest,
    message: lvmd.CreateLVRequest.fromPartial({
      name: 'lv',
      tags: ['a', 'b'],
      deviceClass: 'ssd',
      lvcreateOptionClass: 'o',
      sizeBytes: 1_073_741_824n,
    }),
  },
  {
    name: 'lvmd: a volume',
    hex: ['0a13 0a0176 18fd01 2003 2a0174 3001 3a0170 420161'],
    ...lvmd.CreateLVResponse,
    message: lvmd.CreateLVResponse.fromPartial({
      volume: {
        name: 'v',
        devMajor: 253,
        devMinor: 3,
        tags: ['t'],
        sizeBytes: 1n,
        path: 'p',
        attr: 'a',
      },
    }),
  },
  {
    name: 'lvmd: free room, as much as 64 bits can tell',
    hex: [
      '08 ffffffffffffffffff01',
      '121f 0801 120164 1802 2216', // 2 { 1, "d", 2, thin_pool
      '09 000000000000f83f 11 000000000000d03f 1803 2004', // { 1.5, 0.25, 3, 4 } }
    ],
    ...lvmd.WatchResponse,
    message: lvmd.WatchResponse.fromPartial({
      freeBytes: 18_446_744_073_709_551_615n,
      items: [
        {
          freeBytes: 1n,
          deviceClass: 'd',
          sizeBytes: 2n,
          thinPool: {
            dataPercent: 1.5,
            metadataPercent: 0.25,
            overprovisionBytes: 3n,
            sizeBytes: 4n,
          },
        },
      ],
    }),
  },
  {
    name: 'health: not serving',
    hex: ['0802'],
    ...health.HealthCheckResponse,
    message: health.HealthCheckResponse.fromPartial({ status: 'NOT_SERVING' }),
  },
  {
    name: 'registration: who we are',
    hex: ['0a0143', '12016e', '1a0165', '220131', '220132'],
    ...registration.PluginInfo,
    message: registration.PluginInfo.fromPartial({
      type: 'C',
      name: 'n',
      endpoint: 'e',
      supportedVersions: ['1', '2'],
    }),
  },
];

for (const { name, hex, decode, encode, message } of rows) {
  test(`${name}: the bytes are as the protocol has them`, () => {
    const bytes = bytesOf(...hex);
    assert.deepEqual(decode(bytes), message);
    assert.equal(Buffer.from(encode(message as never).finish()).toString('hex'), hexOf(bytes));
  });
}

test('fields of a later version are passed over', () => {
  const bytes = bytesOf('0a0176', 'fa07 03 616263', '80 7d 05');
  assert.deepEqual(csi.ControllerGetVolumeRequest.decode(bytes), { volumeId: 'v' });
});

test('a word of a later version is told from the words we know', () => {
  assert.equal(csi.VolumeCapability_AccessMode.decode(bytesOf('0863')).mode, 'UNRECOGNIZED');
});

test('a parameter is there only if it was sent, whatever it is called', () => {
  const entry = '0a09 5f5f70726f746f5f5f 120178'; // "__proto__": "x"
  const { parameters } = csi.CreateVolumeRequest.decode(bytesOf('220e', entry));
  assert.deepEqual([...parameters], [['__proto__', 'x']]);
  assert.equal(parameters.get('constructor'), undefined);
});

test('a message that is cut off is an error', () => {
  assert.throws(() => csi.CreateVolumeRequest.decode(bytesOf('0a05 7076')));
});

function bytesOf(...hex: readonly string[]): Buffer {
  return Buffer.from(hex.join('').replaceAll(' ', ''), 'hex');
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
