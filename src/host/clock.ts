import type { Clock, Signal } from '../engine/ports.ts';

export const realClock: Clock = {
  nowMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done);
      if (isAborted(signal)) done();
    }),
};

function isAborted(signal: Signal | undefined): boolean {
  return signal?.aborted === true;
}
