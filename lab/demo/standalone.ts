import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GiB, type Guest, startLab } from '../index.ts';
import type { Story } from './story.ts';

const disks = [
  { name: 'mounted', sizeBytes: GiB, model: 'SYSTEM-DISK', serial: 'SYS-0001' },
  { name: 'foreign', sizeBytes: GiB, model: 'OLD-ARCHIVE', serial: 'ARC-0002' },
  { name: 'one', sizeBytes: 2n * GiB, model: 'DATA-DISK', serial: 'DAT-0003' },
  { name: 'two', sizeBytes: 2n * GiB, model: 'DATA-DISK', serial: 'DAT-0004' },
];

/**
 * One host without Kubernetes: plan, apply, volumes through the driver's socket, a power cut in
 * which every unflushed write is lost, and everything is there again. Throws when it is not.
 */
export async function tellStandaloneStory(story: Story): Promise<void> {
  story.part('one host, without Kubernetes');
  const lab = await story.chapter('boot a node with four disks', () =>
    startLab({ guests: [{ name: 'n1', disks }] }),
  );
  try {
    await onNode(lab.guest('n1'), story);
  } catch (error) {
    throw new Error(`logs are in ${lab.logDirectory}`, { cause: error });
  } finally {
    await lab.stop();
  }
}

async function onNode(guest: Guest, story: Story): Promise<void> {
  await prepare(guest);
  console.log(await guest.sh('lsblk --nodeps -o NAME,SIZE,MODEL,SERIAL,FSTYPE,MOUNTPOINTS'));
  await story.chapter('quarry plan: what would be done, what is left alone, and why', () =>
    quarry(guest, 'plan'),
  );
  await story.chapter('quarry apply', () => quarry(guest, 'apply', '--verbose'));
  await story.chapter('quarry standalone: the CSI driver, on its socket', () => startDriver(guest));
  await story.chapter('a thin volume, with a file system', async () => {
    await quarry(guest, 'volume', 'create', 'db', '--size', '1Gi');
    await quarry(guest, 'volume', 'publish', 'db', '/mnt/db');
  });
  await story.chapter('a striped volume', () =>
    quarry(guest, 'volume', 'create', 'scratch', '--class', 'fast', '--size', '500Mi'),
  );
  await say(guest, 'echo -n monday > /mnt/db/file && sync');
  await story.chapter('a snapshot of db, and a volume of what it holds', async () => {
    const { output } = await quarry(guest, 'volume', 'snapshot', 'db-monday', 'db');
    await say(guest, 'echo -n tuesday > /mnt/db/file && sync');
    const id = /([0-9a-f-]{36})\)/.exec(output)?.[1] ?? '';
    await quarry(guest, 'volume', 'clone', 'db-restored', id);
    await quarry(guest, 'volume', 'publish', 'db-restored', '/mnt/restored');
  });
  await story.chapter('db grows while it is in use', () =>
    quarry(guest, 'volume', 'expand', 'db', '--size', '2Gi'),
  );
  await story.chapter('what cannot work is refused with a reason', () =>
    refused(guest, 'volume', 'create', 'huge', '--class', 'fast', '--size', '100Gi'),
  );
  await story.chapter('the power goes, with every write that was not flushed', async () => {
    await guest.cutPower({ loseUnflushed: true });
    await guest.start();
    await prepareMount(guest);
  });
  await story.chapter('the driver starts again and everything is there', async () => {
    await quarry(guest, 'apply', '--verbose');
    await startDriver(guest);
    await quarry(guest, 'volume', 'publish', 'db', '/mnt/db');
    await quarry(guest, 'volume', 'publish', 'db-restored', '/mnt/restored');
    await quarry(guest, 'volume', 'list');
  });
  await expectContent(guest, '/mnt/db/file', 'tuesday');
  await expectContent(guest, '/mnt/restored/file', 'monday');
  console.log('db has what was written last, db-restored what the snapshot held.');
  console.log(await guest.sh('df --human-readable /mnt/db /mnt/restored'));
  await story.chapter('quarry status', () => quarry(guest, 'status'));
  await untouched(guest);
}

/** As a service would run it; its socket appears when everything behind it works. */
async function startDriver(guest: Guest): Promise<void> {
  const file = readFileSync(join(import.meta.dirname, 'standalone-lvmd.yaml'), 'utf8');
  await guest.sh('mkdir -p /etc/topolvm && cat > /etc/topolvm/lvmd.yaml', { stdin: file });
  console.log(`$ cat /etc/topolvm/lvmd.yaml\n${file}\n$ quarry standalone &`);
  await guest.sh('/quarry/bin/quarry standalone > /var/log/quarry.log 2>&1 &');
  await guest.sh(`for i in $(seq 150); do
      test -S /run/topolvm/csi-topolvm.sock && exit 0; sleep 0.2
    done; cat /var/log/quarry.log; exit 1`);
}

async function prepare(guest: Guest): Promise<void> {
  const foreign = await guest.devicePath('foreign');
  await guest.sh(`mkfs.xfs -q ${foreign} && mkfs.ext4 -q ${await guest.devicePath('mounted')}`);
  await prepareMount(guest);
  await guest.sh('echo -n mine > /srv/mine && sync');
}

/** What a boot does on a real node: its system disk is mounted. */
async function prepareMount(guest: Guest): Promise<void> {
  const mounted = await guest.devicePath('mounted');
  await guest.sh(`mkdir -p /srv && mount ${mounted} /srv`);
  const template = readFileSync(join(import.meta.dirname, 'standalone-node.yaml'), 'utf8');
  const file = template
    .replace('EMPTY_ONE', await guest.devicePath('one'))
    .replace('EMPTY_TWO', await guest.devicePath('two'))
    .replace('MOUNTED', mounted)
    .replace('FOREIGN', await guest.devicePath('foreign'));
  await guest.sh('mkdir -p /etc/quarry && cat > /etc/quarry/node.yaml', { stdin: file });
}

async function quarry(guest: Guest, ...args: readonly string[]) {
  const { exitCode, output } = await run(guest, args);
  if (exitCode !== 0) throw new Error(`quarry ${args.join(' ')} ended with ${exitCode}\n${output}`);
  return { output };
}

async function refused(guest: Guest, ...args: readonly string[]): Promise<void> {
  const { exitCode } = await run(guest, args);
  if (exitCode === 0) throw new Error(`quarry ${args.join(' ')} should have been refused`);
}

async function run(guest: Guest, args: readonly string[]) {
  console.log(`$ quarry ${args.join(' ')}`);
  const result = await guest.run(['/quarry/bin/quarry', ...args], { timeoutMs: 120_000 });
  const output = `${result.stderr}${result.stdout}`.trimEnd();
  console.log(output);
  return { exitCode: result.exitCode, output };
}

/** A command of somebody who uses the volumes. */
async function say(guest: Guest, command: string): Promise<void> {
  console.log(`$ ${command}`);
  await guest.sh(command);
}

async function expectContent(guest: Guest, path: string, wanted: string): Promise<void> {
  const found = await guest.sh(`cat ${path}`);
  console.log(`${path} holds "${found}"`);
  if (found !== wanted) throw new Error(`${path} holds "${found}", not "${wanted}"`);
}

async function untouched(guest: Guest): Promise<void> {
  const foreign = await guest.devicePath('foreign');
  await expectContent(guest, '/srv/mine', 'mine');
  await guest.sh(`test "$(blkid -p -s TYPE -o value ${foreign})" = xfs`);
  console.log('The mounted disk and the foreign file system are as they were.');
}
