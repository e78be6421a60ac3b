import { worldOf } from './cluster-worlds.ts';

/** Tries seeds until one shows the mutant, and prints what it found as JSON. */
const [of = '', ...numbers] = process.argv.slice(2);
const [seedsMax = 0, step = 1] = numbers.map(Number);
for (let seed = step; seed <= seedsMax; seed += step) {
  const { violations } = await worldOf(of).simulate(seed);
  if (violations.length === 0) continue;
  console.log(JSON.stringify({ seed, violation: violations[0]?.split('\n')[0] }));
  process.exit(0);
}
console.log('{}');
process.exit(0);
