import { type CommandSpec, JSON_DIRECTORY_FLAGS, OWNER_FLAGS } from './command-spec.ts'

const ONE_BACKUP = { usage: 'BACKUP', what: 'the directory of a backup', min: 1, max: 1, arePaths: true } as const
const TARGET = { usage: 'CID[/PATH]', what: 'a CID, or CID/path,', min: 1, max: 1 } as const

export const NODE_COMMANDS = {
  stats: {
    about: 'Show accounts, pins, blocks and disk usage',
    text: 'Shows accounts, pins by status, roots, blocks, bytes and unused blocks.',
    examples: ['holdfast stats --data-dir ./data'],
    flags: OWNER_FLAGS,
  },
  gc: {
    about: 'Delete unused blocks',
    text: 'Deletes unused blocks now. The node also does so regularly.',
    examples: ['holdfast gc --grace 0'],
    flags: {
      grace: {
        value: 'SECONDS',
        least: 0,
        about: 'keep blocks that became unused less than this ago (default: as configured)',
      },
      'end-undo': { about: 'end all undo periods first: their jobs can no longer be undone' },
      ...OWNER_FLAGS,
    },
  },
  verify: {
    about: 'Check every block',
    text: `Reads every block and checks its hash while the node runs. Prints damaged blocks with the roots that need them, and ends
with exit code 1. Upload the same content again to repair them.`,
    examples: ['holdfast verify --json'],
    flags: OWNER_FLAGS,
  },
  reconcile: {
    about: 'Find and repair inconsistencies',
    text: `Compares records, holds, roots, blocks and files while the node runs, then prints and repairs inconsistencies. Pins with
lost content become pinning until it is fetched again. Unused holds are released, and files without a block deleted. If
more than one hold in a hundred is unused, nothing is released, because the database may be the wrong one.`,
    examples: ['holdfast reconcile --dry-run'],
    flags: {
      'dry-run': { about: 'change nothing; exit code 1 if there are inconsistencies' },
      force: { about: 'release any number of holds' },
      ...OWNER_FLAGS,
    },
  },
  backup: {
    about: 'Back up the node while it runs',
    text: `Backs up the node into a directory while it runs; garbage collection waits. Repeat it to add new blocks and to remove
deleted ones. If the file system can, blocks are links: a backup on the same disk is cheap, but lost with that disk. A
running server writes only to directories in backupRoots. A backup of another node, or with more than twice as many
roots, is not replaced, because the node's disk may not be mounted.`,
    examples: ['holdfast backup /backups/holdfast --data-dir ./data'],
    words: { usage: 'DIR', what: 'a directory', min: 1, max: 1, arePaths: true },
    flags: {
      keys: { value: 'DIR', about: 'directory of the keys (default: keys in the backup); with --data-dir' },
      rate: { value: 'BYTES', least: 1_024, about: 'most bytes to read per second (default: backupBytesPerSecond)' },
      force: { about: 'replace a backup of another node, or with more roots' },
      ...OWNER_FLAGS,
    },
  },
  'backup check': {
    about: 'Read a whole backup, and repair it',
    text: `Reads a whole backup on this machine, lists missing and damaged files, and notes the time in its manifest. The exit code
is 1 unless the backup is complete. With --repair it copies good files from a data directory, even one in use.`,
    examples: [
      'holdfast backup check /backups/holdfast',
      'holdfast backup check /backups/holdfast --repair --data-dir ./data',
    ],
    words: ONE_BACKUP,
    flags: {
      repair: { about: 'replace damaged and missing files' },
      keys: { value: 'DIR', about: 'directory of the keys (default: as in the backup)' },
      rate: { value: 'BYTES', least: 1_024, about: 'most bytes to read per second (default: no limit)' },
      ...JSON_DIRECTORY_FLAGS,
      'data-dir': {
        value: 'DIR',
        about: 'with --repair: directory of all stores (HOLDFAST_DATA_DIR, default ./data)',
      },
    },
  },
  restore: {
    about: 'Create a data directory from a backup',
    text: `Creates a data directory from a backup, and checks every block. The result is a new node: it has a new network identity,
and users sign in again. API keys, passwords and second factors stay valid.`,
    examples: ['holdfast restore /backups/holdfast --data-dir ./restored'],
    words: ONE_BACKUP,
    flags: {
      'data-dir': { value: 'DIR', about: 'new data directory, missing or empty', required: true },
      keys: { value: 'DIR', about: 'directory of the keys (default: keys in the backup)' },
      'same-node': { about: 'keep identity and sessions; only if the old node is gone for good' },
      partial: { about: 'restore complete content if blocks are damaged (exit code 1)' },
      json: JSON_DIRECTORY_FLAGS.json,
    },
  },
  compact: {
    about: 'Shrink the database file of an old data directory',
    text: `Rewrites the database of a data directory without its free pages; from then on it shrinks by itself. Only databases from
0.1.0 need this, once. Stop the server first. The disk needs as much free space as the database has bytes.`,
    examples: ['holdfast compact --data-dir ./data'],
    flags: JSON_DIRECTORY_FLAGS,
  },
  upgrade: {
    about: 'Rehearse the change that a new version makes to the database',
    text: `Rehearses the first start of this version on a copy of the database: what changes, how long it takes and how much disk it
needs. The data directory stays as it is, and the server of the old version may run. It does not rehearse PostgreSQL.`,
    examples: ['holdfast upgrade --check --data-dir ./data'],
    flags: {
      check: { about: 'needed, because the server itself makes the change at its first start', required: true },
      scratch: { value: 'DIR', about: 'directory for the copy (default: tmp in the data directory)' },
      ...JSON_DIRECTORY_FLAGS,
    },
  },
  'catalogue move': {
    about: 'Move accounts, keys and records to PostgreSQL',
    text: `Moves accounts, keys, sessions and records of a data directory to an empty PostgreSQL database, which the directory uses
from then on. Blocks stay in place. Stop the server first. If the move is interrupted, run it again: until it ends, the
directory keeps using its old database.`,
    examples: ['holdfast catalogue move --data-dir ./data --config config.json'],
    flags: {
      to: { value: 'URL', about: 'database (default: database in the configuration; other users can see flags)' },
      ...JSON_DIRECTORY_FLAGS,
    },
  },
  'data-key replace': {
    about: 'Replace a lost data.key, and drop the secrets that it sealed',
    text: `Lists the secrets that a lost data.key has sealed. With --forget-secrets drops them and creates a new data.key. Accounts
then sign in without a second factor until they set up a new one, and the node gets a new network identity. Stop the
server first, and look for the lost key in your backups: with it nothing is lost.`,
    examples: ['holdfast data-key replace --data-dir ./data --forget-secrets'],
    flags: {
      'forget-secrets': { about: 'drop the sealed secrets; this cannot be undone' },
      ...JSON_DIRECTORY_FLAGS,
    },
  },
  accounts: {
    about: 'List all accounts and their usage',
    text: 'Lists all accounts with their usage, oldest first.',
    examples: ['holdfast accounts'],
    flags: OWNER_FLAGS,
  },
  'takedown add': {
    about: 'Block content at the gateway',
    text: `Blocks content at the gateway, at once. A CID is blocked on every path, with everything below it. A path below a CID is
blocked only on that path.`,
    examples: ['holdfast takedown add bafy... --reason "complaint 17" --status 451'],
    words: TARGET,
    flags: {
      reason: { value: 'TEXT', about: 'reason, shown only in the list', required: true },
      status: { value: 'STATUS', least: 0, about: '410 (the default), or 451 for legal reasons' },
      ...OWNER_FLAGS,
    },
  },
  'takedown remove': {
    about: 'Unblock content',
    text: 'Unblocks content. Give the same CID and path as for takedown add.',
    words: TARGET,
    flags: OWNER_FLAGS,
  },
  'takedown list': {
    about: 'List blocked content, with reasons',
    text: 'Lists blocked content with reasons, oldest first.',
    flags: OWNER_FLAGS,
  },
} as const satisfies Record<string, CommandSpec>
