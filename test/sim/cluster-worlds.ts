import { type ClusterVerdict, simulateCluster } from './cluster.ts';
import { clusterStoryOf } from './cluster-story.ts';
import { simulateLvms } from './lvms.ts';
import { lvmsStoryOf } from './lvms-story.ts';
import { shortened } from './shrink.ts';

type AnyStory = {
  readonly events: readonly { readonly atMs: number }[];
  readonly network: object;
  readonly host: object;
  readonly kubelet: number;
  readonly cacheLag: number;
};

/** One kind of cluster that stories are told of. */
export type World = {
  readonly storyOf: (seed: number) => AnyStory;
  readonly simulate: (seed: number) => Promise<ClusterVerdict>;
  /** The shortest story that still goes wrong, and what becomes of it. */
  readonly shrink: (seed: number) => Promise<{ story: AnyStory; verdict: ClusterVerdict }>;
};

const worlds: Readonly<Record<string, World>> = {
  cluster: world(clusterStoryOf, simulateCluster),
  lvms: world(lvmsStoryOf, simulateLvms),
};

export function worldOf(name: string): World {
  const found = worlds[name];
  if (found === undefined) throw new Error(`no world ${name}: ${Object.keys(worlds).join(', ')}`);
  return found;
}

function world<S extends AnyStory>(
  storyOf: (seed: number) => S,
  simulate: (story: S) => Promise<ClusterVerdict>,
): World {
  const calmer = [
    { network: {} },
    { host: {} },
    { kubelet: 0 },
    { cacheLag: 0 },
    { files: 0 },
    { udev: 0 },
  ];
  return {
    storyOf,
    simulate: (seed) => simulate(storyOf(seed)),
    shrink: async (seed) => {
      let story = storyOf(seed);
      const [wanted] = (await simulate(story)).violations.map(gistOf);
      const fails = async (candidate: S) =>
        (await simulate(candidate)).violations.some((one) => gistOf(one) === wanted);
      for (const calm of calmer) {
        const candidate = { ...story, ...calm };
        if (await fails(candidate)) story = candidate;
      }
      story = await shortened(story, fails);
      return { story, verdict: await simulate(story) };
    },
  };
}

/** A violation without the names in it: a shorter story goes wrong elsewhere, and in the same way. */
function gistOf(violation: string): string {
  const [line = ''] = violation.split('\n');
  return line.replaceAll(/\/dev\/\S+|[0-9a-f-]{36}|\b[a-z]+\d+\b|\bv[abc]\b|\d+/g, '_');
}
