import { ALIASES, COMMAND_TABLE, type CommandName, commandsOf, GROUPS, isCommand, SECTIONS } from './all-commands.ts'
import { shownFlags } from './command-spec.ts'

/** Words that can follow a command, a group of commands, or the program itself. */
export interface Completions {
  /** Words of the command, with its aliases: `upload`, `account create`. Empty for the program itself. */
  topics: readonly string[]
  /** Flags and commands, with their meaning. */
  choices: readonly { name: string; about: string }[]
  /** Flags whose value is a path. */
  pathFlags: readonly string[]
  /** Flags whose value is anything else. */
  valueFlags: readonly string[]
  takesPaths: boolean
}

const PATH = /^(PATH|FILE|DIR)$/
const NO_FLAGS = { pathFlags: [], valueFlags: [], takesPaths: false }
const HELP = { name: 'help', about: 'Show the help of a command' }

/** Returns the completions of every topic. */
export function completionTable(): Completions[] {
  const names = SECTIONS.flatMap(({ commands }) => commands)
  const groups = [...GROUPS].filter(group => !isCommand(group))
  return [
    { topics: [''], choices: [...firstWords(names), HELP], ...NO_FLAGS },
    ...groups.map(group => ({ topics: [group], choices: wordsBelow(group), ...NO_FLAGS })),
    ...names.map(ofCommand),
  ]
}

function ofCommand(name: CommandName): Completions {
  const { flags, words, aliases = [] } = COMMAND_TABLE[name]
  const all = shownFlags(flags).map(([flag, { value, about }]) => ({
    name: `--${flag}`,
    about,
    value,
  }))
  const named = (isWanted: (value: string) => boolean): string[] =>
    all.filter(({ value }) => value !== undefined && isWanted(value)).map(flag => flag.name)
  return {
    topics: [name, ...aliases],
    choices: [
      ...wordsBelow(name),
      ...(words?.choices ?? []).map(word => ({ name: word, about: '' })),
      ...all.map(({ name, about }) => ({ name, about })),
    ],
    pathFlags: named(value => PATH.test(value)),
    valueFlags: named(value => !PATH.test(value)),
    takesPaths: words?.arePaths === true,
  }
}

function wordsBelow(group: string): Completions['choices'] {
  return commandsOf(group).map(name => ({ name: name.slice(group.length + 1), about: COMMAND_TABLE[name].about }))
}

/** Returns each first word once. A group is described by its commands. */
function firstWords(names: readonly CommandName[]): Completions['choices'] {
  const words = new Set([...names.map(name => name.split(' ', 1)[0] ?? ''), ...ALIASES.keys()])
  return [...words].map(name => {
    const command = ALIASES.get(name) ?? name
    const about = isCommand(command) ? COMMAND_TABLE[command].about : undefined
    return {
      name,
      about:
        about ??
        wordsBelow(name)
          .map(below => below.name)
          .join(', '),
    }
  })
}
