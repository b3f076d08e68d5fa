// `gateway run [OPTIONS] TOOL [ARGS…]`: the words after the tool are the tool's. A `--` before it keeps commander from reading them.
const WITH_VALUE = new Set(['--config', '--database', '--model']);

export function guardToolWords(argv: readonly string[]): string[] {
  const command = firstWord(argv, 0);
  const tool = firstWord(argv, command + 1);
  if (argv[command] !== 'run' || tool >= argv.length) return [...argv];
  return [...argv.slice(0, tool), '--', ...argv.slice(tool)];
}

/** The index of the first word that is no option and no option's value. */
function firstWord(argv: readonly string[], from: number): number {
  let at = from;
  for (; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    if (WITH_VALUE.has(word)) at += 1;
    else if (!word.startsWith('-') || word === '--') break;
  }
  return at;
}
