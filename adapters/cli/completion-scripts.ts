import type { Completions } from './completion-table.ts'

/** Reads the topic from the words before the cursor. The words and the syntax are those of bash and of zsh. */
const topicLines = (table: readonly Completions[]): string => `  [[ $first == help ]] && first=$second second=$third
  local topic=$first
  case "$first $second" in ${twoWords(table).map(quote).join('|')}) topic="$first $second" ;; esac`

export function bashScript(table: readonly Completions[]): string {
  const cases = table.map(({ topics, choices, pathFlags, valueFlags, takesPaths }) => {
    const words = choices.map(({ name }) => name).join(' ')
    const lists = `choices='${words}' pathFlags=' ${pathFlags.join(' ')} ' valueFlags=' ${valueFlags.join(' ')} '`
    return `    ${topics.map(quote).join('|')}) ${lists}${takesPaths ? ' paths=1' : ''} ;;`
  })
  return `# Completion of holdfast for bash. Load it: source <(holdfast completion bash)
_holdfast() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]}
  local -a given=("\${COMP_WORDS[@]:1:COMP_CWORD - 1}")
  local first=\${given[0]} second=\${given[1]} third=\${given[2]}
${topicLines(table)}
  local choices='' pathFlags='' valueFlags='' paths=''
  case "$topic" in
${cases.join('\n')}
  esac
  COMPREPLY=()
  [[ $pathFlags == *" $before "* ]] && return
  if [[ $valueFlags != *" $before "* ]]; then
    [[ -n $word || -z $paths ]] && COMPREPLY=($(compgen -W "$choices" -- "$word"))
    [[ -n $paths && $word != -* ]] && return
  fi
  compopt +o default 2>/dev/null
  return 0
}
complete -o default -F _holdfast holdfast`
}

export function zshScript(table: readonly Completions[]): string {
  const cases = table.map(({ topics, choices, pathFlags, valueFlags, takesPaths }) => {
    const rows = choices.map(({ name, about }) => quote(about === '' ? name : `${name}:${about}`)).join(' ')
    const lists = `choices=(${rows}) pathFlags=' ${pathFlags.join(' ')} ' valueFlags=' ${valueFlags.join(' ')} '`
    return `    ${topics.map(quote).join('|')}) ${lists}${takesPaths ? ' paths=1' : ''} ;;`
  })
  return `#compdef holdfast
# Completion of holdfast for zsh. Load it after compinit: source <(holdfast completion zsh)
_holdfast() {
  local word=$words[CURRENT] before=$words[CURRENT-1]
  local -a given=("\${(@)words[2,CURRENT-1]}")
  local first=$given[1] second=$given[2] third=$given[3]
${topicLines(table)}
  local -a choices
  local pathFlags='' valueFlags='' paths=''
  case "$topic" in
${cases.join('\n')}
  esac
  if [[ $pathFlags == *" $before "* ]]; then
    _files
  elif [[ $valueFlags != *" $before "* ]]; then
    [[ -n $paths && $word != -* ]] && _files
    [[ -n $word || -z $paths ]] && _describe -o word choices
  fi
}
compdef _holdfast holdfast`
}

export function fishScript(table: readonly Completions[]): string {
  const rows = table.flatMap(({ topics, choices, pathFlags, valueFlags, takesPaths }) => {
    const start = `complete -c holdfast -n '__holdfast_at ${topics.map(topic => `"${topic}"`).join(' ')}'`
    const lines = choices.map(({ name, about }) => {
      const value = pathFlags.includes(name) ? ' -r -F' : valueFlags.includes(name) ? ' -x' : ''
      const what = name.startsWith('--') ? `-l ${name.slice(2)}${value}` : `-a ${name}`
      return `${start} ${what}${about === '' ? '' : ` -d ${fishQuote(about)}`}`
    })
    return takesPaths ? [...lines, `${start} -F`] : lines
  })
  return `# Completion of holdfast for fish. Save it: holdfast completion fish > ~/.config/fish/completions/holdfast.fish
function __holdfast_at
  set -l given (commandline -opc)
  set -e given[1]
  test "$given[1]" = help; and set -e given[1]
  set -l topic "$given[1]"
  contains -- "$given[1] $given[2]" ${twoWords(table).map(quote).join(' ')}; and set topic "$given[1] $given[2]"
  contains -- "$topic" $argv
end
complete -c holdfast -f
${rows.join('\n')}`
}

function twoWords(table: readonly Completions[]): string[] {
  return table.flatMap(({ topics }) => topics).filter(topic => topic.includes(' '))
}

/** Quotes a word for bash and zsh. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function fishQuote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
