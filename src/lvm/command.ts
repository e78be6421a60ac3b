/** A program to run, spelled out. Nothing is left to a shell or to defaults we did not choose. */
export type Command = {
  readonly argv: readonly [string, ...string[]];
  /** A reading command may be killed; a changing one is never, whoever stops waiting for it. */
  readonly effect: 'reads' | 'changes';
  readonly timeoutMs: number;
  /** Its input stays open until it is released, or until we are gone. */
  readonly isHeld?: true;
  /** What the program takes for the name of its host. */
  readonly hostName?: string;
};

export type CommandResult = {
  readonly exitCode: number | undefined;
  /** Set when a signal ended the program. */
  readonly signal: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
};
