import { killEverywhere } from './kills.ts';
import { deaths } from './protocol.ts';

/** One way after another in turn, or with QUARRY_EVERY_DEATH=1 all of them at every program. */
const isEvery = process.env['QUARRY_EVERY_DEATH'] === '1';

killEverywhere((program) =>
  deaths.filter((_, index) => isEvery || index === (program + 1) % deaths.length),
);
