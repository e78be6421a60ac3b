/**
 * The process that holds the disks of a lab. It has a process of its own because it lives in the
 * lab's network namespace, and because a busy disk must not slow the test down.
 * usage: server.ts NBD-SOCKET ISCSI-ADDRESS ISCSI-PORT; orders come as lines on standard input.
 */
import { createServer, type Socket } from 'node:net';
import {
  type DiskAnswerLine,
  type DiskOrder,
  type DiskOrderLine,
  exportName,
  targetName,
} from './control.ts';
import { Disk } from './disk.ts';
import { IscsiSession, type Target } from './iscsi.ts';
import { NbdSession } from './nbd.ts';
import { DiskStore } from './store.ts';

type Client = {
  readonly name: string;
  readonly units: Map<number, Disk>;
  readonly sockets: Set<Socket>;
};

const disks = new Map<string, Disk>();
const clients = new Map<string, Client>();

function diskOf(name: string): Disk {
  const disk = disks.get(name);
  if (disk === undefined) throw new Error(`there is no disk ${name}`);
  return disk;
}

function clientOf(name: string): Client {
  const known = clients.get(name);
  if (known !== undefined) return known;
  const client: Client = { name, units: new Map(), sockets: new Set() };
  clients.set(name, client);
  return client;
}

function carryOut(order: DiskOrder): void {
  switch (order.op) {
    case 'create':
      disks.set(order.disk, new Disk(new DiskStore(order), order.identity));
      break;
    case 'plug':
      clientOf(order.client).units.set(order.unit, diskOf(order.disk));
      break;
    case 'unplug': {
      const { units } = clientOf(order.client);
      const disk = diskOf(order.disk);
      for (const [unit, plugged] of units) if (plugged === disk) units.delete(unit);
      break;
    }
    case 'drop-client':
      for (const socket of clientOf(order.client).sockets) socket.destroy();
      break;
    case 'fault':
      diskOf(order.disk).setFault(order.fault);
      break;
    case 'save':
      diskOf(order.disk).store.save(order.path);
      break;
    case 'lose-power':
      diskOf(order.disk).store.losePower(order.loss);
      break;
  }
}

function remember(client: Client, socket: Socket): void {
  client.sockets.add(socket);
  socket.once('close', () => client.sockets.delete(socket));
}

function findTarget(name: string, socket: Socket): Target | undefined {
  for (const client of clients.values()) {
    if (targetName(client.name) !== name) continue;
    remember(client, socket);
    return client;
  }
  return undefined;
}

function findExport(name: string, socket: Socket): Disk | undefined {
  for (const client of clients.values()) {
    for (const [diskName, disk] of disks) {
      const plugged = [...client.units.values()].includes(disk);
      if (!plugged || exportName(client.name, diskName) !== name) continue;
      remember(client, socket);
      return disk;
    }
  }
  return undefined;
}

function answerLine(line: string): void {
  const { id, order } = JSON.parse(line) as DiskOrderLine;
  let answer: DiskAnswerLine = { id };
  try {
    carryOut(order);
  } catch (error) {
    answer = { id, error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}

let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk: string) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop() ?? '';
  for (const line of lines) answerLine(line);
});
process.stdin.on('end', () => process.exit(0));

const [nbdSocket, address, port] = process.argv.slice(2);
createServer((socket) => {
  new NbdSession(socket, (name) => findExport(name, socket)).open();
}).listen(nbdSocket);
createServer((socket) => {
  new IscsiSession(socket, (name) => findTarget(name, socket)).open();
}).listen(Number(port), address);
