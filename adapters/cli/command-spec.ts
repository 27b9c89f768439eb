/** A flag of a command. */
export interface Flag {
  /** Word for the value in the help, such as `SECONDS`. Missing for a flag without a value. */
  value?: string
  /** Meaning, for the help and for shells. */
  about: string
  /** The value is a whole number of at least this. */
  least?: number
  /** The flag may be repeated. */
  many?: true
  /** The command fails without the flag. */
  required?: true
  /** An empty value has a meaning, such as no name. The command fails for an empty value of any other flag. */
  mayBeEmpty?: true
  /** Another name of the flag. */
  alias?: string
  /** Paragraph of the help before the flag. The flag begins a new block. */
  intro?: string
}

export type FlagTable = Readonly<Record<string, Flag>>

/** Arguments without a flag. */
export interface Words {
  /** Form in the first line of the help. */
  usage: string
  /** Name for the error of a missing argument. */
  what: string
  min: number
  max: number
  /** Shells complete files. */
  arePaths?: true
  /** The only words, which shells complete. */
  choices?: readonly string[]
}

/** A command: its grammar, its help and what shells complete. */
export interface CommandSpec {
  /** Meaning in the list of all commands. */
  about: string
  /** Names from other programs. */
  aliases?: readonly string[]
  /** Paragraph that explains the command. */
  text: string
  /** Lines of examples. */
  examples?: readonly string[]
  /** Default: none. */
  words?: Words
  flags: FlagTable
  /** Paragraph after the flags. */
  outro?: string
}

type Names<T extends FlagTable, Shape> = { [Name in keyof T]: T[Name] extends Shape ? Name : never }[keyof T]
type ManyNames<T extends FlagTable> = Names<T, { many: true }>
type RequiredNames<T extends FlagTable> = Names<T, { value: string; required: true }>
type WholeNames<T extends FlagTable> = Names<T, { least: number }>
type ValueNames<T extends FlagTable> = Exclude<
  Names<T, { value: string }>,
  ManyNames<T> | RequiredNames<T> | WholeNames<T>
>
type SwitchNames<T extends FlagTable> = Exclude<keyof T, Names<T, { value: string }>>

/** Values of flags by name: a text, a number, a list of a repeated flag, or whether a flag without a value was given. */
export type Flags<T extends FlagTable> = { readonly [Name in ValueNames<T>]?: string } & {
  readonly [Name in RequiredNames<T>]: string
} & { readonly [Name in WholeNames<T>]?: number } & { readonly [Name in ManyNames<T>]: readonly string[] } & {
  readonly [Name in SwitchNames<T>]: boolean
}

/** Arguments of a command. */
export interface CommandArguments<Spec extends Pick<CommandSpec, 'flags'>> {
  flags: Flags<Spec['flags']>
  words: readonly string[]
}

/** Returns the flags of a command as people see them. `--help` is a flag of every command. */
export function shownFlags(flags: FlagTable): [name: string, flag: Flag][] {
  return Object.entries({ ...flags, help: { about: 'this text' } })
}

const JSON_LINES = { about: 'print JSON, one object per line' }

/** Flags of a command that uses the API. */
export const API_FLAGS = {
  api: { value: 'URL', about: "base of the server's API (HOLDFAST_API, default http://127.0.0.1:4100/api/v3)" },
  key: { value: 'KEY', about: 'API key or session token (HOLDFAST_API_KEY; other users can see flags)' },
  json: JSON_LINES,
} as const satisfies FlagTable

const CONFIG = { value: 'FILE', about: 'configuration, JSON (HOLDFAST_CONFIG)' } as const

/** Flags of a command that uses a data directory. */
export const DIRECTORY_FLAGS = {
  'data-dir': { value: 'DIR', about: 'directory of all stores (HOLDFAST_DATA_DIR, default ./data)' },
  config: CONFIG,
} as const satisfies FlagTable

/** Flag of a command that prints a table on a terminal, and JSON otherwise. */
export const TERMINAL_JSON = {
  json: { about: 'print JSON on a terminal as well' },
} as const satisfies FlagTable

/** Flags of a command that uses a data directory, and can print JSON. */
export const JSON_DIRECTORY_FLAGS = { ...DIRECTORY_FLAGS, json: JSON_LINES } as const satisfies FlagTable

/** Flags of a command of the owner, for a running server or for a data directory. */
export const OWNER_FLAGS = {
  ...API_FLAGS,
  'data-dir': {
    value: 'DIR',
    about: 'directory of all stores',
    intro: `Uses the running server, with a session of the owner or a key of every scope. Without a server, give the data directory:`,
  },
  config: CONFIG,
} as const satisfies FlagTable
