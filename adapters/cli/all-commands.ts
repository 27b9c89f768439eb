import { ACCOUNT_COMMANDS } from './account-specs.ts'
import { JOB_COMMANDS } from './bulk-specs.ts' // feature: bulk
import type { CommandArguments, CommandSpec } from './command-spec.ts'
import { CONTENT_COMMANDS } from './content-specs.ts'
import { FLEET_COMMANDS } from './fleet-specs.ts'
import { KEY_COMMANDS } from './key-specs.ts'
import { LOGIN_COMMANDS } from './login-specs.ts'
import { NODE_COMMANDS } from './node-specs.ts'
import { SERVER_COMMANDS } from './server-specs.ts'
import { WEBHOOK_COMMANDS } from './webhooks-specs.ts' // feature: webhooks

const USER_COMMANDS = {
  ...LOGIN_COMMANDS,
  ...CONTENT_COMMANDS,
  ...JOB_COMMANDS, // feature: bulk
  ...WEBHOOK_COMMANDS, // feature: webhooks
} as const
const OWNER_COMMANDS = { ...NODE_COMMANDS, ...FLEET_COMMANDS } as const
const ACCESS_COMMANDS = { ...ACCOUNT_COMMANDS, ...KEY_COMMANDS } as const

const TABLE = { ...USER_COMMANDS, ...SERVER_COMMANDS, ...OWNER_COMMANDS, ...ACCESS_COMMANDS } as const

export type CommandName = keyof typeof TABLE
/** Arguments of a command. */
export type GivenTo<Name extends CommandName> = CommandArguments<(typeof TABLE)[Name]>

/** Every command. Grammar, help, completion and reference page come from it. */
export const COMMAND_TABLE: Readonly<Record<CommandName, CommandSpec>> = TABLE

/** Commands in the order of the help, below the titles of their groups. */
export const SECTIONS: readonly { title: string; commands: readonly CommandName[] }[] = [
  { title: 'Your content, on any Holdfast server (--api, --key)', commands: namesOf(USER_COMMANDS) },
  { title: 'The server', commands: namesOf(SERVER_COMMANDS) },
  {
    title: 'The node, for its owner, through the running server or on its data directory',
    commands: namesOf(OWNER_COMMANDS),
  },
  {
    title: 'Accounts and keys, on the data directory, with or without a running server',
    commands: namesOf(ACCESS_COMMANDS),
  },
]

/** Other names of commands, which people know from other programs. */
export const ALIASES: ReadonlyMap<string, CommandName> = new Map(
  namesOf(TABLE).flatMap(name => (COMMAND_TABLE[name].aliases ?? []).map(alias => [alias, name] as const)),
)

/** Words that begin commands of two words, such as `account`. */
export const GROUPS: ReadonlySet<string> = new Set(
  namesOf(TABLE)
    .filter(name => name.includes(' '))
    .map(name => name.split(' ', 1)[0] ?? ''),
)

export function isCommand(name: string): name is CommandName {
  return Object.hasOwn(TABLE, name)
}

/** Returns the commands that begin with the word. */
export function commandsOf(group: string): CommandName[] {
  return namesOf(TABLE).filter(name => name.startsWith(`${group} `))
}

function namesOf(table: Partial<Record<CommandName, unknown>>): CommandName[] {
  return Object.keys(table) as CommandName[]
}
