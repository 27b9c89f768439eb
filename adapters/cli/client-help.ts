import { PUBLIC_NOTICE } from '../../src/domain/public-notice.ts'
import { jobHelp } from './job-help.ts'
import { loginHelp } from './login-help.ts'
import { nodeHelp } from './node-help.ts'
import { webhookHelp } from './webhook-help.ts' // feature: webhooks

const SERVER = `  --api URL        base of the server's API (HOLDFAST_API, default http://127.0.0.1:4100/api/v3)
  --key KEY        API key or session token (HOLDFAST_API_KEY; other users can see flags)
  --json           print one JSON object per line
  --help           this text`

const OWNER = `${SERVER}

Uses the running server, with a session of the owner or a key of every scope. Without a server, give the data directory:

  --data-dir DIR   directory of all stores
  --config FILE    configuration, JSON (HOLDFAST_CONFIG)`

export const CLIENT_HELP = {
  upload: `Usage: holdfast upload PATH... [flags]

Uploads files and directories, and prints their CIDs. On a terminal and with --json it also prints links. A directory
becomes one upload with all files below it, hidden ones included. Symbolic links, empty directories and names that a form
cannot carry are skipped and listed. If links or names are skipped, the exit code is 3. PATH - is standard input.
${PUBLIC_NOTICE}

  holdfast upload ./site --name 'Site of May' --cluster cl1-eu
  pg_dump shop | holdfast upload - --name shop.sql

  --name NAME      name in lists (default: its own name; for one PATH only)
  --cluster ID     cluster (default: the account's)
  --timelock TIME  expiry, such as 2030-12-31T23:59:59Z (default: never)
  --meta KEY=VALUE searchable metadata; may be repeated
  --follow-symlinks  upload what symbolic links lead to, also outside of the directory
  --preserve-mode  store permissions. Changes the CID, and uploads empty directories
  --preserve-mtime  store times in the same way
${SERVER}`,

  import: `Usage: holdfast import FILE.car [flags]

Imports the content of a CAR, and prints the CID and status of each root. Every block is checked by its hash, and every
root must be complete. Blocks outside of the roots are ignored. A file from "holdfast export" also restores names and
timelocks. If the server refuses a pin, it is listed and the exit code is 1.
${PUBLIC_NOTICE}

  holdfast import backup.car --name 'Backup of May'

  --name NAME      name in lists (default: the file's own name)
  --cluster ID     cluster (default: the account's)
  --timelock TIME  expiry, such as 2030-12-31T23:59:59Z (default: never)
  --allow-partial  also import incomplete roots, with status failed. Only on plans without a storage limit
${SERVER}`,

  export: `Usage: holdfast export CID|--all [flags]

Writes the pins of a CID, or all pins, to a CAR file: their content, names, metadata and timelocks. Restore them on any
server with "holdfast import"; other programs read the file as any CAR. An incomplete export leaves no file.

  holdfast export --all --out ada.car

  --out FILE       output file (default: CID.car, or holdfast-export.car)
  --all            export every pin of the account
${SERVER}`,

  ls: `Usage: holdfast ls [CID] [flags]

Lists all pins, the newest first. With the CID of a directory, lists its files. Times are UTC.

  holdfast ls --json | jq -r .cid

  --cid CID        only pins of this content
  --name TEXT      only pins with this text in their name, in any case
  --meta KEY=VALUE only pins with this metadata; may be repeated
  --expiring       only pins that expire
${SERVER}`,

  get: `Usage: holdfast get CID[/PATH]|URL [flags]

Downloads a file, or a directory into a new folder. An incomplete download leaves nothing. Symbolic links are skipped.
A URL of content names what to download; the server is that of --api.

  holdfast get bafybeif.../img/logo.png --out logo.png
  holdfast get bafybeif... --out site

  --out PATH       output file or new folder (default: the last name of the path, or the CID)
  --tar            download a TAR with everything below the path
${SERVER}`,

  cat: `Usage: holdfast cat CID[/PATH]|URL [flags]

Prints a file to standard output. A URL of content names the file; the server is that of --api.

  holdfast cat bafybeif.../README.md | less

${SERVER}`,

  pin: `Usage: holdfast pin CID [flags]

Pins content from the network, and prints the status. If you know a provider of the content, name it with --origin:
the server asks it first.
${PUBLIC_NOTICE}

  holdfast pin bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm --wait

  --origin WHERE   a multiaddr ending in /p2p/..., or the URL of a gateway; may be repeated
  --wait           wait until all blocks are stored, or the server stops trying (exit code 1)
  --name NAME      name in lists
  --cluster ID     cluster (default: the account's)
  --timelock TIME  expiry, such as 2030-12-31T23:59:59Z (default: never)
${SERVER}`,

  status: `Usage: holdfast status CID [flags]

Shows the status of a pin: stored blocks, clusters, and the last error.

  holdfast status bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm

  --cluster ID     only in this cluster
${SERVER}`,

  rm: `Usage: holdfast rm CID [flags]

Removes a pin. Unused blocks are deleted after a grace period.

  holdfast rm bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm

  --cluster ID     only in this cluster (default: all)
${SERVER}`,

  stats: `Usage: holdfast stats [flags]

Shows accounts, pins by status, roots, blocks, bytes and unused blocks.

  holdfast stats --data-dir ./data

${OWNER}`,

  gc: `Usage: holdfast gc [flags]

Deletes unused blocks now. The node also does so regularly.

  holdfast gc --grace 0

  --grace SECONDS  keep blocks that became unused less than this ago (default: as configured)
  --end-undo       end all undo periods first: their jobs can no longer be undone
${OWNER}`,

  verify: `Usage: holdfast verify [flags]

Reads every block and checks its hash while the node runs. Prints damaged blocks with the roots that need them, and ends
with exit code 1. Upload the same content again to repair them.

  holdfast verify --json

${OWNER}`,

  reconcile: `Usage: holdfast reconcile [flags]

Compares records, holds, roots, blocks and files while the node runs, then prints and repairs inconsistencies. Pins with
lost content become pinning until it is fetched again. Unused holds are released, and files without a block deleted. If
more than one hold in a hundred is unused, nothing is released, because the database may be the wrong one.

  holdfast reconcile --dry-run

  --dry-run        change nothing; exit code 1 if there are inconsistencies
  --force          release any number of holds
${OWNER}`,

  backup: `Usage: holdfast backup DIR [flags]

Backs up the node into a directory while it runs; garbage collection waits. Repeat it to add new blocks and to remove
deleted ones. If the file system can, blocks are links: a backup on the same disk is cheap, but lost with that disk. A
running server writes only to directories in backupRoots. A backup of another node, or with more than twice as many
roots, is not replaced, because the node's disk may not be mounted.

  holdfast backup /backups/holdfast --data-dir ./data

  --keys DIR       directory of the keys (default: keys in the backup); with --data-dir
  --rate BYTES     most bytes to read per second (default: backupBytesPerSecond)
  --force          replace a backup of another node, or with more roots
${OWNER}`,

  'backup check': `Usage: holdfast backup check DIR [flags]

Reads a whole backup on this machine, lists missing and damaged files, and notes the time in its manifest. The exit code
is 1 unless the backup is complete. With --repair it copies good files from a data directory, even one in use.

  holdfast backup check /backups/holdfast
  holdfast backup check /backups/holdfast --repair --data-dir ./data

  --repair         replace damaged and missing files
  --keys DIR       directory of the keys (default: as in the backup)
  --rate BYTES     most bytes to read per second (default: no limit)
  --data-dir DIR   with --repair: directory of all stores (HOLDFAST_DATA_DIR, default ./data)
  --config FILE    configuration, JSON (HOLDFAST_CONFIG)
  --json           print one JSON object per line
  --help           this text`,

  compact: `Usage: holdfast compact [flags]

Rewrites the database of a data directory without its free pages; from then on it shrinks by itself. Only databases from
0.1.0 need this, once. Stop the server first. The disk needs as much free space as the database has bytes.

  holdfast compact --data-dir ./data

  --data-dir DIR   directory of all stores (HOLDFAST_DATA_DIR, default ./data)
  --config FILE    configuration, JSON (HOLDFAST_CONFIG)
  --json           print one JSON object per line
  --help           this text`,

  'catalogue move': `Usage: holdfast catalogue move [flags]

Moves accounts, keys, sessions and records of a data directory to an empty PostgreSQL database, which the directory uses
from then on. Blocks stay in place. Stop the server first. If the move is interrupted, run it again: until it ends, the
directory keeps using its old database.

  holdfast catalogue move --data-dir ./data --config config.json

  --to URL         database (default: database in the configuration; other users can see flags)
  --data-dir DIR   directory of all stores (HOLDFAST_DATA_DIR, default ./data)
  --config FILE    configuration, JSON (HOLDFAST_CONFIG)
  --json           print one JSON object per line
  --help           this text`,

  'config schema': `Usage: holdfast config schema

Prints the JSON Schema of the configuration file. Editors use it for completion and checks: save it, and name it in the
field "$schema" of the file.

  holdfast config schema > holdfast.schema.json

  --help           this text`,

  'data-key replace': `Usage: holdfast data-key replace [flags]

Lists the secrets that a lost data.key has sealed. With --forget-secrets drops them and creates a new data.key. Accounts
then sign in without a second factor until they set up a new one, and the node gets a new network identity. Stop the
server first, and look for the lost key in your backups: with it nothing is lost.

  holdfast data-key replace --data-dir ./data --forget-secrets

  --forget-secrets drop the sealed secrets; this cannot be undone
  --data-dir DIR   directory of all stores (HOLDFAST_DATA_DIR, default ./data)
  --config FILE    configuration, JSON (HOLDFAST_CONFIG)
  --json           print one JSON object per line
  --help           this text`,

  restore: `Usage: holdfast restore BACKUP --data-dir DIR [flags]

Creates a data directory from a backup, and checks every block. The result is a new node: it has a new network identity,
and users sign in again. API keys, passwords and second factors stay valid.

  holdfast restore /backups/holdfast --data-dir ./restored

  --data-dir DIR   new data directory, missing or empty
  --keys DIR       directory of the keys (default: keys in the backup)
  --same-node      keep identity and sessions; only if the old node is gone for good
  --partial        restore complete content if blocks are damaged (exit code 1)
  --json           print one JSON object per line
  --help           this text`,

  accounts: `Usage: holdfast accounts [flags]

Lists all accounts with their usage, oldest first.

  holdfast accounts

${OWNER}`,

  takedown: `Usage: holdfast takedown add|remove|list [flags]

Each has its own --help.`,

  'takedown add': `Usage: holdfast takedown add CID[/PATH] --reason TEXT [flags]

Blocks content at the gateway, at once. A CID is blocked on every path, with everything below it. A path below a CID is
blocked only on that path.

  holdfast takedown add bafy... --reason "complaint 17" --status 451

  --reason TEXT    reason, shown only in the list
  --status STATUS  410 (the default), or 451 for legal reasons
${OWNER}`,

  'takedown remove': `Usage: holdfast takedown remove CID[/PATH] [flags]

Unblocks content. Give the same CID and path as for takedown add.

${OWNER}`,

  'takedown list': `Usage: holdfast takedown list [flags]

Lists blocked content with reasons, oldest first.

${OWNER}`,
  ...jobHelp(SERVER),
  ...nodeHelp(OWNER),
  ...loginHelp(SERVER),
  ...webhookHelp(SERVER), // feature: webhooks
} as const
