import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { show } from '../../src/base/show.ts';
import { type Result, SocketClient } from '../../src/csi/client.ts';
import { LVServiceDefinition, VGServiceDefinition } from '../../src/csi/generated/lvmd.ts';
import type { LvmdFacts } from './lvmd.test.ts';

/** In a guest: `quarry standalone` with real LVM, called as TopoLVM's node service calls lvmd. */
const devices = process.argv.slice(2);
const main = join(import.meta.dirname, '../../src/main.ts');
const file = '/etc/topolvm/lvmd.yaml';
const socket = '/run/topolvm/lvmd.sock';
const args = [main, 'standalone', '--config', file, '--metrics-address', '127.0.0.1:8080'];
const patience = { timeoutMs: 60_000 };
const mib = (count: number) => BigInt(count) * 1024n * 1024n;

lvm('vgcreate', '--yes', 'vg', ...devices);
lvm('lvcreate', '--yes', '--type', 'thin-pool', '--size', '512m', '--name', 'pool', 'vg');
mkdirSync('/etc/topolvm', { recursive: true });

const facts: LvmdFacts = {
  refusedStart: refusedStart(),
  classes: {},
  adopted: '',
  free: [],
  afterKill: [],
  badEdit: [],
};
let client = new SocketClient(socket);
write(good());
let driver = await start();
for (const deviceClass of ['thick', 'mirror', 'thin']) {
  facts.classes[deviceClass] = await through(deviceClass);
}
facts.adopted = await adopted();
facts.free = await free();
facts.afterKill = await killed();
facts.badEdit = await badEdit();
driver.kill('SIGTERM');
client.close();
console.log(show(facts));

/** With a group that does not exist and nothing in use: an exit code and one readable block. */
function refusedStart(): LvmdFacts['refusedStart'] {
  write(
    'device-classes:\n- {name: a, volume-group: nowhere}\n- {name: b, volume-group: vg, spare-gb: x}\n',
  );
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { exitCode: status, stderr };
}

/** One class through its whole life; each answer is compared with what lvs says. */
async function through(deviceClass: string): Promise<readonly string[]> {
  const named = (name: string) => ({ name: `${deviceClass}-${name}`, deviceClass });
  const told: string[] = [];
  const made = await lv('createLV', { ...named('a'), sizeBytes: mib(20), tags: ['theirs'] });
  told.push(made.kind === 'response' ? shown(made.response.volume) : failed(made));
  told.push(lvs(`${deviceClass}-a`));
  const again = await lv('createLV', { ...named('a'), sizeBytes: mib(20), tags: ['theirs'] });
  told.push(again.kind);
  const grown = await lv('resizeLV', { ...named('a'), sizeBytes: mib(30) });
  told.push(grown.kind === 'response' ? String(grown.response.sizeBytes / mib(1)) : failed(grown));
  const from = { sourceVolume: `${deviceClass}-a`, sizeBytes: 0n };
  // A copy of a mirror is a copy like any other.
  const accessTypes = deviceClass === 'mirror' ? ['ro'] : ['ro', 'rw'];
  for (const accessType of accessTypes) {
    const snapshot = await lv('createLVSnapshot', { ...named(accessType), ...from, accessType });
    told.push(snapshot.kind === 'response' ? accessType : failed(snapshot));
  }
  const home = { deviceClass: deviceClass === 'thin' ? 'thin' : 'thick' };
  const list = await client.call(VGServiceDefinition, 'getLVList', home, patience);
  const names = list.kind === 'response' ? list.response.volumes.map(({ name }) => name) : [];
  told.push(
    names
      .filter((name) => name.startsWith(deviceClass))
      .toSorted()
      .join(' '),
  );
  for (const name of [...accessTypes, 'a', 'a']) {
    told.push((await lv('removeLV', named(name))).kind);
  }
  return told;
}

/** A volume that TopoLVM's own lvmd made has no tag. */
async function adopted(): Promise<string> {
  lvm('lvcreate', '--yes', '--size', '20m', '--name', 'theirs', 'vg');
  const named = { name: 'theirs', deviceClass: 'thick' };
  const grown = await lv('resizeLV', { ...named, sizeBytes: mib(40) });
  const gone = await lv('removeLV', named);
  return `${grown.kind} ${gone.kind} ${lvs('theirs')}`;
}

async function free(): Promise<readonly string[]> {
  const stream = client.stream(VGServiceDefinition, 'watch', {}, patience);
  const { value } = await stream.next();
  await stream.return(undefined);
  const ask = { deviceClass: 'thick' };
  const answer = await client.call(VGServiceDefinition, 'getFreeBytes', ask, patience);
  const watched = value?.kind === 'response' ? value.response.items[0]?.freeBytes : undefined;
  return [
    String(watched),
    String(answer.kind === 'response' ? answer.response.freeBytes : answer.message),
    report('vgs', 'vg_free', 'vg'),
  ];
}

