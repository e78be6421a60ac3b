import { after, before, describe, test } from 'node:test';
import { E2eStage } from './stage.ts';
import { classStories } from './stories/classes.ts';
import { fileSystemStories } from './stories/file-systems.ts';
import { fullGroupStories } from './stories/full-groups.ts';
import { podStories } from './stories/pods.ts';
import { metricsStories, toldStories } from './stories/told.ts';
import { troubleStories } from './stories/trouble.ts';

describe('claims on a real cluster', { timeout: 2_300_000 }, () => {
  let stage: E2eStage;

  before(async () => {
    stage = await E2eStage.open();
  });

  after(async () => {
    await stage?.close();
  });

  describe('side by side', { concurrency: 4 }, () => {
    const lanes = {
      pods: podStories,
      'file systems': fileSystemStories,
      'full groups': fullGroupStories,
      classes: { ...classStories, ...toldStories },
    };
    for (const [lane, stories] of Object.entries(lanes)) {
      describe(lane, { concurrency: 1 }, () => {
        for (const [name, tell] of Object.entries(stories)) {
          test(name, async (t) => {
            await tell(stage, t);
            await stage.auditBeside();
          });
        }
      });
    }
  });

  describe('one after the other', { concurrency: 1 }, () => {
    test('nothing is left of those before', () => stage.audit());

    for (const [name, tell] of Object.entries({ ...metricsStories, ...troubleStories })) {
      test(name, async (t) => {
        await tell(stage, t);
        await stage.audit();
      });
    }
  });
});
