import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { startCluster } from '../../lab/cluster/index.ts';
import { GiB } from '../../lab/index.ts';
import { buildInstallation, byName } from '../../test/e2e/image.ts';
import { AuditLog } from './audit.ts';
import { className } from './burst.ts';
import { openDoor } from './door.ts';
import type { SideFigures } from './figures.ts';
import { measureLvmCluster } from './lvm-cluster.ts';
import { buildLvms, lvmsSide } from './lvms.ts';
import { type Bench, measure, type Options } from './measure.ts';
import { quarrySide } from './quarry.ts';
import { Seen } from './seen.ts';
import { driver } from './side.ts';
import { showKube, showLvmCluster } from './tables.ts';
import { buildTopolvm, topolvmSide } from './topolvm.ts';

/**
 * Claims and pods on a real Kubernetes with two nodes of the lab: Quarry, then TopoLVM, then LVMS.
 *
 *   node bench/kube/main.ts [--claims 1x5,20,100] [--idle 60] [--sides quarry,topolvm,lvms]
 *   node bench/kube/main.ts --sides lvm-cluster [--quiet 600]
 */
const { values } = parseArgs({
  options: {
    claims: { type: 'string', default: '1x5,20,100' },
    idle: { type: 'string', default: '60' },
    sides: { type: 'string', default: 'quarry,lvm-cluster,topolvm,lvms' },
    quiet: { type: 'string', default: '600' },
  },
});

/** LVMS makes its volume group itself. */
const groups = { a: 'quarry', b: 'topolvm', c: undefined, d: undefined } as const;
const asked = values.sides.split(',');
const storageClass = {
  ...{ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: className } },
  ...{ provisioner: driver, volumeBindingMode: 'WaitForFirstConsumer' },
  parameters: { 'csi.storage.k8s.io/fstype': 'ext4', 'topolvm.io/device-class': 'thick' },
};

const startedAtMs = performance.now();
const tell = (line: string) => {
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(0).padStart(4);
  process.stderr.write(`${seconds} s  ${line}\n`);
};

const figures = await run(optionsOf(values.claims, values.idle));
if (figures.length > 0) console.log(showKube(figures));

function optionsOf(claims: string, idle: string): Options {
  const bursts = claims.split(',').map((text) => {
    const [, count, rounds = '1'] = /^([1-9]\d*)(?:x([1-9]\d*))?$/.exec(text) ?? [];
    if (count !== undefined) return { claims: Number(count), rounds: Number(rounds) };
    throw new Error(`--claims wants numbers such as 1x5,20,100, not ${claims}`);
  });
  return { bursts, idleSeconds: Number(idle) };
}

async function run(options: Options): Promise<readonly SideFigures[]> {
  const peers = asked.includes('topolvm') ? await buildTopolvm(tell) : [];
  const lvms = asked.includes('lvms') ? await buildLvms(tell) : undefined;
  const { archive, manifests } = await buildInstallation();
  const audit = await AuditLog.create();
  const disks = Object.keys(groups).map((name) => ({ name, sizeBytes: 8n * GiB }));
  const nodes = ['n1', 'n2'].map((name) => ({ name, disks }));
  tell('starting the cluster');
  const flags = { 'kube-apiserver': audit.flags };
  const cluster = await startCluster({ nodes, images: [archive], flags });
  const door = await openDoor(cluster);
  const seen = new Seen(door.client);
  try {
    for (const node of cluster.nodes) {
      for (const [disk, group] of Object.entries(groups)) {
        if (group === undefined) continue;
        await node.sh(`lvm vgcreate --yes ${group} ${await node.devicePath(disk)}`);
      }
    }
    const { crds, lvmsCrds, namespace, driver: csiDriver } = manifests;
    await cluster.apply(byName([...crds, ...lvmsCrds, ...namespace, ...csiDriver]));
    await cluster.apply([storageClass]);
    await seen.start();
    const bench: Bench = { cluster, client: door.client, seen, audit, options, tell };
    const found: SideFigures[] = [];
    const ours = quarrySide(cluster, manifests);
    const sides = [
      ...[ours, topolvmSide(cluster)],
      ...(lvms === undefined ? [] : [lvmsSide(cluster, lvms, { disk: 'c' })]),
    ];
    for (const side of sides) {
      if (!asked.includes(side.name)) continue;
      // What one side has shown is worth telling when another fails.
      try {
        found.push(await measure(side, bench));
        tell(`${side.name} is done:\n\n${showKube(found)}\n`);
      } catch (error) {
        console.error(error);
        process.exitCode = 1;
      }
    }
    if (asked.includes('lvm-cluster')) {
      const around = { cluster, manifests, audit, side: ours, tell } as const;
      const idleSeconds = Number(values.quiet);
      console.log(showLvmCluster(await measureLvmCluster({ ...around, disk: 'd', idleSeconds })));
    }
    for (const line of peers) tell(line);
    if (lvms !== undefined) tell(`lvms ${lvms.version}`);
    for (const [what, version] of Object.entries(await cluster.versions())) {
      tell(`${what} ${version}`);
    }
    return found;
  } finally {
    seen.stop();
    door.close();
    await cluster.stop();
    await audit.remove();
    await rm(dirname(archive), { recursive: true });
  }
}
