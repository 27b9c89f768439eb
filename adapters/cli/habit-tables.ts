import type { CommandName } from './all-commands.ts'

/** Names of commands in `ipfs`, `gh` and other programs, with the command that does the same. */
export const COMMAND_HABITS: ReadonlyMap<string, CommandName> = new Map([
  ['pin ls', 'ls'],
  ['pin list', 'ls'],
  ['pin add', 'pin'],
  ['pin rm', 'rm'],
  ['pin remove', 'rm'],
  ['pin delete', 'rm'],
  ['pin status', 'status'],
  ['unpin', 'rm'],
  ['download', 'get'],
  ['show', 'status'],
  ['view', 'status'],
  ['dag export', 'export'],
  ['dag import', 'import'],
  ['auth login', 'login'],
  ['auth logout', 'logout'],
  ['auth status', 'whoami'],
  // feature: bulk
  ['job ls', 'job list'],
  ['jobs', 'job list'],
  // feature: webhooks
  ['webhook ls', 'webhook list'],
  ['webhooks', 'webhook list'],
  ['webhook create', 'webhook add'],
  ['webhook rm', 'webhook remove'],
  ['webhook delete', 'webhook remove'],
  // end
  ['daemon', 'serve'],
  ['server', 'serve'],
  ['start', 'serve'],
  ['diag', 'doctor'],
  ['repo gc', 'gc'],
  ['repo stat', 'stats'],
  ['repo verify', 'verify'],
  ['backup create', 'backup'],
  ['users', 'accounts'],
  ['user list', 'accounts'],
  ['user ls', 'accounts'],
  ['user create', 'account create'],
  ['user add', 'account create'],
  ['user delete', 'account delete'],
  ['account ls', 'account list'],
  ['account add', 'account create'],
  ['account rm', 'account delete'],
  ['account remove', 'account delete'],
  ['keys', 'key list'],
  ['key ls', 'key list'],
  ['key gen', 'key create'],
  ['key add', 'key create'],
  ['key rm', 'key revoke'],
  ['key delete', 'key revoke'],
  ['token list', 'key list'],
  ['token create', 'key create'],
  ['token revoke', 'key revoke'],
  ['node ls', 'node list'],
  ['nodes', 'node list'],
  ['takedown ls', 'takedown list'],
  ['takedowns', 'takedown list'],
  ['takedown rm', 'takedown remove'],
])

/** Commands of other programs that Holdfast does not have, with what to do instead. */
export const COMMAND_HINTS: ReadonlyMap<string, string> = new Map([
  ['init', 'holdfast serve makes the data directory at its first start'],
  ['id', 'holdfast whoami shows the account, and the console the address of the node'],
  ['stop', 'press Ctrl-C in the terminal of holdfast serve, or send it SIGTERM'],
  ['shutdown', 'press Ctrl-C in the terminal of holdfast serve, or send it SIGTERM'],
  ['config show', 'holdfast serve --check-config prints what the server uses'],
  ['swarm peers', 'holdfast stats counts the peers, and the console lists them'],
  ['swarm connect', 'name a provider of content with holdfast pin CID --origin MULTIADDR'],
  ['files ls', 'holdfast has no mutable files: holdfast ls lists pins, and holdfast ls CID the files of a directory'],
  ['files cp', 'holdfast has no mutable files: upload the changed directory again'],
  ['name publish', 'holdfast has no IPNS names: publish the CID as a DNSLink record of your domain'],
  ['block get', 'read https://GATEWAY/ipfs/CID?format=raw'],
  ['dag get', 'read https://GATEWAY/ipfs/CID?format=dag-json'],
  ['refs', 'holdfast ls CID lists the files of a directory'],
  ['search', 'holdfast ls --name TEXT searches the names of pins'],
  ['mv', 'holdfast job edit ID --find TEXT --replace TEXT renames a pin'], // feature: bulk
  ['rename', 'holdfast job edit ID --find TEXT --replace TEXT renames a pin'], // feature: bulk
  ['open', 'open the link of the upload, or the console at /console/ of the server'],
  ['browse', 'open the link of the upload, or the console at /console/ of the server'],
  ['share', 'everyone with the link that holdfast upload prints can read the content'],
  ['api', 'send requests with curl and the header "Authorization: Bearer KEY"'],
  ['logs', 'holdfast serve writes its log to standard output'],
  ['commands', 'holdfast --help lists all commands'],
])

