import { COMMAND_TABLE, type CommandName, commandsOf, isCommand, SECTIONS } from './all-commands.ts'
import { type Flag, type FlagTable, shownFlags } from './command-spec.ts'

/** Returns the help of a command, of a group such as `account`, or, for the empty name, of the program. */
export function helpOf(topic: string): string {
  if (topic === '') return programHelp()
  return isCommand(topic) ? commandHelp(topic) : groupHelp(topic)
}

function commandHelp(name: CommandName): string {
  const { text, examples = [], flags, outro } = COMMAND_TABLE[name]
  const parts = [usageOf(name), text, examples.map(line => `  ${line}`).join('\n'), flagLines(flags), outro ?? '']
  return parts.filter(part => part !== '').join('\n\n')
}

function usageOf(name: CommandName): string {
  const { words, flags } = COMMAND_TABLE[name]
  const all = Object.entries<Flag>(flags)
  const required = all.filter(([, flag]) => flag.required).map(([flag, { value = '' }]) => `--${flag} ${value}`.trim())
  const hasMore = all.length > required.length
  return [
    'Usage: holdfast',
    name,
    ...(words === undefined ? [] : [words.usage]),
    ...required,
    ...(hasMore ? ['[flags]'] : []),
  ].join(' ')
}

/** Aligns the meanings of all flags of a command. */
function flagLines(flags: FlagTable): string {
  const rows = shownFlags(flags).map(([name, { value, about, intro }]) => ({
    left: `  --${name}${value === undefined ? '' : ` ${value}`}`,
    about,
    intro: intro === undefined ? '' : `\n${intro}\n\n`,
  }))
  const width = Math.max(...rows.map(({ left }) => left.length))
  return rows.map(({ left, about, intro }) => `${intro}${left.padEnd(width)}  ${about}`).join('\n')
}

function groupHelp(group: string): string {
  const commands = commandsOf(group)
  const width = Math.max(...commands.map(name => name.length))
  return `Usage: holdfast ${group} COMMAND [flags]\n\n${commandLines(commands, width)}\n\nEach has its own --help.`
}

function programHelp(): string {
  const width = Math.max(...SECTIONS.flatMap(({ commands }) => commands.map(name => namesOf(name).length)))
  return [
    'Usage: holdfast <command> [flags]',
    ...SECTIONS.map(({ title, commands }) => `${title}:\n${commandLines(commands, width)}`),
    `Use help [COMMAND] or --help for details, and --version for the version.
Exit codes: 0 success, 1 failure, 2 wrong usage, 3 an upload without some entries.`,
  ].join('\n\n')
}

function commandLines(commands: readonly CommandName[], width: number): string {
  return commands.map(name => `  ${namesOf(name).padEnd(width)}  ${COMMAND_TABLE[name].about}`).join('\n')
}

/** Returns the name of a command with its other names. */
function namesOf(name: CommandName): string {
  return [name, ...(COMMAND_TABLE[name].aliases ?? [])].join(', ')
}
