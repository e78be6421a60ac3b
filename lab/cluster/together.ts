type Results<T extends readonly Task<unknown>[]> = {
  readonly [K in keyof T]: T[K] extends Task<infer R> ? R : never;
};

export type Task<T> = (signal: AbortSignal) => Promise<T>;

/**
 * Runs tasks side by side. When one fails the others are told to stop, and only when all have come
 * to an end does the failure go on: whoever cleans up then finds nothing that still starts things.
 */
export async function together<const T extends readonly Task<unknown>[]>(
  tasks: T,
): Promise<Results<T>> {
  const abort = new AbortController();
  const failures: unknown[] = [];
  const results = await Promise.all(
    tasks.map(async (task) => {
      try {
        return await task(abort.signal);
      } catch (error) {
        failures.push(error);
        abort.abort(error);
        return undefined;
      }
    }),
  );
  if (failures.length > 0) throw failures[0];
  return results as Results<T>;
}
