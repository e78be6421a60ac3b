/**
 * What host and guest say to each other, one JSON object per line. Types only: the guest's agent
 * is run with its types stripped and must not import anything at run time.
 */

export type HostMessage =
  | {
      readonly op: 'run';
      readonly id: number;
      readonly argv: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string;
    }
  | { readonly op: 'stdin'; readonly id: number; readonly base64: string }
  | { readonly op: 'stdin-end'; readonly id: number }
  | { readonly op: 'kill'; readonly id: number; readonly signal: string };

export type GuestMessage =
  | { readonly op: 'hello'; readonly release: string; readonly uptimeSeconds: number }
  /** How many bytes the guest has read since it began; see `Channel`. */
  | { readonly op: 'heard'; readonly totalBytes: number }
  | {
      readonly op: 'output';
      readonly id: number;
      readonly stream: 'stdout' | 'stderr';
      readonly base64: string;
    }
  | {
      readonly op: 'exit';
      readonly id: number;
      readonly exitCode: number | null;
      readonly signal: string | null;
    }
  | { readonly op: 'refused'; readonly id: number; readonly message: string };
