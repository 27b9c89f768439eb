import { CLIENT_HELP } from './client-help.ts'

const COMMON = `  --data-dir DIR   directory of all stores (HOLDFAST_DATA_DIR, default ./data)
  --config FILE    configuration, JSON (HOLDFAST_CONFIG)
  --help           this text`

/** What `--help` prints, by command; the empty one is the whole program's. */
export const HELP = {
  '': `Usage: holdfast <command> [flags]

Your content, on any server that speaks the contract (--api, --key):
  upload                 upload files and directories
  import                 bring in a CAR file, every block checked
  export                 write pins to a CAR file that import takes back
  ls, list               list what is there
  get                    write a file that is kept, or a directory as TAR, to a file here
  cat                    write a file that is kept to standard output
  pin                    keep content that others have
  status                 tell how far a pin is
  rm                     remove a pin
  webhook add            have an address told of what becomes of your pins
  webhook list           show who is told
  webhook log            show what was told, and what came of it
  webhook remove         tell an address nothing any more

The server:
  serve                  run it

The node as its owner, through the running server or on its data directory:
  stats                  show how much it holds
  gc                     delete what no pin needs any more
  verify                 check every block
  reconcile              put right what does not fit together
  backup                 back everything up, while it is in use
  backup check           read a backup in full, and repair it
  restore                make a data directory of a backup
  compact                give the free pages of an old database back to the disk
  catalogue move         move accounts, keys and records into PostgreSQL
  data-key replace       make a new data.key where it is lost, and give up what it sealed
  accounts               show all accounts and what they keep
  takedown add           have the gateway refuse content
  takedown remove        let it be served again
  takedown list          show what is refused, and why

Accounts and keys, on the data directory, beside a running server or without one:
  account create         make an account with a key of its own
  account list           show all accounts
  account set-plan       put an account on another plan
  account set-password   give an account a password to sign in with
  account disable-2fa    turn the second factor of an account off
  account disable        refuse an account for the time being
  account enable         let it in again
  account delete         delete an account and its pins
  account sessions       show where an account is signed in
  account end-sessions   end its sessions
  key create             make a key for an account
  key revoke             take a key away
  key list               show the keys of an account

help [COMMAND] or --help explains each, --version tells which this is. Exit codes: 0 done, 1 failed, 2 used wrongly.`,

  ...CLIENT_HELP,

  serve: `Usage: holdfast serve [flags]

Runs the server until SIGTERM or SIGINT.

  --host HOST      address to listen on (HOLDFAST_HOST, default 127.0.0.1)
  --port PORT      port to listen on, 0 for any free one (HOLDFAST_PORT, default 4100)
  --gateway-port PORT
                   port that serves content and nothing else (HOLDFAST_GATEWAY_PORT, default the one behind --port)
  --no-console     without the page at /console/
  --check-config   only check flags, variables and configuration, and print what would be used
${COMMON}

HOLDFAST_BOOTSTRAP_KEY, 32 printable characters or more, is an API key of the owner.
HOLDFAST_LOG_LEVEL is one of fatal, error, warn, info (the default), debug, trace, silent.
HOLDFAST_METRICS says who may read /metrics: loopback (the default), all or nobody.`,

  account: `Usage: holdfast account COMMAND [flags]

create, list, set-plan, set-password, disable-2fa, disable, enable, delete, sessions, end-sessions.

Each has its own --help.`,

  'account create': `Usage: holdfast account create --email EMAIL --plan PLAN [flags]

Makes an account and prints it as JSON with a key that has every scope, shown only this once.

  --email EMAIL    of the new account
  --plan PLAN      free, premium, unlimited, or a configured one
  --name NAME      of its holder
${COMMON}`,

  'account list': `Usage: holdfast account list [flags]

Shows all accounts, oldest first: as a table on a terminal, elsewhere as JSON, one a line, as "holdfast accounts --json"
does, which tells besides what each of them keeps.

  --json           as JSON on a terminal, too
${COMMON}`,

  'account set-plan': `Usage: holdfast account set-plan --account ACCOUNT --plan PLAN [flags]

Puts an account on another plan; a running server follows within a second.

  --account ACCOUNT  email or id (--email is the same)
  --plan PLAN        free, premium, unlimited, or a configured one
${COMMON}`,

  'account set-password': `Usage: holdfast account set-password --account ACCOUNT [flags]

Gives an account the password that is the first line of standard input, and ends its sessions. Keys stay as they are.

  --account ACCOUNT  email or id (--email is the same)
${COMMON}`,

  'account disable-2fa': `Usage: holdfast account disable-2fa --account ACCOUNT [flags]

Turns the second factor of an account off, for whoever has lost it and the recovery codes.

  --account ACCOUNT  email or id (--email is the same)
${COMMON}`,

  'account disable': `Usage: holdfast account disable --account ACCOUNT [flags]

Refuses an account's keys and sessions from now on, and lets nobody sign in; a running server follows within a second.
Its content stays.

  --account ACCOUNT  email or id (--email is the same)
${COMMON}`,

  'account enable': `Usage: holdfast account enable --account ACCOUNT [flags]

Takes back account disable.

  --account ACCOUNT  email or id (--email is the same)
${COMMON}`,

  'account delete': `Usage: holdfast account delete --account ACCOUNT [flags]

Deletes an account for ever, with its keys, sessions and pins. It can do nothing from now on; a running server follows
within a second, and has removed its content soon after. Without one the next start does.

  --account ACCOUNT  email or id (--email is the same)
${COMMON}`,

  'account sessions': `Usage: holdfast account sessions --account ACCOUNT [flags]

Prints where an account is signed in as JSON, oldest first.

  --account ACCOUNT  email or id (--email is the same)
${COMMON}`,

  'account end-sessions': `Usage: holdfast account end-sessions --account ACCOUNT [flags]

Ends all sessions of an account; a running server follows within a second. Keys stay as they are.

  --account ACCOUNT  email or id (--email is the same)
${COMMON}`,

  key: `Usage: holdfast key create|revoke|list [flags]

Each has its own --help.`,

  'key create': `Usage: holdfast key create --account ACCOUNT [flags]

Makes an API key and prints it as JSON, shown only this once.

  --account ACCOUNT        email or id
  --scopes A,B             of files:read, files:write, files:delete, cluster:read (default all but files:delete)
  --name NAME              unique in the account (default: a random one)
  --label LABEL            a note
  --expires-in-days DAYS   0 for never (the default)
  --ip-allowlist A,B       addresses and networks it may be used from (default: anywhere)

With --max-uses it is an upload token, for a browser or another program to upload with and nothing else:

  --max-uses COUNT         how many uploads it is for, 1 to 10,000
  --max-bytes BYTES        of one upload (default: what the plan allows)
  --cluster ID             where they go (default: the cluster of the account)
  --timelock TIME          when they expire, such as 2030-01-31T12:00:00Z (default: never)
  --expires-in-seconds N   when the token ends, 604,800 at most (default 3,600)

${COMMON}`,

  'key revoke': `Usage: holdfast key revoke --account ACCOUNT --name NAME [flags]

Takes an API key away; a running server follows within a second.

  --account ACCOUNT  email or id
  --name NAME        of the key
${COMMON}`,

  'key list': `Usage: holdfast key list --account ACCOUNT [flags]

Prints the API keys of an account as JSON, oldest first, without their secrets.

  --account ACCOUNT  email or id
  --uploads          its upload tokens instead
${COMMON}`,
} as const

export type HelpTopic = keyof typeof HELP
