import { parseArgs } from 'node:util';
import { projectDirectory } from '../cache.ts';
import { openCluster, prepareCluster, stay, writeState } from './cluster.ts';
import { ClusterStory } from './cluster-story.ts';
import { endAllOnSignal } from './interrupt.ts';
import { tellStandaloneStory } from './standalone.ts';
import { Story } from './story.ts';

const usage = `usage: node lab/demo/main.ts [flags]

Shows the main job on virtual nodes with real LVM: first on one host without Kubernetes, then in a
cluster of two nodes. Ends with 1 when anything is not as it should be.

  --only PART        standalone, which needs no Go, or cluster
  --keep             leave the cluster running until Ctrl-C
`;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

async function demo(story: Story): Promise<void> {
  // What may be missing on this machine is missed here, and not after the first part.
  const prepared =
    values.only === 'standalone'
      ? undefined
      : await story.chapter('everything that has to be fetched or built', prepareCluster);
  if (values.only !== 'cluster') await tellStandaloneStory(story);
  if (prepared === undefined) return story.summary();
  const cluster = await openCluster(story, prepared);
  try {
    await new ClusterStory(cluster, story).tell({ isKept: values.keep });
    story.summary();
    if (values.keep) await stay(cluster);
  } catch (error) {
    await writeState(cluster);
    throw new Error(`logs are in ${cluster.lab.logDirectory}`, { cause: error });
  } finally {
    await cluster.stop();
  }
}

if (values.help || !['', 'standalone', 'cluster'].includes(values.only)) {
  process.stdout.write(usage);
  process.exitCode = values.help ? 0 : 2;
} else {
  process.chdir(projectDirectory); // the commands that are shown name files below it
  endAllOnSignal();
  const story = new Story();
  await demo(story).catch((error: unknown) => {
    story.failed(error);
    process.exitCode = 1;
  });
}
