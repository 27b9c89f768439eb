import { type CommandSpec, DIRECTORY_FLAGS, type FlagTable, TERMINAL_JSON } from './command-spec.ts'

const NEW_PLAN = { value: 'PLAN', about: 'free, premium, unlimited, or a configured plan', required: true } as const
const ACCOUNT_FLAGS = {
  account: { value: 'ACCOUNT', about: 'email or id (--email is the same)', required: true, alias: 'email' },
} as const satisfies FlagTable
/** Flags of a command that needs nothing but the account. */
const ONE_ACCOUNT = { ...ACCOUNT_FLAGS, ...DIRECTORY_FLAGS } as const satisfies FlagTable

export const ACCOUNT_COMMANDS = {
  'account create': {
    about: 'Create an account with an API key',
    text: `Creates an account, and prints it with a key of every scope, which is shown only once: a table on a terminal, otherwise
JSON.`,
    flags: {
      email: { value: 'EMAIL', about: 'email of the account', required: true },
      plan: NEW_PLAN,
      name: { value: 'NAME', mayBeEmpty: true, about: 'display name' },
      ...TERMINAL_JSON,
      ...DIRECTORY_FLAGS,
    },
  },
  'account list': {
    about: 'List all accounts',
    text: `Lists all accounts, oldest first: a table on a terminal, otherwise one JSON object per line. "holdfast accounts" also
shows the usage of each account.`,
    flags: { ...TERMINAL_JSON, ...DIRECTORY_FLAGS },
  },
  'account set-plan': {
    about: 'Change the plan of an account',
    text: 'Changes the plan of an account. A running server applies it within a second.',
    flags: { ...ACCOUNT_FLAGS, plan: NEW_PLAN, ...DIRECTORY_FLAGS },
  },
  'account set-visibility': {
    about: 'Set the default visibility of an account',
    text: `Sets who may read the content of later uploads and pins that name no visibility: everybody, or only the account. A
running server applies it within a second. Existing pins stay as they are, until an edit changes them.`,
    flags: {
      ...ACCOUNT_FLAGS,
      visibility: { value: 'WORD', about: 'public or private', required: true },
      ...DIRECTORY_FLAGS,
    },
  },
  'account set-password': {
    about: 'Set the password of an account',
    text: 'Sets the password of an account to the first line of standard input, and ends its sessions. Keys stay valid.',
    flags: ONE_ACCOUNT,
  },
  'account password-link': {
    about: 'Make a link that sets the password of an account',
    text: `Prints a link to the console that sets the password of an account, once, within 24 hours. It replaces the former link.
The sessions of the account end when the link is used. Keys and the second factor stay.`,
    flags: ONE_ACCOUNT,
    outro: `The link has "publicUrl" of the configuration if that is an https address, otherwise HOLDFAST_HOST and HOLDFAST_PORT.`,
  },
  'account set-identity': {
    about: 'Let a user of the sign-in provider use an account',
    text: `Lets a user of the sign-in provider sign in to an existing account, instead of the user before. The groups of the user
then decide the plan. An owner signs in without a provider.`,
    flags: {
      ...ACCOUNT_FLAGS,
      subject: {
        value: 'SUBJECT',
        about: 'id of the user at the provider, the claim "sub" of their tokens',
        required: true,
      },
      issuer: { value: 'URL', about: 'the provider (default: "oidc.issuer" of the configuration)' },
      ...DIRECTORY_FLAGS,
    },
  },
  'account disable-2fa': {
    about: 'Turn off the second factor of an account',
    text: 'Turns off the second factor of an account, for a user without authenticator and recovery codes.',
    flags: ONE_ACCOUNT,
  },
  'account disable': {
    about: 'Disable an account',
    text: `Refuses the keys, sessions and sign-ins of an account. A running server applies it within a second. Its content stays.`,
    flags: ONE_ACCOUNT,
  },
  'account enable': {
    about: 'Enable a disabled account',
    text: 'Enables a disabled account again.',
    flags: ONE_ACCOUNT,
  },
  'account delete': {
    about: 'Delete an account and its pins',
    text: `Deletes an account with its keys, sessions and pins. This cannot be undone. A running server refuses the account within
a second and removes its content soon after. Otherwise the next start removes the content.`,
    flags: ONE_ACCOUNT,
  },
  'account sessions': {
    about: 'List the sessions of an account',
    text: 'Prints the sessions of an account as JSON, oldest first.',
    flags: ONE_ACCOUNT,
  },
  'account end-sessions': {
    about: 'End all sessions of an account',
    text: 'Ends all sessions of an account. A running server applies it within a second. Keys stay valid.',
    flags: ONE_ACCOUNT,
  },
} as const satisfies Record<string, CommandSpec>
