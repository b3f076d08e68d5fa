// What ends a command with a message for its user, and no stack trace.

/** A failure that the user can correct. The message is one line: what failed, where, and how to correct it. */
export class CliError extends Error {
  override readonly name = 'CliError';
  /** 1: the command failed; 2: wrong usage; 127: a program is not installed, as in shells. */
  readonly exitCode: 1 | 2 | 127;
  constructor(message: string, exitCode: 1 | 2 | 127 = 1, cause?: unknown) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}
