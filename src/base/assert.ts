/** A bug in Quarry. Nobody catches it: the process stops and the next start looks again. */
export class BugError extends Error {
  override readonly name = 'BugError';
}

/** Use for what can only be false through a bug of ours, never for what the world may answer. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new BugError(`bug: ${message}`);
}

/** Ends a switch over a closed union; the compiler proves that it cannot be reached. */
export function unreachable(value: never): never {
  throw new BugError(`bug: unexpected value ${String(value)}`);
}
