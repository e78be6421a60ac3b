import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import {
  IdentityDefinition,
  NodeDefinition,
  type NodePublishVolumeRequest,
  PluginCapability_Service_Type as Offer,
  NodeServiceCapability_RPC_Type as Rpc,
} from '../../src/csi/generated/csi.ts';
import { registrationService } from '../../src/csi/registration.ts';
import { startServer } from '../../src/csi/server.ts';
import { service, unimplemented } from '../../src/csi/service.ts';

/**
 * In a guest: the stand-in of TopoLVM's node service, as far as kubelet sees it. It mounts, formats
 * and names as that one does, and knows no object: volumes are LVs that bear their id.
 *
 *   node topolvm-node.ts DOMAIN NODE
 */
const [domain = '', node = ''] = process.argv.slice(2);
const kubelet = '/var/lib/kubelet';
const socket = `${kubelet}/plugins/${domain}/node/csi-topolvm.sock`;

const identity = service(IdentityDefinition, {
  getPluginInfo: () =>
    Promise.resolve({ name: domain, vendorVersion: '0.41.0', manifest: new Map() }),
  getPluginCapabilities: () =>
    Promise.resolve({
      capabilities: [Offer.CONTROLLER_SERVICE, Offer.VOLUME_ACCESSIBILITY_CONSTRAINTS].map(
        (type) => ({ type: { $case: 'service' as const, value: { type } } }),
      ),
    }),
  probe: () => Promise.resolve({ ready: true }),
});

const nodeSide = service(NodeDefinition, {
  nodeGetCapabilities: () =>
    Promise.resolve({
      capabilities: [{ type: { $case: 'rpc', value: { type: Rpc.EXPAND_VOLUME } } }],
    }),
  nodeGetInfo: () =>
    Promise.resolve({
      nodeId: node,
      maxVolumesPerNode: 0n,
      accessibleTopology: { segments: new Map([[`topology.${domain}/node`, node]]) },
    }),
  nodePublishVolume: (request) => {
    publish(request);
    return Promise.resolve({});
  },
  nodeUnpublishVolume: ({ volumeId, targetPath }) => {
    if (existsSync(targetPath)) run('umount', targetPath);
    rmSync(targetPath, { recursive: true, force: true });
    rmSync(oldDevice(volumeId), { force: true });
    return Promise.resolve({});
  },
  nodeExpandVolume: ({ volumePath }) => {
    run('resize2fs', run('findmnt', '--noheadings', '--output=SOURCE', volumePath).trim());
    return Promise.resolve({ capacityBytes: 0n });
  },
  nodeGetVolumeStats: unimplemented,
  nodeStageVolume: unimplemented,
  nodeUnstageVolume: unimplemented,
});

mkdirSync(`${kubelet}/plugins/${domain}/node`, { recursive: true });
const csi = await startServer({ path: socket, services: [identity, nodeSide], log: tell });
const told = (error: string): void => tell({ registered: error === '' ? 'yes' : error });
const registration = await startServer({
  path: `${kubelet}/plugins_registry/${domain}-reg.sock`,
  services: [registrationService({ driver: domain, endpoint: socket, told })],
  log: tell,
});
process.once('SIGTERM', () => {
  void registration.stop().then(() => csi.stop());
});

function publish({ volumeId, targetPath, volumeCapability }: NodePublishVolumeRequest): void {
  const device = deviceOf(volumeId);
  const access = volumeCapability?.accessType;
  if (access?.$case === 'block') {
    writeFileSync(targetPath, '');
    chmodSync(targetPath, 0o755);
    run('mount', '--bind', device, targetPath);
    return;
  }
  const type = access?.value.fsType || 'ext4';
  mkdirSync(targetPath, { recursive: true, mode: 0o755 });
  if (spawnSync('blkid', [device]).status !== 0) {
    run('wipefs', '-a', device);
    run(`mkfs.${type}`, '-F', '-m0', device);
  }
  run('mount', '-t', type, '-o', 'defaults', device, targetPath);
  chmodSync(targetPath, 0o2777);
}

/** Versions before 0.33 made a device node of their own; where it is there, it is used. */
function deviceOf(id: string): string {
  if (existsSync(oldDevice(id))) return oldDevice(id);
  const path = run('lvm', 'lvs', '--noheadings', '--options=lv_path', `--select=lv_name=${id}`);
  return path.trim();
}

function oldDevice(id: string): string {
  return `/dev/topolvm/${id}`;
}

function run(program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

function tell(event: object): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}
