import type { Completions } from './completions.ts'

/** Reads the topic from the words before the cursor. The syntax is that of bash and of zsh. */
const topicLines = (table: readonly Completions[]): string[] => [
  '  [[ $first == help ]] && first=$second second=$third',
  '  local topic=$first',
  `  case "$first $second" in ${twoWords(table).map(quote).join('|')}) topic="$first $second" ;; esac`,
]

export function bashScript(table: readonly Completions[]): string {
  const cases = table.map(({ topics, choices, pathFlags, valueFlags, takesPaths }) => {
    const words = quote(choices.map(({ name }) => name).join(' '))
    return caseLine(topics, [`choices=${words}`, ...flagLists(pathFlags, valueFlags), `paths=${takesPaths ? 1 : ''}`])
  })
  return [
    '# Load it: source <(holdfast completion bash)',
    '_holdfast() {',
    `  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]}`,
    `  local -a given=("\${COMP_WORDS[@]:1:COMP_CWORD - 1}")`,
    `  local first=\${given[0]} second=\${given[1]} third=\${given[2]}`,
    ...topicLines(table),
    "  local choices='' pathFlags='' valueFlags='' paths=''",
    '  case "$topic" in',
    ...cases,
    '  esac',
    '  COMPREPLY=()',
    '  [[ $pathFlags == *" $before "* ]] && return',
    '  [[ $valueFlags == *" $before "* ]] && choices= paths=',
    '  [[ $word == -* ]] && paths=',
    '  [[ -n $word || -z $paths ]] && COMPREPLY=($(compgen -W "$choices" -- "$word"))',
    '  [[ -z $paths ]] && compopt +o default 2>/dev/null',
    '  return 0',
    '}',
    'complete -o default -F _holdfast holdfast',
  ].join('\n')
}

export function zshScript(table: readonly Completions[]): string {
  const cases = table.map(({ topics, choices, pathFlags, valueFlags, takesPaths }) => {
    const rows = choices.map(({ name, about }) => quote(about === '' ? name : `${name}:${about}`)).join(' ')
    return caseLine(topics, [`choices=(${rows})`, ...flagLists(pathFlags, valueFlags), `paths=${takesPaths ? 1 : ''}`])
  })
  return [
    '#compdef holdfast',
    '# Load it after compinit: source <(holdfast completion zsh)',
    '_holdfast() {',
    '  local word=$words[CURRENT] before=$words[CURRENT-1]',
    `  local -a given=("\${(@)words[2,CURRENT-1]}")`,
    '  local first=$given[1] second=$given[2] third=$given[3]',
    ...topicLines(table),
    '  local -a choices',
    "  local pathFlags='' valueFlags='' paths=''",
    '  case "$topic" in',
    ...cases,
    '  esac',
    '  [[ $valueFlags == *" $before "* ]] && return',
    '  [[ $word == -* ]] && paths=',
    '  [[ $pathFlags == *" $before "* ]] && { _files; return }',
    '  [[ -n $paths ]] && _files',
    '  [[ -n $word || -z $paths ]] && _describe -o word choices',
    '}',
    'compdef _holdfast holdfast',
  ].join('\n')
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
  return [
    '# Save it: holdfast completion fish > ~/.config/fish/completions/holdfast.fish',
    'function __holdfast_at',
    '  set -l given (commandline -opc)',
    '  set -e given[1]',
    '  test "$given[1]" = help; and set -e given[1]',
    '  set -l topic "$given[1]"',
    '  set -l pair "$given[1] $given[2]"',
    `  contains -- "$pair" ${twoWords(table).map(quote).join(' ')}; and set topic "$pair"`,
    '  contains -- "$topic" $argv',
    'end',
    'complete -c holdfast -f',
    ...rows,
  ].join('\n')
}

function caseLine(topics: readonly string[], settings: readonly string[]): string {
  return `    ${topics.map(quote).join('|')}) ${settings.join(' ')} ;;`
}

function flagLists(pathFlags: readonly string[], valueFlags: readonly string[]): string[] {
  return [`pathFlags=' ${pathFlags.join(' ')} '`, `valueFlags=' ${valueFlags.join(' ')} '`]
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
