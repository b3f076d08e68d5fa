// One name for a model that providers write in many ways.

/**
 * A model's name in one form: without path, date, version mark and size or price tag, with dashes for dots and at-signs. Providers
 * write one model in many ways (`us.anthropic.claude-sonnet-4-5-20250929-v1:0`).
 */
export function plainName(upstream: string): string {
  return (
    upstream
      .toLowerCase()
      .replace(/^.*[/\\]/, '')
      .replace(/^(?:[a-z]{2,6}\.)?(?:anthropic|openai|google|meta|mistral|deepseek|qwen)\./, '')
      .replace(/:[^:]*$/, '')
      .replace(/[.@_]/g, '-')
      // Fireworks: `glm-5p3`.
      .replace(/(\d)p(?=\d)/g, '$1-')
      .replace(/-v\d+$/, '')
      .replace(/-(?:20\d{6}|20\d\d-\d\d-\d\d|latest)(?=-|$)/, '')
      .replace(
        /^claude-(\d)(?:-(\d))?-(sonnet|opus|haiku|fable)(?=-|$)/,
        (_, major: string, minor: string | undefined, line: string) =>
          minor === undefined ? `claude-${line}-${major}` : `claude-${line}-${major}-${minor}`,
      )
  );
}
