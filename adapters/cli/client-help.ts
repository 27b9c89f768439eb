import { PUBLIC_NOTICE } from '../../src/domain/public-notice.ts'
import { webhookHelp } from './webhook-help.ts'

const SERVER = `  --api URL        base of the server's API (HOLDFAST_API, default http://127.0.0.1:4100/api/v3)
  --key KEY        API key or session token (HOLDFAST_API_KEY, which other users of the machine cannot see)
  --json           results as JSON, one object a line
  --help           this text`

const OWNER = `${SERVER}

Asks the running server, which answers this to the owner alone: with a session, or a key that has every scope. When
none is running, works on a data directory instead:

  --data-dir DIR   the directory of all its stores
  --config FILE    its configuration, JSON (HOLDFAST_CONFIG)`

/** What `--help` prints for the commands that speak to a server. */
export const CLIENT_HELP = {
  upload: `Usage: holdfast upload PATH... [flags]

Uploads files and directories, and prints the CID of each, on a terminal and with --json also where it can
be opened. A directory goes as one, with everything below it, hidden
files included; its files can then be opened below its CID. Symbolic links and empty directories are left out, and
listed. Nothing is read into memory as a whole, so any size will do.
${PUBLIC_NOTICE}

  holdfast upload ./site --name 'Site of May' --cluster cl1-eu

  --name NAME      what to call it in lists (default: its own name; for one PATH only)
  --cluster ID     where it is kept (default: the account's)
  --timelock TIME  when it ends, such as 2030-12-31T23:59:59Z
  --meta KEY=VALUE what is kept with it, and found by; may be given several times
${SERVER}`,

  import: `Usage: holdfast import FILE.car [flags]

Brings in the content of a CAR, and prints the CID and status of each of its roots. Every block is checked by its hash,
and a root has to be whole; blocks that no root needs are not kept. What "holdfast export" wrote brings its names and
timelocks along; pins that are refused are listed, and end the command with exit code 1.
${PUBLIC_NOTICE}

  holdfast import backup.car --name 'Backup of May'

  --name NAME      what to call it in lists (default: the file's own name)
  --cluster ID     where it is kept (default: the account's)
  --timelock TIME  when it ends, such as 2030-12-31T23:59:59Z
  --allow-partial  keep a root that is not whole as well, never as pinned: its status is failed, and the network may
                   complete it; on plans without a storage limit
${SERVER}`,

  export: `Usage: holdfast export CID|--all [flags]

Writes what is kept under a CID, or everything, to a CAR file: the content, and the names, meta and timelocks of the pins.
"holdfast import" makes the same pins of it, on this server or another; other programs read it as any CAR. The file is
there only once it is whole.

  holdfast export --all --out ada.car

  --out FILE       where to (default: CID.car, or holdfast-export.car)
  --all            every pin of the account
${SERVER}`,

  ls: `Usage: holdfast ls [CID] [flags]

Lists all uploads, the newest first; with the CID of a directory, all files in it. Times are UTC.

  holdfast ls --json | jq -r .cid

  --cid CID        only uploads of this content
  --name TEXT      only those with this in their name, in upper or lower case
  --meta KEY=VALUE only those that keep this; may be given several times
  --expiring       only uploads that will end
${SERVER}`,

  get: `Usage: holdfast get CID[/PATH] [flags]

Writes a file that is kept to a file here, which is there only once it is whole; with --tar a directory, as a TAR.

  holdfast get bafybeif.../img/logo.png --out logo.png

  --out FILE       where to (default: the last name of the path, or the CID)
  --tar            as a TAR, directories with everything below them
${SERVER}`,

  cat: `Usage: holdfast cat CID[/PATH] [flags]

Writes a file that is kept to standard output.

  holdfast cat bafybeif.../README.md | less

${SERVER}`,

  pin: `Usage: holdfast pin CID [flags]

Keeps content that others have, and prints how far that is. The server asks the network; where it is known who has the
content, say so with --origin, which is asked first.
${PUBLIC_NOTICE}

  holdfast pin bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm --wait

  --origin WHERE   a multiaddr ending in /p2p/..., or the URL of a gateway; may be given several times
  --wait           until everything is stored, or the server does not try any further (then exit code 1); without it
                   the server goes on in the background and "holdfast status" tells how far it is
  --name NAME      what to call it in lists
  --cluster ID     where it is kept (default: the account's)
  --timelock TIME  when it ends, such as 2030-12-31T23:59:59Z
${SERVER}`,

  status: `Usage: holdfast status CID [flags]

Tells how far a pin is: what is stored of it, in which clusters, and what went wrong if something did.

  holdfast status bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm

  --cluster ID     only in this cluster
${SERVER}`,

  rm: `Usage: holdfast rm CID [flags]

Removes a pin. Content that nothing else needs is deleted a little later.

  holdfast rm bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm

  --cluster ID     only in this cluster (default: in all)
${SERVER}`,

  stats: `Usage: holdfast stats [flags]

Shows how much the node holds: accounts, pins by status, roots, blocks and their bytes, what waits to be collected.

  holdfast stats --data-dir ./data

${OWNER}`,

  gc: `Usage: holdfast gc [flags]

Deletes now what no pin needs any more, which the node also does by itself from time to time.

  holdfast gc --grace 0

  --grace SECONDS  spare what was let go less than so long ago (default: as configured)
${OWNER}`,

  verify: `Usage: holdfast verify [flags]

Reads every block and checks its hash, while everything else goes on. Prints the damaged ones with the roots that need
them, and ends with exit code 1 if there are any. Uploading the same content again puts them right.

  holdfast verify --json

${OWNER}`,

  reconcile: `Usage: holdfast reconcile [flags]

Compares records, holds, roots, blocks and files both ways, while everything else goes on, prints what does not fit
together and puts it right: pins whose content is lost are pinning until it is fetched again, what nobody wants is let
go of, files of no block are removed. More than one in a hundred to let go of is refused: the database may be the wrong one.

  holdfast reconcile --dry-run

  --dry-run        change nothing; exit code 1 if there is something
  --force          let go of however much it is
${OWNER}`,

  backup: `Usage: holdfast backup DIR [flags]

Backs everything up into a directory, while everything else goes on; nothing is deleted meanwhile. Repeated, it adds
what is new and takes out what is gone. Where the file system can, blocks are links: a backup on the same disk costs
little, and is lost with that disk. The running server writes below its option backupRoots only. The backup of another
node, or of one that had more than twice as many roots, is not replaced: its disk may not be mounted.

  holdfast backup /backups/holdfast --data-dir ./data

  --keys DIR       where the keys go (default: keys in the backup); with --data-dir
  --rate BYTES     how fast blocks are read at most, a second (default: backupBytesPerSecond)
  --force          replace the backup of another node, or of one that had more roots
${OWNER}`,

  'backup check': `Usage: holdfast backup check DIR [flags]

Reads all of a backup on this machine, names what is missing or damaged, and notes in the manifest when that was. The exit
code is 1 unless all of it is whole. With --repair good files are copied from a data directory, which a server may be using.

  holdfast backup check /backups/holdfast
  holdfast backup check /backups/holdfast --repair --data-dir ./data

  --repair         replace what is damaged or missing
  --keys DIR       where the keys of the backup are (default: where the backup put them)
  --rate BYTES     how fast it reads at most, a second (default: no bound)
  --data-dir DIR   with --repair: the directory of all stores (HOLDFAST_DATA_DIR, default ./data)
  --config FILE    its configuration, JSON (HOLDFAST_CONFIG)
  --json           results as JSON, one object a line
  --help           this text`,

  compact: `Usage: holdfast compact [flags]

Writes the database of a data directory anew, without its free pages, and has it give them back by itself from then on:
for databases that 0.1.0 has made, once. No server may be running; it takes as much room as the database has bytes.

  holdfast compact --data-dir ./data

  --data-dir DIR   the directory of all stores (HOLDFAST_DATA_DIR, default ./data)
  --config FILE    its configuration, JSON (HOLDFAST_CONFIG)
  --json           results as JSON, one object a line
  --help           this text`,

  'catalogue move': `Usage: holdfast catalogue move [flags]

Moves accounts, keys, sessions and records of a data directory into a PostgreSQL database that has nothing, and has the
directory use it from then on; blocks stay where they are. No server may be running. Where it was cut short, it is done
again: the directory uses one or the other until then, whole.

  holdfast catalogue move --data-dir ./data --config config.json

  --to URL         the database (default: database in the configuration; others see flags of a command)
  --data-dir DIR   the directory of all stores (HOLDFAST_DATA_DIR, default ./data)
  --config FILE    its configuration, JSON (HOLDFAST_CONFIG)
  --json           results as JSON, one object a line
  --help           this text`,

  'data-key replace': `Usage: holdfast data-key replace [flags]

Tells what a lost data.key had sealed, and with --forget-secrets gives that up: accounts sign in without a second factor
until they set up a new one, and the node gets a new identity in the network. A new data.key is made. No server may be
running. Look for the lost one in the backups first: with it nothing is lost.

  holdfast data-key replace --data-dir ./data --forget-secrets

  --forget-secrets what it had sealed is dropped; nothing brings it back
  --data-dir DIR   the directory of all stores (HOLDFAST_DATA_DIR, default ./data)
  --config FILE    its configuration, JSON (HOLDFAST_CONFIG)
  --json           results as JSON, one object a line
  --help           this text`,

  restore: `Usage: holdfast restore BACKUP --data-dir DIR [flags]

Makes a data directory of a backup, every block checked. It is a node of its own: others do not know it, and all sign in
again; API keys, passwords and second factors go on as they were.

  holdfast restore /backups/holdfast --data-dir ./restored

  --data-dir DIR   missing or empty
  --keys DIR       where the keys of the backup are (default: keys in it)
  --same-node      keep identity and sessions, for when the other node is gone for good
  --partial        restore what is whole where blocks are damaged (then exit code 1)
  --json           results as JSON, one object a line
  --help           this text`,

  accounts: `Usage: holdfast accounts [flags]

Shows all accounts, oldest first, and what each of them keeps.

  holdfast accounts

${OWNER}`,

  takedown: `Usage: holdfast takedown add|remove|list [flags]

Each has its own --help.`,

  'takedown add': `Usage: holdfast takedown add CID[/PATH] --reason TEXT [flags]

Has the gateway refuse content, at once and for good. A CID is refused by any way that leads to it, with all that is below
it; a path below a CID only by that path.

  holdfast takedown add bafy... --reason "complaint 17" --status 451

  --reason TEXT    why; kept, and shown in the list alone
  --status STATUS  410 (the default), or 451 for legal reasons
${OWNER}`,

  'takedown remove': `Usage: holdfast takedown remove CID[/PATH] [flags]

Lets content be served again that takedown add has named so.

${OWNER}`,

  'takedown list': `Usage: holdfast takedown list [flags]

Shows what has been taken down, oldest first, and why.

${OWNER}`,
  ...webhookHelp(SERVER),
} as const
