import { simulate } from '../simulate.ts';
import { storyOf } from '../story.ts';
import { unusedEdits } from './mutate.ts';

/** Tries seeds until one shows the mutant, and prints what it found as JSON. */
const seedsMax = Number(process.argv[2]);
const unused = unusedEdits();
if (unused.length > 0) throw new Error(`never loaded: ${unused.join(', ')}`);
for (let seed = 1; seed <= seedsMax; seed += 1) {
  const { violations } = await simulate(storyOf(seed));
  if (violations.length === 0) continue;
  console.log(JSON.stringify({ seed, violation: violations[0]?.split('\n')[0] }));
  process.exit(0);
}
console.log('{}');
process.exit(0);
