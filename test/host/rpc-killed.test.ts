import { killEverywhere } from './rpc-kills.ts';
import { deaths } from './rpc-protocol.ts';

/** One way after another in turn; `make test-all` takes all of them at every program. */
killEverywhere((program) => deaths.filter((_, index) => index === (program + 1) % deaths.length));
