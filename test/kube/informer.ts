import { realClock } from '../../src/host/clock.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { fromKubeconfig } from '../../src/kube/from-kubeconfig.ts';
import { readKubeconfig } from '../../src/kube/kubeconfig.ts';
import { Reflector } from '../../src/kube/reflector.ts';
import { HttpTransport } from '../../src/kube/transport.ts';
import { sampleKind } from './kinds.ts';

/** A process that only keeps a store, to see what that takes: `memory.ts` bundles and starts it. */
const [text = ''] = process.argv.slice(2);
const context = readKubeconfig([{ path: '', text }]);
const { endpoint, credentials } = fromKubeconfig(context, { clock: realClock, wall: Date.now });
const transport = new HttpTransport(endpoint, credentials);
const client = new KubeClient({ transport, clock: realClock, chance: Math.random });
let changes = 0;
const reflector = new Reflector({
  ...{ client, kind: sampleKind, scopes: [{}], clock: realClock, chance: Math.random },
  changed: () => {
    changes += 1;
    if (changes % 1000 === 0) process.stdout.write(`changes ${changes} of ${reflector.size}\n`);
  },
});
void reflector.synced.then(() => process.stdout.write(`synced ${reflector.size}\n`));
void reflector.run(new AbortController().signal);
