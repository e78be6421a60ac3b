import { Registration } from '../../src/agent/kubelet.ts';

/**
 * Runs in a guest in place of the stock registrar: node registrar.ts DRIVER SOCKET. It answers
 * kubelet once and is in no figure.
 */
const [driver = '', endpoint = ''] = process.argv.slice(2);
const registration = new Registration({
  ...{ kubeletRoot: '/var/lib/kubelet', driver, endpoint },
  ...{ log: (event) => console.log(JSON.stringify(event)), logCall: () => undefined },
  refused: (error) => {
    throw error;
  },
});
await registration.start();
const stay = setInterval(() => undefined, 60_000);
process.once('SIGTERM', () => {
  clearInterval(stay);
  void registration.stop();
});
