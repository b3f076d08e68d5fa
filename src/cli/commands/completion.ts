// `gateway completion`: prints a script for a shell. The script asks `gateway __complete WORD…` for the words, so that it never
// gets out of date.
import { Argument, type Command } from 'commander';
import type { Context } from '../context.ts';

/** Words that contain a colon arrive in parts, because bash ends words there; the reply must then lack what stands before. */
const BASH = `# bash completion of gateway: eval "$(gateway completion bash)"
_gateway() {
  local line=\${COMP_LINE:0:COMP_POINT} cur words=() answer word IFS=$' \\t\\n'
  if declare -F _get_comp_words_by_ref >/dev/null; then
    local cword
    _get_comp_words_by_ref -n =: cur words cword
    words=("\${words[@]:1:cword}")
  else
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=('')
    words=("\${words[@]:1}")
    cur=\${words[\${#words[@]}-1]}
  fi
  COMPREPLY=()
  answer=$(gateway __complete "\${words[@]}" 2>/dev/null)
  if [[ $answer == ':files' ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    return
  fi
  local head=
  if [[ $cur == *[:=]* && $COMP_WORDBREAKS == *[:=]* ]]; then head=\${cur%"\${cur##*[:=]}"}; fi
  while IFS=$'\\t' read -r word _; do
    [[ -n $word ]] || continue
    word=\${word#"$head"}
    COMPREPLY+=("$(printf %q "$word")")
  done <<<"$answer"
}
complete -F _gateway gateway
`;

const ZSH = `#compdef gateway
# zsh completion of gateway: eval "$(gateway completion zsh)"
_gateway() {
  local -a answer found notes
  local line
  answer=("\${(@f)$(gateway __complete "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ \${answer[1]} == ':files' ]]; then
    _files
    return
  fi
  for line in $answer; do
    [[ -n $line ]] || continue
    found+=("\${line%%$'\\t'*}")
    notes+=("\${line/$'\\t'/  -- }")
  done
  compadd -l -d notes -a found
}
if [[ $funcstack[1] == _gateway ]]; then _gateway "$@"; else compdef _gateway gateway; fi
`;

const FISH = `# fish completion of gateway: gateway completion fish | source
function __gateway_complete
    set -l words (commandline -opc)[2..-1] (commandline -ct)
    set -l answer (gateway __complete $words 2>/dev/null)
    if test "$answer[1]" = ':files'
        __fish_complete_path (commandline -ct)
    else
        printf '%s\\n' $answer
    end
end
complete -c gateway -f -a '(__gateway_complete)'
`;

const SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH };

export function defineCompletion(completion: Command, context: Context): void {
  completion
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .addHelpText(
      'after',
      `\nPut one line into the file that your shell reads at its start:
  bash  ~/.bashrc                    eval "$(gateway completion bash)"
  zsh   ~/.zshrc, after compinit     eval "$(gateway completion zsh)"
  fish  ~/.config/fish/config.fish   gateway completion fish | source
\nExample:\n  gateway completion bash`,
    )
    .action((shell: string) => void context.stdout.write(SCRIPTS[shell] ?? ''));
}
