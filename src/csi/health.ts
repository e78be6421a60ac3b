import {
  type HealthCheckResponse,
  HealthDefinition,
  type HealthCheckResponse_ServingStatus as ServingStatus,
} from './generated/health.ts';
import { type Service, service } from './service.ts';
import { StatusError } from './status.ts';

/** Which services are well, for `grpc.health.v1`. The empty name stands for the whole server. */
export class Health {
  readonly #statuses = new Map<string, ServingStatus>();
  readonly #watchers = new Set<() => void>();

  set(name: string, status: ServingStatus): void {
    if (this.#statuses.get(name) === status) return;
    this.#statuses.set(name, status);
    for (const wake of this.#watchers) wake();
  }

  get(name: string): ServingStatus | undefined {
    return this.#statuses.get(name);
  }

  /** The status now, and each one that is seen afterwards. */
  async *watch(name: string, signal: AbortSignal): AsyncGenerator<ServingStatus> {
    let told: ServingStatus | undefined;
    while (!signal.aborted) {
      const status = this.get(name) ?? 'SERVICE_UNKNOWN';
      if (status === told) {
        await this.#change(signal);
        continue;
      }
      told = status;
      yield status;
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#watchers.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#watchers.add(wake);
      signal.addEventListener('abort', wake);
      if (signal.aborted) wake();
    });
  }
}

export function healthService(health: Health): Service {
  return service(HealthDefinition, {
    check: async ({ service: name }) => {
      const status = health.get(name);
      if (status === undefined) throw new StatusError('NOT_FOUND', `There is no service ${name}.`);
      return { status };
    },
    watch: async function* ({ service: name }, { signal }): AsyncGenerator<HealthCheckResponse> {
      for await (const status of health.watch(name, signal)) yield { status };
    },
  });
}
