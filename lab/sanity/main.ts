import { parseArgs } from 'node:util';
import {
  type ClassName,
  classNames,
  countsOf,
  type SanityReport,
  showCounts,
  skipsByReason,
  startSanity,
} from './index.ts';

/**
 * The conformance suite of CSI against `quarry standalone` on real LVM, once for each kind of
 * volume. Every skip is told with its reason, and the last line counts over all classes.
 *
 *   node lab/sanity/main.ts [--seed N] [--block] [CLASS ...]
 */
const { values, positionals } = parseArgs({
  options: { seed: { type: 'string' }, block: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !classNames.some((known) => known === name));
if (unknown.length > 0) {
  console.error(`there is no class ${unknown.join(', ')}: ${classNames.join(', ')}`);
  process.exit(2);
}
const chosen = classNames.filter((name) => positionals.length === 0 || positionals.includes(name));

const tailLines = 40;
const total = { passed: 0, failed: 0, skipped: 0 };

const sanity = await startSanity({
  progress: (line) => console.error(`lab: ${line}`),
  seed: values.seed,
  access: values.block ? 'block' : 'mount',
});
try {
  console.log(`csi-sanity ${sanity.version}, logs in ${sanity.logDirectory}`);
  for (const name of chosen) await tell(name);
} finally {
  await sanity.stop();
}
console.log(showCounts(total));
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;

async function tell(className: ClassName): Promise<void> {
  const startedAtMs = performance.now();
  const report = await sanity.run(className);
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  const counts = countsOf(report);
  console.log(`${className}: ${showCounts(counts)} in ${seconds} s`);
  for (const [reason, specs] of skipsByReason(report)) {
    console.log(`  skipped: ${reason}`);
    for (const spec of specs) console.log(`    ${spec}`);
  }
  if (counts.failed > 0) await tellFailures(className, report);
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.skipped += counts.skipped;
}

async function tellFailures(className: ClassName, report: SanityReport): Promise<void> {
  for (const { spec, reason } of report.failed) console.log(`  FAILED: ${spec}: ${reason}`);
  console.log(`  to repeat it: make sanity ARGS="--seed ${report.seed} ${className}"`);
  console.log(`the last lines of the driver's log:\n${await sanity.driverTail(tailLines)}`);
}
