// The variables of the process, or those that a test passes.
export type Environment = Readonly<Record<string, string | undefined>>;
