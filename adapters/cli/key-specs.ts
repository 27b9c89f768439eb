import { type CommandSpec, DIRECTORY_FLAGS, type FlagTable, TERMINAL_JSON } from './command-spec.ts'

const OF_ACCOUNT = {
  account: { value: 'ACCOUNT', about: 'email or id', required: true },
} as const satisfies FlagTable

export const KEY_COMMANDS = {
  'key create': {
    about: 'Create an API key',
    text: 'Creates an API key and prints it as JSON. The key is shown only once.',
    flags: {
      ...OF_ACCOUNT,
      scopes: {
        value: 'A,B',
        about: 'files:read, files:write, files:delete, cluster:read, share:write (default: all but delete and share)',
      },
      name: { value: 'NAME', about: 'unique in the account (default: a random one)' },
      label: { value: 'LABEL', mayBeEmpty: true, about: 'free text' },
      'expires-in-days': { value: 'DAYS', least: 0, about: '0 for never (the default)' },
      'ip-allowlist': { value: 'A,B', about: 'addresses and networks that may use it (default: all)' },
      ...DIRECTORY_FLAGS,
      'max-uses': {
        value: 'COUNT',
        least: 0,
        about: 'most uploads, 1 to 10,000',
        intro: 'With --max-uses the key is an upload token, which can only upload, for a browser or another program:',
      },
      'max-bytes': { value: 'BYTES', least: 0, about: 'most bytes of one upload (default: limit of the plan)' },
      cluster: { value: 'ID', about: 'cluster of the uploads (default: that of the account)' },
      timelock: {
        value: 'TIME',
        about: 'expiry of the uploads, such as 7d or 2030-01-31T12:00:00Z (default: never)',
      },
      'expires-in-seconds': { value: 'N', least: 0, about: 'lifetime of the token, 604,800 at most (default 3,600)' },
    },
  },
  'key revoke': {
    about: 'Revoke an API key',
    text: 'Revokes an API key. A running server applies it within a second.',
    flags: { ...OF_ACCOUNT, name: { value: 'NAME', about: 'name of the key', required: true }, ...DIRECTORY_FLAGS },
  },
  'key list': {
    about: 'List the keys of an account',
    text: 'Lists the API keys of an account without secrets, oldest first: a table on a terminal, otherwise JSON.',
    flags: { ...OF_ACCOUNT, uploads: { about: 'list upload tokens instead' }, ...TERMINAL_JSON, ...DIRECTORY_FLAGS },
  },
} as const satisfies Record<string, CommandSpec>
