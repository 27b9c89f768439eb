import { CLIENT_HELP } from './client-help.ts'

const COMMON = `  --data-dir DIR   directory of all stores (HOLDFAST_DATA_DIR, default ./data)
  --config FILE    configuration, JSON (HOLDFAST_CONFIG)
  --help           this text`

/** Help texts by command. The empty name stands for the whole program. */
export const HELP = {
  '': [
    `Usage: holdfast <command> [flags]

Your content, on any Holdfast server (--api, --key):
  login                  Save a server and an API key for all commands
  whoami                 Show the server and account of your key
  logout                 Delete the saved server and key
  completion             Print a script that completes commands in a shell
  upload, add, put       Upload files and directories
  import                 Import a CAR file, and check every block
  export                 Export pins to a CAR file for import
  ls, list               List your pins
  get                    Download a file, or a directory into a new folder
  cat                    Print a file to standard output
  pin                    Pin content from the network by its CID
  status                 Show the status of a pin
  rm, delete, remove     Remove a pin
  job delete             Delete many pins at once
  job edit               Rename, expire or move many pins at once
  job list               List the running and the latest jobs
  job undo               Restore the pins that a job deleted`,
    // feature: webhooks
    `  webhook add            Send pin events to a URL
  webhook list           List your webhooks
  webhook log            Show the deliveries of a webhook
  webhook remove         Remove a webhook`,
    // end
    `
The server:
  serve                  Run the server
  config schema          Print the JSON Schema of the configuration file
  doctor                 Check configuration, machine and running server

The node, for its owner, through the running server or on its data directory:
  stats                  Show accounts, pins, blocks and disk usage
  gc                     Delete unused blocks
  verify                 Check every block
  reconcile              Find and repair inconsistencies
  backup                 Back up the node while it runs
  backup check           Read a whole backup, and repair it
  restore                Create a data directory from a backup
  compact                Shrink the database file of an old data directory
  upgrade --check        Rehearse the change that a new version makes to the database
  catalogue move         Move accounts, keys and records to PostgreSQL
  data-key replace       Replace a lost data.key, and drop the secrets that it sealed
  accounts               List all accounts and their usage
  takedown add           Block content at the gateway
  takedown remove        Unblock content
  takedown list          List blocked content, with reasons
  node list              List the nodes of a fleet
  node retire            Move the content of a node to another node
  node forget            Give up a node whose disk is gone
  node lost              List the records whose content was lost with a node

Accounts and keys, on the data directory, with or without a running server:
  account create         Create an account with an API key
  account list           List all accounts
  account set-plan       Change the plan of an account
  account set-password   Set the password of an account
  account password-link  Make a link that sets the password of an account
  account set-identity   Let a user of the sign-in provider use an account
  account disable-2fa    Turn off the second factor of an account
  account disable        Disable an account
  account enable         Enable a disabled account
  account delete         Delete an account and its pins
  account sessions       List the sessions of an account
  account end-sessions   End all sessions of an account
  key create             Create an API key
  key revoke             Revoke an API key
  key list               List the keys of an account

Use help [COMMAND] or --help for details, and --version for the version.
Exit codes: 0 success, 1 failure, 2 wrong usage.`,
  ].join('\n'),

  ...CLIENT_HELP,

  serve: `Usage: holdfast serve [flags]

Runs the server until SIGTERM or SIGINT.

  --host HOST      address to listen on (HOLDFAST_HOST, default 127.0.0.1)
  --port PORT      port to listen on, 0 for any free one (HOLDFAST_PORT, default 4100)
  --gateway-port PORT
                   port that serves only content (HOLDFAST_GATEWAY_PORT, default: the next after --port)
  --no-console     do not serve the console at /console/
  --as-new         let the data directory of a forgotten node join as a new node, and offer its content
  --check-config   check flags, variables and configuration, print the result and exit
${COMMON}

HOLDFAST_BOOTSTRAP_KEY, 32 printable characters or more, becomes an API key of the owner.
HOLDFAST_LOG_LEVEL is one of fatal, error, warn, info (the default), debug, trace, silent.
HOLDFAST_METRICS sets the readers of /metrics: loopback (the default), all or nobody.`,

  doctor: `Usage: holdfast doctor [flags]

Checks configuration, ports, clock, disk, network, proxy headers, sign-in provider and the age of the backup. It changes
nothing, and works with and without a running server. Give it the flags and variables of "holdfast serve". If it finds a fault, the
exit code is 1.

  --host HOST      address of the server (HOLDFAST_HOST, default 127.0.0.1)
  --port PORT      port of the API (HOLDFAST_PORT, default 4100)
  --gateway-port PORT
                   port of the gateway (HOLDFAST_GATEWAY_PORT, default: the next after --port)
  --key KEY        key of the owner, to check a running server (HOLDFAST_API_KEY)
  --backup DIR     directory of a backup, or of several (may be repeated; besides backupRoots)
  --json           print one JSON object per check
${COMMON}`,

  upgrade: `Usage: holdfast upgrade --check [flags]

Rehearses the first start of this version on a copy of the database: what changes, how long it takes and how much disk it
needs. The data directory stays as it is, and the server of the old version may run. It does not rehearse PostgreSQL.

  holdfast upgrade --check --data-dir ./data

  --check          required: the server itself makes the change at its first start
  --scratch DIR    directory for the copy (default: tmp in the data directory)
  --json           print JSON
${COMMON}`,

  account: `Usage: holdfast account COMMAND [flags]

create, list, set-plan, set-password, password-link, set-identity, disable-2fa, disable, enable, delete, sessions,
end-sessions.

Each has its own --help.`,

  'account create': `Usage: holdfast account create --email EMAIL --plan PLAN [flags]

Creates an account and prints it as JSON. Its key has every scope and is shown only once.

  --email EMAIL    email of the account
  --plan PLAN      free, premium, unlimited, or a configured plan
  --name NAME      display name
${COMMON}`,

  'account list': `Usage: holdfast account list [flags]

Lists all accounts, oldest first: a table on a terminal, otherwise one JSON object per line. "holdfast accounts" also
shows the usage of each account.

  --json           print JSON on a terminal as well
${COMMON}`,

  'account set-plan': `Usage: holdfast account set-plan --account ACCOUNT --plan PLAN [flags]

Changes the plan of an account. A running server applies it within a second.

  --account ACCOUNT  email or id (--email is the same)
  --plan PLAN        free, premium, unlimited, or a configured plan
${COMMON}`,

  'account set-password': `Usage: holdfast account set-password --account ACCOUNT [flags]

Sets the password of an account to the first line of standard input, and ends its sessions. Keys stay valid.

  --account ACCOUNT  email or id (--email is the same)
${COMMON}`,

  'account password-link': `Usage: holdfast account password-link --account ACCOUNT [flags]

Prints a link to the console that sets the password of an account, once, within 24 hours. It replaces the former link.
The sessions of the account end when the link is used. Keys and the second factor stay.

  --account ACCOUNT  email or id (--email is the same)
${COMMON}

The link has "publicUrl" of the configuration if that is an https address, otherwise HOLDFAST_HOST and HOLDFAST_PORT.`,

  'account set-identity': `Usage: holdfast account set-identity --account ACCOUNT --subject SUBJECT [flags]

Lets a user of the sign-in provider sign in to an existing account, instead of the user before. The groups of the user
then decide the plan. An owner signs in without a provider.

  --account ACCOUNT  email or id (--email is the same)
  --subject SUBJECT  id of the user at the provider, the claim "sub" of their tokens
  --issuer URL       the provider (default: "oidc.issuer" of the configuration)
${COMMON}`,

  'account disable-2fa': `Usage: holdfast account disable-2fa --account ACCOUNT [flags]

Turns off the second factor of an account, for a user without authenticator and recovery codes.

  --account ACCOUNT  email or id (--email is the same)
${COMMON}`,

  'account disable': `Usage: holdfast account disable --account ACCOUNT [flags]

Refuses the keys, sessions and sign-ins of an account. A running server applies it within a second. Its content stays.

  --account ACCOUNT  email or id (--email is the same)
${COMMON}`,

  'account enable': `Usage: holdfast account enable --account ACCOUNT [flags]

Enables a disabled account again.

  --account ACCOUNT  email or id (--email is the same)
${COMMON}`,

  'account delete': `Usage: holdfast account delete --account ACCOUNT [flags]

Deletes an account with its keys, sessions and pins. This cannot be undone. A running server refuses the account within
a second and removes its content soon after. Otherwise the next start removes the content.

  --account ACCOUNT  email or id (--email is the same)
${COMMON}`,

  'account sessions': `Usage: holdfast account sessions --account ACCOUNT [flags]

Prints the sessions of an account as JSON, oldest first.

  --account ACCOUNT  email or id (--email is the same)
${COMMON}`,

  'account end-sessions': `Usage: holdfast account end-sessions --account ACCOUNT [flags]

Ends all sessions of an account. A running server applies it within a second. Keys stay valid.

  --account ACCOUNT  email or id (--email is the same)
${COMMON}`,

  key: `Usage: holdfast key create|revoke|list [flags]

Each has its own --help.`,

  'key create': `Usage: holdfast key create --account ACCOUNT [flags]

Creates an API key and prints it as JSON. The key is shown only once.

  --account ACCOUNT        email or id
  --scopes A,B             files:read, files:write, files:delete, cluster:read (default: all but files:delete)
  --name NAME              unique in the account (default: a random one)
  --label LABEL            free text
  --expires-in-days DAYS   0 for never (the default)
  --ip-allowlist A,B       addresses and networks that may use it (default: all)

With --max-uses the key is an upload token, which can only upload, for a browser or another program:

  --max-uses COUNT         most uploads, 1 to 10,000
  --max-bytes BYTES        most bytes of one upload (default: limit of the plan)
  --cluster ID             cluster of the uploads (default: that of the account)
  --timelock TIME          expiry of the uploads, such as 2030-01-31T12:00:00Z (default: never)
  --expires-in-seconds N   lifetime of the token, 604,800 at most (default 3,600)

${COMMON}`,

  'key revoke': `Usage: holdfast key revoke --account ACCOUNT --name NAME [flags]

Revokes an API key. A running server applies it within a second.

  --account ACCOUNT  email or id
  --name NAME        name of the key
${COMMON}`,

  'key list': `Usage: holdfast key list --account ACCOUNT [flags]

Prints the API keys of an account as JSON, oldest first, without secrets.

  --account ACCOUNT  email or id
  --uploads          list upload tokens instead
${COMMON}`,
} as const

export type HelpTopic = keyof typeof HELP
