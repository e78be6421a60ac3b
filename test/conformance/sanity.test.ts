import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  classNames,
  countsOf,
  type Sanity,
  showCounts,
  skipsByReason,
  startSanity,
} from '../../lab/sanity/index.ts';

describe('csi-sanity against quarry standalone on real LVM', { timeout: 2_400_000 }, () => {
  let sanity: Sanity;

  before(async () => {
    sanity = await startSanity({ progress: (line) => process.stderr.write(`lab: ${line}\n`) });
  });

  after(async () => {
    await sanity?.stop();
  });

  for (const className of classNames) {
    test(`${className}: every spec passes that its capabilities allow`, async (t) => {
      const report = await sanity.run(className);
      t.diagnostic(`${className}: ${showCounts(countsOf(report))}`);
      for (const [reason, specs] of skipsByReason(report)) {
        t.diagnostic(`${specs.length} skipped: ${reason}`);
      }
      if (report.failed.length > 0) t.diagnostic(`the driver: ${await sanity.driverTail(40)}`);
      const logs = `seed ${report.seed}, logs in ${sanity.logDirectory}`;
      assert.deepEqual(report.failed, [], logs);
    });
  }
});
