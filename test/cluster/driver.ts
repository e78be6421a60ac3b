import type { Call } from '../../src/csi/call.ts';
import type { Service } from '../../src/csi/service.ts';
import { endingOf, type Status } from '../../src/csi/status.ts';
import type { FakeClock } from '../world/clock.ts';
import type { Life } from './life.ts';

/** How a call over the driver's socket ended, if not well. */
export class CallFailed extends Error {
  readonly status: Status;

  constructor(status: Status, message: string) {
    super(`${status}: ${message}`);
    this.status = status;
  }
}

/** What somebody on the node finds behind the driver's socket: one life of a driver, or nobody. */
export type Served = { readonly service: Service; readonly life: Life };

/** A call through the socket: it fails when the other side dies, and when nobody waits any more. */
export function callDriver(
  clock: FakeClock,
  served: Served | undefined,
  method: string,
  request: unknown,
  timeoutMs: number,
): Promise<unknown> {
  const route = served?.service.find((one) => one.method.name === method);
  if (served === undefined || served.life.isDead || route === undefined) {
    return Promise.reject(new CallFailed('UNAVAILABLE', 'connection refused'));
  }
  return new Promise((resolve, reject) => {
    const leave = new AbortController();
    const stop = clock.after(timeoutMs, () => {
      leave.abort();
      reject(new CallFailed('DEADLINE_EXCEEDED', method));
    });
    served.life.onDeath(() => {
      stop();
      reject(new CallFailed('UNAVAILABLE', 'error reading from server: EOF'));
    });
    const call: Call = {
      ...{ signal: leave.signal, deadlineMs: timeoutMs, peer: 'kubelet' },
      nameVolume: () => undefined,
    };
    served.life.enter(() => {
      void Promise.resolve(route.handler(request, call)).then(
        (answer) => {
          stop();
          resolve(answer);
        },
        (error: unknown) => {
          stop();
          const { status, message, detail } = endingOf(error);
          reject(new CallFailed(status, detail ?? message));
        },
      );
    });
  });
}
