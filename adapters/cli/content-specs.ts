import { PUBLIC_NOTICE } from '../../src/domain/public-notice.ts'
import { API_FLAGS, type CommandSpec, type FlagTable } from './command-spec.ts'

/** Flags that say where and how long content is kept. */
const PLACE_FLAGS = {
  cluster: { value: 'ID', about: "cluster (default: the account's)" },
  timelock: { value: 'TIME', about: 'expiry, such as 7d, 12h or 2030-12-31T23:59:59Z (default: never)' },
  private: { about: "only the account may read the content (default: as the account's settings say)" },
  public: { about: 'anyone with the CID may read the content, whatever the settings say' },
} as const satisfies FlagTable
const ONE_CID = { usage: 'CID', what: 'a CID', min: 1, max: 1 } as const
const PLACE = { usage: 'CID[/PATH]|URL', what: 'a CID, CID/PATH or URL', min: 1, max: 1 } as const

export const CONTENT_COMMANDS = {
  upload: {
    about: 'Upload files and directories',
    aliases: ['add', 'put'],
    text: `Uploads files and directories, and prints their CIDs. On a terminal and with --json it also prints links. A directory
becomes one upload with all files below it, hidden ones included. Symbolic links, empty directories and names that a form
cannot carry are skipped and listed. If links or names are skipped, the exit code is 3. PATH - is standard input, which
needs --name.
${PUBLIC_NOTICE}`,
    examples: [
      "holdfast upload ./site --name 'Site of May' --cluster cl1-eu",
      'pg_dump shop | holdfast upload - --name shop.sql',
    ],
    words: { usage: 'PATH...', what: 'a file or directory', min: 1, max: Number.POSITIVE_INFINITY, arePaths: true },
    flags: {
      name: { value: 'NAME', mayBeEmpty: true, about: 'name in lists (default: its own name; for one PATH only)' },
      ...PLACE_FLAGS,
      meta: { value: 'KEY=VALUE', about: 'searchable metadata; may be repeated', many: true },
      'follow-symlinks': { about: 'upload what symbolic links lead to, also outside of the directory' },
      'preserve-mode': { about: 'store permissions. Changes the CID, and uploads empty directories' },
      'preserve-mtime': { about: 'store times in the same way' },
      ...API_FLAGS,
    },
  },
  import: {
    about: 'Import a CAR file, and check every block',
    text: `Imports the content of a CAR, and prints the CID and status of each root. Every block is checked by its hash, and every
root must be complete. Blocks outside of the roots are ignored. A file from "holdfast export" also restores names and
timelocks. If the server refuses a pin, it is listed and the exit code is 1.
${PUBLIC_NOTICE}`,
    examples: ["holdfast import backup.car --name 'Backup of May'"],
    words: { usage: 'FILE.car', what: 'a CAR file', min: 1, max: 1, arePaths: true },
    flags: {
      name: { value: 'NAME', mayBeEmpty: true, about: "name in lists (default: the file's own name)" },
      ...PLACE_FLAGS,
      'allow-partial': {
        about: 'also import incomplete roots, with status failed. Only on plans without a storage limit',
      },
      ...API_FLAGS,
    },
  },
  export: {
    about: 'Export pins to a CAR file for import',
    text: `Writes the pins of a CID, or all pins, to a CAR file: their content, names, metadata and timelocks. Restore them on any
server with "holdfast import"; other programs read the file as any CAR. An incomplete export leaves no file. Private pins
are left out unless you ask for them.`,
    examples: ['holdfast export --all --out ada.car'],
    words: { usage: 'CID|--all', what: '', min: 0, max: 1 },
    flags: {
      out: { value: 'FILE', about: 'output file (default: CID.car, or holdfast-export.car)' },
      all: { about: 'export every pin of the account' },
      'include-private': { about: 'export private pins, too; earlier versions refuse the file' },
      ...API_FLAGS,
    },
  },
  ls: {
    about: 'List your pins',
    aliases: ['list'],
    text: 'Lists all pins, the newest first. With the CID of a directory, lists its files. Times are UTC.',
    examples: ['holdfast ls --json | jq -r .cid'],
    words: { usage: '[CID]', what: '', min: 0, max: 1 },
    flags: {
      cid: { value: 'CID', about: 'only pins of this content' },
      name: { value: 'TEXT', about: 'only pins with this text in their name, in any case' },
      meta: { value: 'KEY=VALUE', about: 'only pins with this metadata; may be repeated', many: true },
      expiring: { about: 'only pins that expire' },
      only: { value: 'WORD', about: 'only public, private or disputed pins' },
      ...API_FLAGS,
    },
  },
  get: {
    about: 'Download a file, or a directory into a new folder',
    text: `Downloads a file, or a directory into a new folder. An incomplete download leaves nothing. Symbolic links are skipped.
A URL of content names what to download; the server is that of --api.`,
    examples: ['holdfast get bafybeif.../img/logo.png --out logo.png', 'holdfast get bafybeif... --out site'],
    words: PLACE,
    flags: {
      out: { value: 'PATH', about: 'output file or new folder (default: the last name of the path, or the CID)' },
      tar: { about: 'download a TAR with everything below the path' },
      ...API_FLAGS,
    },
  },
  cat: {
    about: 'Print a file to standard output',
    text: 'Prints a file to standard output. A URL of content names the file; the server is that of --api.',
    examples: ['holdfast cat bafybeif.../README.md | less'],
    words: PLACE,
    flags: API_FLAGS,
  },
  pin: {
    about: 'Pin content from the network by its CID',
    text: `Pins content from the network, and prints the status. If you know a provider of the content, name it with --origin:
the server asks it first. Without --wait, the server continues in the background; see "holdfast status".
${PUBLIC_NOTICE}`,
    examples: ['holdfast pin bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm --wait'],
    words: ONE_CID,
    flags: {
      origin: {
        value: 'WHERE',
        about: 'a multiaddr ending in /p2p/..., or the URL of a gateway; may be repeated',
        many: true,
      },
      wait: { about: 'wait until all blocks are stored, or the server stops trying (exit code 1)' },
      name: { value: 'NAME', mayBeEmpty: true, about: 'name in lists' },
      ...PLACE_FLAGS,
      ...API_FLAGS,
    },
  },
  status: {
    about: 'Show the status of a pin',
    text: 'Shows the status of a pin: stored blocks, clusters, and the last error.',
    examples: ['holdfast status bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm'],
    words: ONE_CID,
    flags: { cluster: { value: 'ID', about: 'only in this cluster' }, ...API_FLAGS },
  },
  rm: {
    about: 'Remove a pin',
    aliases: ['delete', 'remove'],
    text: 'Removes a pin. Unused blocks are deleted after a grace period.',
    examples: ['holdfast rm bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm'],
    words: ONE_CID,
    flags: { cluster: { value: 'ID', about: 'only in this cluster (default: all)' }, ...API_FLAGS },
  },
} as const satisfies Record<string, CommandSpec>
