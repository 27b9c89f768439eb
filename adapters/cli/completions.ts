import { ALIASES } from './aliases.ts'
import { HELP } from './help.ts'

/** Words that can follow a topic of the help. */
export interface Completions {
  /** Words of the topic, with those of its aliases: `upload`, `account create`. Empty for the program itself. */
  topics: readonly string[]
  /** Flags and commands, with what the help says about them. */
  choices: readonly { name: string; about: string }[]
  /** Flags whose value is a path. */
  pathFlags: readonly string[]
  /** Flags whose value is anything else. */
  valueFlags: readonly string[]
  takesPaths: boolean
}

const FLAG = /^ {2}(--[\w-]+)(?: ([A-Z]\S*))?(?: +(.*))?$/gm
const COMMAND = /^ {2}([a-z][\w -]*?(?:, [a-z]+)*) {2,}(.*)$/gm
const PATH = /^(PATH|FILE|DIR)\b/

/** Reads the completions of every topic from the help texts, so that both always agree. */
export function completionTable(): Completions[] {
  const commands = [...HELP[''].matchAll(COMMAND)].flatMap(([, names = '', about = '']) =>
    names.split(', ').map(name => ({ name, about })),
  )
  const help = { name: 'help', about: 'Show the help of a command' }
  const topics = [...new Set([...Object.keys(HELP), ...commands.map(({ name }) => firstOf(name))])]
  return topics.map(topic => {
    const text = Object.hasOwn(HELP, topic) ? HELP[topic as keyof typeof HELP] : ''
    const below = commands.filter(({ name }) => name.startsWith(`${topic} `))
    const inside =
      topic === ''
        ? [...firstWords(commands), help]
        : below.length > 0
          ? below.map(({ name, about }) => ({ name: name.slice(topic.length + 1), about }))
          : wordsOf(text)
    const flags = [...text.matchAll(FLAG)].map(([, name = '', value = '', about = '']) => ({ name, value, about }))
    const aliases = Object.keys(ALIASES).filter(alias => ALIASES[alias] === topic)
    return {
      topics: [topic, ...aliases],
      choices: [...inside, ...flags.map(({ name, about }) => ({ name, about }))],
      pathFlags: flags.filter(({ value }) => PATH.test(value)).map(({ name }) => name),
      valueFlags: flags.filter(({ value }) => value !== '' && !PATH.test(value)).map(({ name }) => name),
      takesPaths: /^Usage: holdfast [^\n]*? (PATH|FILE|DIR|BACKUP)\b/.test(text.replace(/--\S+ \S+/g, '')),
    }
  })
}

/** Returns each first word once. A word of several commands describes them by their names. */
function firstWords(commands: Completions['choices']): Completions['choices'] {
  const groups = Map.groupBy(commands, ({ name }) => firstOf(name))
  return [...groups].map(([name, rows]) => {
    const own = rows.find(row => row.name === name)
    return own ?? { name, about: rows.map(row => row.name.slice(name.length + 1)).join(', ') }
  })
}

/** Returns the words that the first line allows: `holdfast completion bash|zsh|fish`. */
function wordsOf(text: string): Completions['choices'] {
  const [, words = ''] = /^Usage: holdfast \w+ ([a-z]+(?:\|[a-z]+)+)$/m.exec(text) ?? []
  return words === '' ? [] : words.split('|').map(name => ({ name, about: '' }))
}

function firstOf(name: string): string {
  return name.split(' ', 1)[0] ?? ''
}
