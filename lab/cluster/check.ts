import { busyboxImage, type Cluster } from './index.ts';

const port = 8080;
const tokenPath = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/**
 * Runs a pod on every node and goes through each part of the network once: kubelet to API server
 * and back (logs, exec), pod to pod across nodes, pod to API server by its service address.
 */
export async function checkCluster(cluster: Cluster, tell: (line: string) => void): Promise<void> {
  const startedMs = performance.now();
  const names = cluster.nodes.map((node) => node.name);
  await cluster.apply(names.map(podOn));
  const pods = await Promise.all(names.map((name) => cluster.waitForPod({ name: podName(name) })));
  tell(`\n${await cluster.kubectl(['get', 'pods', '--output', 'wide'])}`);
  tell(`${pods.length} pods Ready after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  for (const name of names) {
    const log = await cluster.kubectl(['logs', podName(name)]);
    expect(`log of the pod on ${name}`, log.trim(), `hello from ${name}`);
    tell(`kubectl logs, ${name}: ${log.trim()}`);
    for (const [index, pod] of pods.entries()) {
      const said = await inPod(
        cluster,
        name,
        `wget -q -O - http://${pod.status.podIP}:${port}/node`,
      );
      expect(`what the pod on ${name} fetched`, said.trim(), names[index] ?? '');
    }
    const call = `wget -q -O - --header "Authorization: Bearer $(cat ${tokenPath})"`;
    const url = 'https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/apis/apps';
    const group = await inPod(cluster, name, `${call} ${url}`);
    expect(`the API as seen from ${name}`, group.includes('"APIGroup"'), true);
    tell(`kubectl exec, ${name}: reaches the pods of all nodes and the API server`);
  }
}

function podName(nodeName: string): string {
  return `check-${nodeName}`;
}

function podOn(nodeName: string): object {
  const script = [
    `mkdir -p /www && echo ${nodeName} >/www/node`,
    `echo hello from ${nodeName}`,
    `exec httpd -f -p ${port} -h /www`,
  ].join('\n');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: podName(nodeName) },
    spec: {
      // A selector and not a node name, so that the scheduler has its say.
      nodeSelector: { 'kubernetes.io/hostname': nodeName },
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'main',
          image: busyboxImage,
          imagePullPolicy: 'Never',
          command: ['sh', '-c', script],
          readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
        },
      ],
    },
  };
}

function inPod(cluster: Cluster, nodeName: string, script: string): Promise<string> {
  return cluster.kubectl(['exec', podName(nodeName), '--', 'sh', '-c', script]);
}

function expect<T>(what: string, seen: T, wanted: T): void {
  if (seen !== wanted) throw new Error(`${what}: ${String(seen)} instead of ${String(wanted)}`);
}