/** Killed while it makes a volume, and asked again by the next life. */
async function killed(): Promise<readonly string[]> {
  const wanted = { name: 'cut', deviceClass: 'thick', sizeBytes: mib(60) };
  const first = lv('createLV', wanted);
  await sleep(60);
  driver.kill('SIGKILL');
  const left = (await first).kind;
  driver = await start();
  const again = await lv('createLV', wanted);
  return [left, again.kind, lvs('cut')];
}

/** A bad edit harms nothing, and neither does a start with it. */
async function badEdit(): Promise<readonly string[]> {
  const wanted = { deviceClass: 'thin', sizeBytes: mib(20) };
  write('device-classes: [');
  const told: string[] = [];
  for (let tries = 0; tries < 100; tries += 1) {
    if (/^quarry_configuration_good 0$/m.test(await metrics())) break;
    await sleep(50);
  }
  told.push(/^quarry_configuration_good .*$/m.exec(await metrics())?.[0] ?? '');
  told.push((await lv('createLV', { name: 'b1', ...wanted })).kind);
  driver.kill('SIGTERM');
  driver = await start();
  told.push((await lv('createLV', { name: 'b2', ...wanted })).kind);
  write(good());
  for (let tries = 0; tries < 100; tries += 1) {
    if (/^quarry_configuration_good 1$/m.test(await metrics())) break;
    await sleep(50);
  }
  told.push(/^quarry_configuration_good .*$/m.exec(await metrics())?.[0] ?? '');
  return told;
}

function good(): string {
  const pool = 'thin-pool: {name: pool, overprovision-ratio: 5}';
  return [
    `socket-name: ${socket}`,
    'device-classes:',
    '- {name: thick, volume-group: vg, spare-gb: 0, default: true}',
    `- {name: thin, volume-group: vg, type: thin, ${pool}}`,
    // Two thick classes of one group are refused, so the mirror is an option class of the other.
    'lvcreate-option-classes:',
    '- {name: mirror, options: [--type=raid1, --mirrors=1]}',
    '',
  ].join('\n');
}

type Methods = typeof LVServiceDefinition.methods;
type Asked<K extends keyof Methods> = Parameters<Methods[K]['requestType']['fromPartial']>[0];

function lv<K extends keyof Methods>(
  method: K,
  request: Asked<K>,
): Promise<Result<ReturnType<Methods[K]['responseType']['decode']>>> {
  const { deviceClass } = request as { readonly deviceClass?: string };
  const isMirror = deviceClass === 'mirror';
  const chosen = isMirror ? { deviceClass: 'thick', lvcreateOptionClass: 'mirror' } : {};
  const asked = { ...request, ...chosen };
  return client.call(LVServiceDefinition, method, asked, patience);
}

function shown(volume: object | undefined): string {
  const { attr, devMajor, devMinor, path, tags, sizeBytes } = volume as {
    readonly attr: string;
    readonly devMajor: number;
    readonly devMinor: number;
    readonly path: string;
    readonly tags: readonly string[];
    readonly sizeBytes: bigint;
  };
  return [withoutOpen(attr), devMajor, devMinor, path, sizeBytes, tags.toSorted().join(',')].join(
    ' ',
  );
}

function lvs(name: string): string {
  const fields = 'lv_attr,lv_kernel_major,lv_kernel_minor,lv_path,lv_size,lv_tags';
  const [attr = '', ...rest] = report('lvs', fields, `vg/${name}`).split(' ');
  return [withoutOpen(attr), ...rest].join(' ');
}

/** udev opens a new device for a moment. */
function withoutOpen(attr: string): string {
  return attr.replace(/^(.{5})o/, '$1-');
}

function report(command: string, fields: string, what: string): string {
  const words = [command, '--noheadings', '--nosuffix', '--units', 'b', '--options', fields, what];
  const { stdout, status } = spawnSync('lvm', words, { encoding: 'utf8' });
  return status === 0 ? stdout.trim().replaceAll(/\s+/g, ' ') : 'gone';
}

function failed(result: object): string {
  return show(result);
}

function write(content: string): void {
  writeFileSync(`${file}.tmp`, content);
  renameSync(`${file}.tmp`, file);
}

async function start(): Promise<ChildProcess> {
  rmSync(socket, { force: true });
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  client.close();
  for (let tries = 0; tries < 300; tries += 1) {
    client = new SocketClient(socket);
    const ask = { deviceClass: 'thick' };
    const { kind } = await client.call(VGServiceDefinition, 'getFreeBytes', ask, patience);
    if (kind === 'response') return child;
    client.close();
    await sleep(100);
  }
  throw new Error('the driver did not start');
}

function metrics(): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port: 8080, path: '/metrics', agent: false }, (response) => {
      text(response).then(resolve, reject);
    }).on('error', reject);
  });
}

function lvm(...words: readonly string[]): void {
  execFileSync('lvm', words, { stdio: ['ignore', 'ignore', 'inherit'] });
}
