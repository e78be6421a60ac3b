/**
 * Runs inside the lab's network and carries connections from a socket in the file system, which
 * has no network namespace, to any address in there. It speaks HTTP CONNECT and nothing else.
 */
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';

const connectTimeoutMs = 10_000;
const [socketPath] = process.argv.slice(2);
if (socketPath === undefined) throw new Error('usage: gateway-program.ts SOCKET');

const server = createServer((_request, response) => response.writeHead(405).end());
server.on('connect', (request, client: Duplex, head: Buffer) => {
  const { hostname, port } = new URL(`tcp://${request.url}`);
  let connected = false;
  const target = connect(Number(port), hostname, () => {
    connected = true;
    target.setTimeout(0);
    client.write('HTTP/1.1 200 OK\r\n\r\n');
    target.write(head);
    target.pipe(client).pipe(target);
  });
  // Nobody reads from the caller before the connection stands, so that it left is not noticed.
  target.setTimeout(connectTimeoutMs, () => target.destroy(new Error('no answer')));
  target.on('error', (error) => {
    // Once the connection stands, an answer of ours would be taken for data.
    if (connected) client.destroy();
    else refuse(client, error);
  });
  client.on('error', () => target.destroy());
  client.on('close', () => target.destroy());
});

/** A caller's socket that nobody reads never ends by itself. */
function refuse(client: Duplex, { message }: Error): void {
  const text = message.replaceAll(/[^ -~]/g, ' ');
  client.end(`HTTP/1.1 502 ${text}\r\n\r\n`, () => client.destroy());
}

server.listen(socketPath, () => process.stdout.write('ready\n'));