type Table = Partial<Record<CommandName | '*', readonly (readonly [flag: string, text: string])[]>>

const RECURSIVE = [
  ['-r', ''],
  ['-R', ''],
  ['--recursive', ''],
] as const
const PROGRESS = [
  ['-p', ''],
  ['--progress', ''],
] as const
const OUT = [
  ['-o', '--out'],
  ['-O', '--out'],
  ['--output', '--out'],
] as const
const NEVER_ASKS = [
  ['-f', ''],
  ['--force', ''],
  ['-y', ''],
  ['--yes', ''],
] as const
const EXPIRY = [
  ['--expires', '--timelock'],
  ['--expire-in', '--timelock'],
  ['--ttl', '--timelock'],
] as const

/** Flags of other programs, with the flag that means the same. Empty for what the command does anyway. */
export const FLAG_HABITS: Table = {
  upload: [
    ...RECURSIVE,
    ...PROGRESS,
    ...EXPIRY,
    ['--pin', ''],
    ['-H', ''],
    ['--hidden', ''],
    ['-L', '--follow-symlinks'],
  ],
  import: [...PROGRESS, ...EXPIRY, ['--pin-roots', '']],
  export: [...PROGRESS, ...OUT],
  ls: [
    ['-l', ''],
    ['--long', ''],
    ['-a', ''],
    ['--all', ''],
    ['-S', '--name'],
    ['--search', '--name'],
  ],
  get: [...RECURSIVE, ...PROGRESS, ...OUT, ['-a', '--tar'], ['--archive', '--tar']],
  pin: [...RECURSIVE, ...PROGRESS, ...EXPIRY, ['-n', '--name']],
  rm: [...RECURSIVE, ...NEVER_ASKS],
  serve: [
    ['-p', '--port'],
    ['-d', '--data-dir'],
    ['-c', '--config'],
  ],
}

const ONLY_CIDS = 'give --json, and take the field "cid", as with | jq -r .cid'
const VERBOSE = 'there is nothing more to print; holdfast --version prints the version'

/** Flags of other programs whose meaning a command does not have, with what to do instead. */
export const FLAG_HINTS: Table = {
  '*': [
    ['-v', VERBOSE],
    ['--verbose', VERBOSE],
    ['-o', 'give --json for JSON'],
    ['--format', 'give --json for JSON'],
    ['-w', 'open the console at /console/ of the server'],
    ['--token', 'give --key KEY, or set HOLDFAST_API_KEY'],
    ['--web', 'open the console at /console/ of the server'],
  ],
  upload: [
    ['-n', 'give --name NAME. An upload cannot only compute the CID'],
    ['--only-hash', 'an upload cannot only compute the CID'],
    ['-q', ONLY_CIDS],
    ['-Q', ONLY_CIDS],
    ['--quiet', ONLY_CIDS],
    ['-w', 'upload a directory with the file in it, and the link keeps the name'],
    ['--wrap-with-directory', 'upload a directory with the file in it, and the link keeps the name'],
    ['--cid-version', 'all uploads have CIDs of version 1'],
    ['--nocopy', 'the node always keeps its own copy'],
  ],
  ls: [
    ['-q', ONLY_CIDS],
    ['--quiet', ONLY_CIDS],
    ['-L', 'the newest pins come first: add | head'],
    ['--limit', 'the newest pins come first: add | head'],
    ['-t', 'every pin is recursive'],
    ['--type', 'every pin is recursive; holdfast job delete --type A,B selects by type'], // feature: bulk
  ],
  get: [
    ['-C', 'give --tar, and compress the archive yourself'],
    ['--compress', 'give --tar, and compress the archive yourself'],
  ],
  serve: [
    ['-v', 'set HOLDFAST_LOG_LEVEL=debug'],
    ['--verbose', 'set HOLDFAST_LOG_LEVEL=debug'],
    ['--offline', 'set "network": {"enabled": false} in the configuration'],
    ['--log-level', 'set HOLDFAST_LOG_LEVEL'],
    ['--detach', 'run it with systemd or a container, which restart it'],
  ],
}
