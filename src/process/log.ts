/** One line of the log. The key `volume` is the same in every line about one volume. */
export type LogEvent = {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly [field: string]: unknown;
};

export type Log = (event: LogEvent) => void;
