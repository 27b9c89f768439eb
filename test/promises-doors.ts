import type { KeptPromise } from './promises.ts'

const commandContent = 'test/adapters/cli/content.test.ts'
const localFiles = 'test/adapters/cli/local-files.test.ts'
const unpacking = 'test/adapters/cli/unpack.test.ts'
const interrupted = 'test/adapters/cli/interrupted-get.test.ts'
const login = 'test/adapters/cli/login.test.ts'
const commandLine = 'test/adapters/cli/command-line.test.ts'
const permissions = 'test/storage/permissions.test.ts'
const identity = 'test/network/identity.test.ts'
const dataKey = 'test/storage/data-key.test.ts'
const serverDirectory = 'test/content/server-directory.test.ts'
const peers = 'test/network/private-peers.test.ts'
const logLines = 'test/adapters/cli/log-lines.test.ts'
const hostile = 'test/network/exchange/hostile-messages.test.ts'
const lingering = 'test/adapters/node-http/lingering.test.ts'

/** Promises about clients, keys and connections. */
export const doorPromises: readonly KeptPromise[] = [
  {
    promise: 'no path of an archive leaves its folder',
    file: 'adapters/cli/unpack.ts',
    find: 'if (names.some(isUnsafe)) {',
    replace: 'if (names.every(isUnsafe)) {',
    test: { file: unpacking, name: 'a path that leaves the folder leaves nothing behind' },
  },
  {
    promise: 'a downloaded folder has the permissions that the umask allows',
    file: 'adapters/cli/unpack.ts',
    find: 'await mkdir(whole)',
    replace: 'await mkdir(whole, { mode: 0o700 })',
    test: { file: unpacking, name: 'have the umask' },
  },
  {
    promise: 'an upload follows no link without --follow-symlinks',
    file: 'adapters/cli/local-files.ts',
    find: 'isLink && !this.#following.followLinks',
    replace: 'false',
    test: { file: localFiles, name: 'leaves each link out without the flag' },
  },
  {
    promise: 'directories that link to each other end',
    file: 'adapters/cli/local-files.ts',
    find: 'if (above.includes(real)) {',
    replace: 'if (above.at(-1) === real) {',
    test: { file: localFiles, name: 'two directories that link to each other' },
  },
  {
    promise: 'an upload that skips a link ends with exit code 3',
    file: 'adapters/cli/command-line.ts',
    find: "if (error.details.result === 'incomplete') return 3",
    replace: '',
    test: { file: commandContent, name: 'a directory uploads all files' },
  },
  {
    promise: 'unpacking replaces no folder',
    file: 'adapters/cli/unpack.ts',
    find: 'if (entry === null) return',
    replace: 'if (!entry?.isFile()) return',
    test: { file: unpacking, name: 'an empty folder in the way is refused' },
  },
  {
    promise: 'a signal deletes an unfinished download',
    file: 'adapters/cli/until-interrupted.ts',
    find: 'for (const signal of SIGNALS) process.on(signal, hear)',
    replace: '',
    test: { file: interrupted, name: 'a signal deletes the unfinished folder or file' },
  },
  {
    promise: 'a URL names a file of the current directory',
    file: 'adapters/cli/get-command.ts',
    find: "namesIn(names.map(decodeURIComponent).join('/'))",
    replace: 'names.map(decodeURIComponent)',
    test: { file: interrupted, name: 'names the file of an escaped URL in the current directory' },
  },
  {
    promise: 'a download replaces no device',
    file: 'adapters/cli/whole-file.ts',
    find: 'if (entry?.isFile() === false)',
    replace: 'if (entry?.isSymbolicLink())',
    test: { file: interrupted, name: 'names a path that cannot be written, and keeps it' },
  },
  {
    promise: 'a saved key goes to its server only',
    file: 'adapters/cli/api-settings.ts',
    find: 'if (base === saved.api) return',
    replace: 'if (base !== null) return',
    test: { file: login, name: 'a saved key never goes to another server' },
  },
  {
    promise: 'login saves no key that the server refuses',
    file: 'adapters/cli/login-commands.ts',
    find: '  const { email } = await connect({ base, key }).account.show()\n',
    replace: '  const email = base\n',
    test: { file: login, name: 'a refused key is not saved' },
  },
  {
    promise: 'a login that others may read is refused',
    file: 'adapters/cli/saved-login.ts',
    find: '(statSync(file).mode & OTHERS) !== 0',
    replace: 'OTHERS === 0',
    test: { file: login, name: 'a login that other users may read is refused' },
  },
  {
    promise: 'a list of a missing CID fails',
    file: 'adapters/cli/list-command.ts',
    find: 'if (isFirst && directory !== undefined) await',
    replace: 'if (directory === null) await',
    test: { file: 'test/adapters/cli/content.test.ts', name: 'lists nothing for a file, and fails for a missing CID' },
  },
  {
    promise: 'an https URL of a plain port fails as such',
    file: 'adapters/client/refusal.ts',
    find: 'PLAIN_HTTP.includes(code)',
    replace: 'false',
    test: { file: 'test/adapters/cli/content.test.ts', name: 'names the plain port when an https URL fails' },
  },
  {
    promise: 'a misspelt flag is refused with its likeness',
    file: 'adapters/cli/arguments.ts',
    find: 'suggestion(unknown, Object.keys(options), ',
    replace: 'suggestion(unknown, [], ',
    test: { file: commandLine, name: 'a misspelt flag names the flag that it resembles' },
  },
  {
    promise: 'an export skips pins removed meanwhile',
    file: 'adapters/cli/export-command.ts',
    find: 'error.details.status !== 404',
    replace: 'error.details.status !== 405',
    test: { file: 'test/adapters/cli/export.test.ts', name: 'a pin removed during the export is skipped and named' },
  },
  {
    promise: 'a command that sends a body ends when its server is killed',
    file: 'adapters/client/exchange.ts',
    find: '    idle.abort()\n    throw error\n',
    replace: '    idle.stop()\n    throw error\n',
    test: {
      file: 'test/adapters/cli/killed-server.test.ts',
      name: 'an import ends with one line when its server is killed',
    },
  },
  {
    promise: "an upload's reservation of token and quota ends with its commit",
    file: 'src/pins/upload/uploader.ts',
    find: '    giveBack()\n',
    replace: '',
    test: { file: 'test/pins/upload-tokens.test.ts', name: 'counts each use once during the commit' },
  },
  {
    promise: 'the commit of an upload takes a use of its token, and never more than exist',
    file: 'src/catalogue/rules/record-rules.ts',
    find: ' AND uses < max_uses',
    replace: '',
    test: { file: 'test/pins/upload-tokens.test.ts', name: 'checks its last use again in the commit' },
  },
  {
    promise: 'an upload token allows only uploads',
    file: 'src/http/pipeline.ts',
    find: '    if (takesUploadTokens !== true) dependencies.authorization.checkNoUploadToken(principal)\n',
    replace: '',
    test: { file: 'test/contract/contract.test.ts', name: 'upload-tokens.scope' },
  },
  {
    promise: 'an upload under way reserves a use of its token',
    file: 'src/pins/upload/upload-token.ts',
    find: 'uses + (this.#underWay.get(id) ?? 0) > maxUses',
    replace: 'uses > maxUses',
    test: { file: 'test/pins/upload-tokens.test.ts', name: 'reserves a use for each running upload' },
  },
  {
    promise: 'a data key is on the disk before it has its name',
    file: 'src/storage/data-key.ts',
    find: '      fsyncSync(file)\n',
    replace: '',
    test: { file: 'test/content/system-calls.test.ts', name: 'are in the order that survives a power cut' },
  },
  {
    promise: 'the name of a data key is on the disk before it counts',
    file: 'src/storage/data-key.ts',
    find: '    syncDirectoryNow(dirname(path))\n',
    replace: '',
    test: { file: 'test/content/system-calls.test.ts', name: 'are in the order that survives a power cut' },
  },
  {
    promise: 'the name of a kept database is on the disk before anything is migrated',
    file: 'src/storage/kept-copy.ts',
    find: '  syncDirectoryNow(dirname(copy))\n',
    replace: '',
    test: { file: 'test/content/system-calls.test.ts', name: 'keep the old database on the disk before a migration' },
  },
  {
    promise: 'secrets encrypted with a lost key are deleted only on request',
    file: 'src/wiring/replace-data-key.ts',
    find: 'if (forgetSecrets) {',
    replace: "if (problem !== '') {",
    test: { file: 'test/wiring/replace-data-key.test.ts', name: 'that is missing is replaced once it is said' },
  },
  {
    promise: 'a working key is not replaced',
    file: 'src/wiring/replace-data-key.ts',
    find: '      if (problem === null) throw',
    replace: '      if (problem === undefined) throw',
    test: { file: 'test/wiring/replace-data-key.test.ts', name: 'is replaced by command, unless it is' },
  },
  {
    promise: 'a missing data key is never replaced',
    file: 'src/storage/data-key.ts',
    find: 'if (known === null && problem === MISSING)',
    replace: 'if (problem === MISSING)',
    test: { file: dataKey, name: 'refuses the start when it is missing' },
  },
  {
    promise: 'no part of a private key stored in clear stays on the disk',
    file: 'src/network/sealed-datastore.ts',
    find: '    await store.db.compactRange(PRIVATE_KEYS, PAST_PRIVATE_KEYS)\n',
    replace: '',
    test: { file: identity, name: 'is sealed at the next start if stored as' },
  },
  {
    promise: "only the node's user can read block files",
    file: 'src/content/block-writing.ts',
    find: 'openSync(temp, flags, OWNERS_FILE)',
    replace: 'openSync(temp, flags)',
    test: { file: permissions, name: 'a new data directory excludes other users, with the umask' },
  },
  {
    promise: 'a symbolic link that replaces a directory is not followed, even without open directory handles',
    file: 'src/content/open-directory.ts',
    find: '    if (this.#handle === null) await checkPath(this.#path, this.#seen)\n',
    replace: '',
    test: { file: serverDirectory, name: 'replaced by a link during a read exposes nothing' },
  },
  {
    promise: 'a peer is not dialled at a private address that it announces itself',
    file: 'src/network/session-factory.ts',
    find: 'publicOnly: !this.#parts.settings.allowPrivateOrigins',
    replace: 'publicOnly: false',
    test: { file: peers, name: 'is not dialled at its own private' },
  },
  {
    promise: 'unrequested blocks are not decoded',
    file: 'src/network/exchange/message.ts',
    find: '      if (message.hasSurplusBlocks) break\n',
    replace: '',
    test: { file: hostile, name: 'with 363,636 blocks is decoded up to the' },
  },
  {
    promise: 'blocks after an unrequested one are not hashed',
    file: 'src/network/exchange/peer-wants.ts',
    find: '      else if (!(await this.#take(block, false))) return false\n',
    replace: '      else await this.#take(block, false)\n',
    test: { file: hostile, name: 'are ignored after the first unrequested' },
  },
  {
    promise: 'no page of the pinning service API ends between pins of equal time',
    file: 'src/contract/psa/list.ts',
    find: 'createdAt }) => createdAt > next)',
    replace: 'createdAt }) => createdAt >= next)',
    test: { file: 'test/contract/psa.test.ts', name: 'MUST page by before and after without gaps' },
  },
  {
    promise: 'without a filter, the pinning service API lists pinned ones only',
    file: 'src/contract/psa/list.ts',
    find: "? ['pinned'] : undefined",
    replace: '? undefined : undefined',
    test: { file: 'test/contract/psa.test.ts', name: 'MUST list pinned ones by default, filter' },
  },
  {
    promise: 'buffered log lines are written before the process exits',
    file: 'adapters/cli/process-log.ts',
    find: "  process.on('exit', () => lines.flushSync())\n",
    replace: '',
    test: { file: logLines, name: 'a process that exits has written every line' },
  },
  {
    promise: 'a warning or an error is written to the log at once',
    file: 'adapters/cli/log-lines.ts',
    find: 'this.lastLevel >= URGENT || ',
    replace: '',
    test: { file: logLines, name: 'a warning goes out at once, after all lines before it' },
  },
  {
    promise: 'a reader of the log that stands still costs bounded memory',
    file: 'adapters/cli/log-lines.ts',
    find: 'this.#length + this.#batch.length > MOST_WAITING',
    replace: 'this.#length > MOST_WAITING',
    test: { file: logLines, name: 'a full pipe keeps a bounded number of lines' },
  },
  {
    promise: 'a client that is still sending receives the reason of its refusal',
    file: 'adapters/node-http/connections.ts',
    find: 'if (!socket.destroyed) this.#lingering.close(socket, bytes)',
    replace: 'socket.write(bytes, () => socket.destroy())',
    test: { file: lingering, name: 'chunked uploads on connections over the limit are all refused' },
  },
  {
    promise: 'a connection refused early ends properly before it is closed',
    file: 'adapters/node-http/connections.ts',
    find: '?.req.complete === false) this.close(socket)',
    replace: '?.req.complete === false) socket.destroy()',
    test: { file: lingering, name: 'chunked uploads on connections over the limit are all refused' },
  },
  {
    promise: 'a client that keeps sending after its answer is cut off after a time',
    file: 'adapters/node-http/lingering.ts',
    find: 'const late = setTimeout(() => socket.destroy(), LINGER_MS)',
    replace: 'const late = setTimeout(() => {}, LINGER_MS)',
    test: { file: lingering, name: 'and is cut off if it does not end: in time' },
  },
  {
    promise: 'a client that keeps sending after its answer is cut off after some bytes',
    file: 'adapters/node-http/lingering.ts',
    find: '      if (left < 0) socket.destroy()\n',
    replace: '',
    test: { file: lingering, name: 'and is cut off if it does not end: in bytes' },
  },
  {
    promise: 'the number of refused connections still being read is bounded',
    file: 'adapters/node-http/lingering.ts',
    find: '    if (this.#sockets.size > this.#most) this.destroyOldest()\n',
    replace: '',
    test: { file: lingering, name: 'and makes room for the next such client' },
  },
]
