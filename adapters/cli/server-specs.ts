import { type CommandSpec, DIRECTORY_FLAGS, type FlagTable } from './command-spec.ts'

/** Flags of the addresses of a server. */
const ADDRESS_FLAGS = {
  host: { value: 'HOST', about: 'address of the server (HOLDFAST_HOST, default 127.0.0.1)' },
  port: { value: 'PORT', about: 'port of the API, 0 for any free one (HOLDFAST_PORT, default 4100)' },
  'gateway-port': {
    value: 'PORT',
    about: 'port that serves only content (HOLDFAST_GATEWAY_PORT, default: the next after --port)',
  },
} as const satisfies FlagTable

export const SERVER_COMMANDS = {
  serve: {
    about: 'Run the server',
    text: 'Runs the server until SIGTERM or SIGINT.',
    flags: {
      ...ADDRESS_FLAGS,
      'no-console': { about: 'do not serve the console at /console/' },
      'as-new': { about: 'let the data directory of a forgotten node join as a new node, and offer its content' },
      'check-config': { about: 'check flags, variables and configuration, print the result and exit' },
      ...DIRECTORY_FLAGS,
    },
    outro: `HOLDFAST_BOOTSTRAP_KEY, 32 printable characters or more, becomes an API key of the owner.
HOLDFAST_LOG_LEVEL is one of fatal, error, warn, info (the default), debug, trace, silent.
HOLDFAST_METRICS sets the readers of /metrics: loopback (the default), all or nobody.`,
  },
  'config schema': {
    about: 'Print the JSON Schema of the configuration file',
    text: `Prints the JSON Schema of the configuration file. Editors use it for completion and checks: save it, and name it in the
field "$schema" of the file.`,
    examples: ['holdfast config schema > holdfast.schema.json'],
    flags: {},
  },
  doctor: {
    about: 'Check configuration, machine and running server',
    text: `Checks configuration, ports, clock, disk, network, proxy headers, sign-in provider and the age of the backup. It changes
nothing, and works with and without a running server. Give it the flags and variables of "holdfast serve". If it finds a
fault, the exit code is 1.`,
    flags: {
      ...ADDRESS_FLAGS,
      key: { value: 'KEY', about: 'key of the owner, to check a running server (HOLDFAST_API_KEY)' },
      backup: {
        value: 'DIR',
        about: 'directory of a backup, or of several (may be repeated; besides backupRoots)',
        many: true,
      },
      json: { about: 'print one JSON object per check' },
      ...DIRECTORY_FLAGS,
    },
  },
} as const satisfies Record<string, CommandSpec>
