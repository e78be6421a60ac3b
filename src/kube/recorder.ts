/** What people read in `kubectl describe`. Telling is never waited for, and never fails anything. */
export type Recorder = {
  event(about: EventSubject, what: EventText): void;
};

export type EventSubject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
};

export type EventText = {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** What was being done, where whoever listens tells events apart by it. */
  readonly action?: string;
};
