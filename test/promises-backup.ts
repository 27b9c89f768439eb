import type { KeptPromise } from './promises.ts'

const kept = 'test/storage/kept-copy.test.ts'
const directory = 'test/storage/data-directory.test.ts'
const mending = 'test/backup/mending.test.ts'
const wrong = 'test/storage/wrong-directories.test.ts'
const ownership = 'test/backup/ownership.test.ts'

/** Promises of backups, of what is restored, and of migrations. */
export const backupPromises: readonly KeptPromise[] = [
  {
    promise: 'the kept copy is remade as long as the database has the old schema',
    file: 'src/storage/kept-copy.ts',
    find: '    renameSync(unfinished, copy)\n',
    replace: "    try { closeSync(openSync(copy, 'wx')); renameSync(unfinished, copy) } catch {}\n",
    test: { file: kept, name: 'the copy has later writes of an older version, after a kill' },
  },
  {
    promise: 'the kept copy has all that was written before the migration',
    file: 'src/storage/prepared-database.ts',
    find: '        if (commits() !== seen) return\n',
    replace: '',
    test: { file: kept, name: 'the copy has writes made between it and the migration' },
  },
  {
    promise: 'nobody but the owner of a data directory migrates it',
    file: 'src/wiring/open-accounts.ts',
    find: '{ isOwned: false }',
    replace: '{ isOwned: true }',
    test: { file: directory, name: 'with an older schema is migrated only by its owner' },
  },
  {
    promise: 'a block is hashed as it enters a backup',
    file: 'src/backup/block-copies.ts',
    find: 'return found !== null && (await matches(multihash, found.bytes)) ? found : null',
    replace: 'return found',
    test: { file: mending, name: 'is named when a backup would copy it' },
  },
  {
    promise: 'a link to a damaged file leaves the backup once the store has healed',
    file: 'src/backup/block-copies.ts',
    find: '(isLink || hasTimeOf(there, origin))',
    replace: '(isLink || there.size === origin.size)',
    test: { file: mending, name: 'is replaced in the backup after its repair, without a check' },
  },
  {
    promise: 'the backup after a check that found damage reads all of it',
    file: 'src/backup/back-up.ts',
    find: '(previous.lastFullRead?.damaged ?? 0) === 0',
    replace: '(previous.lastFullRead?.damaged ?? 0) >= 0',
    test: { file: mending, name: 'is named by a check, and repaired by the next backup' },
  },
  {
    promise: 'a check reads every block',
    file: 'src/backup/check.ts',
    find: '    if (bytes !== null && (await isWhole(block, bytes))) return\n',
    replace: '    if (bytes !== null) return\n',
    test: { file: mending, name: 'is named by a check, and repaired by the next backup' },
  },
  {
    promise: 'what a backup of 0.2.0 has is trusted for nothing',
    file: 'src/backup/back-up.ts',
    find: "return previous?.format === 'holdfast-backup-2' && (",
    replace: 'return previous !== null && (',
    test: { file: mending, name: 'is continued by its node, which reads and repairs all of it' },
  },
  {
    promise: 'an empty node does not replace the backup of another',
    file: 'src/backup/same-node.ts',
    find: 'previous.node !== copy.node()',
    replace: 'previous.node === null',
    test: { file: ownership, name: 'is not replaced by an empty or another node' },
  },
  {
    promise: 'a node that lost more than half of its roots does not replace its backup',
    file: 'src/backup/same-node.ts',
    find: '  if (roots * 2 < had) throw',
    replace: '  if (roots < 0) throw',
    test: { file: ownership, name: 'is not replaced by its node after it lost most roots' },
  },
  {
    promise: 'the keys that the last whole backup needs stay until the next is whole',
    file: 'src/backup/key-directory.ts',
    find: 'join(directory, asideName(name, sha256(there))), there)',
    replace: 'join(directory, name), there)',
    test: { file: ownership, name: 'stays usable when the next is killed after writing other keys' },
  },
  {
    promise: 'two nodes do not share a key directory',
    file: 'src/backup/key-directory.ts',
    find: 'if (!isOurs && !isReplaced)',
    replace: 'if (!isOurs && isReplaced)',
    test: { file: ownership, name: 'belongs to one node' },
  },
  {
    promise: 'two backups do not write one directory at once',
    file: 'src/storage/directory-lock.ts',
    find: "use === 'alone' ? 'BEGIN EXCLUSIVE'",
    replace: "use === 'alone' ? 'BEGIN'",
    test: { file: ownership, name: 'gives one of two nodes a new directory that both start' },
  },
  {
    promise: 'nobody starts on a data directory whose restore was killed',
    file: 'src/disk/data-directory.ts',
    find: '(isRestoring ? undefined : refuseUnfinishedRestore(dataDir))',
    replace: '(isRestoring ? refuseUnfinishedRestore(dataDir) : undefined)',
    test: { file: ownership, name: 'refuses starts in its directory while it runs, and once killed' },
  },
  {
    promise: 'a restore does not write into a backup',
    file: 'src/backup/restore.ts',
    find: 'if (!isInside(from, to) && !isInside(to, from)) return',
    replace: 'if (from !== to) return',
    test: { file: ownership, name: 'never writes into a backup' },
  },
  {
    promise: 'a finished copy of the database is on the disk',
    file: 'src/storage/copy-thread.ts',
    find: '    fsyncSync(file)\n',
    replace: '',
    test: { file: 'test/storage/database-copy.test.ts', name: 'a copy of a database is written and synced by' },
  },
  {
    promise: 'a rehearsal of an upgrade changes a copy of the database alone',
    file: 'src/storage/rehearse-upgrade.ts',
    find: 'UNCHANGED : migrate(copy)',
    replace: 'UNCHANGED : migrate(file)',
    test: { file: 'test/storage/mature-0.2.0.test.ts', name: 'a rehearsal tells the change' },
  },
  {
    promise: 'a backup replaces only a database that a manifest or a journal names',
    file: 'src/backup/unfinished.ts',
    find: '      if (!isOurs && (await this.#isTaken(file))) continue\n',
    replace: '',
    test: { file: ownership, name: 'stays in a backup, whatever its name' },
  },
  {
    promise: 'a directory without a manifest or a journal is no unfinished backup',
    file: 'src/backup/back-up.ts',
    find: '    unfinished?.mayHaveLeft(name) === true ||\n',
    replace: '    BACKUP_FILE.test(name) ||\n',
    test: { file: ownership, name: 'keeps a directory from becoming a backup' },
  },
  {
    promise: 'the database of a killed run is deleted by the next',
    file: 'src/backup/unfinished.ts',
    find: '      await this.#note([...before, file])\n',
    replace: '',
    test: { file: ownership, name: 'stays when a later run was killed, whose database is replaced' },
  },
  {
    promise: 'a backup counts the blocks in the database',
    file: 'src/backup/block-copies.ts',
    find: '    if (hasBlock) {\n',
    replace: '    if (hasBlock && block.inline === 0) {\n',
    test: { file: 'test/backup/backup.test.ts', name: 'counts small blocks, whose bytes are in the database' },
  },
  {
    promise: 'a restore deletes only files that it makes itself',
    file: 'src/backup/restore.ts',
    find: 'of filesBesideCopy(unfinished)) await rm(path, {',
    replace:
      "of (await readdir(join(unfinished, '..'))).map(x => join(join(unfinished, '..'), x)).filter(x => x.startsWith(`${unfinished}.`))) await rm(path, {",
    test: { file: ownership, name: 'refuses starts in its directory while it runs, and once killed' },
  },
  {
    promise: 'a rehearsal replaces no file of a directory that somebody names',
    file: 'src/storage/rehearse-upgrade.ts',
    find: ' refuseExisting(copy)\n',
    replace: ' {}\n',
    test: { file: 'test/storage/old-directories.test.ts', name: 'is not rehearsed over a file of somebody else' },
  },
  {
    promise: 'a first start deletes no content that is there already',
    file: 'src/wiring/stores.ts',
    find: '    refuseContentWithoutDatabase(dataDir)\n',
    replace: '',
    test: { file: wrong, name: 'refuses a first start, and stays' },
  },
  {
    promise: 'the directory of a new cluster has no content of somebody else',
    file: 'src/ledger/cluster-directories.ts',
    find: 'known === undefined ? foreignContent(path) : null',
    replace: 'null as string | null',
    test: { file: wrong, name: 'refuses a first start, and stays' },
  },
]
