import { accessPromises } from './promises-access.ts'
import { auditPromises } from './promises-audit.ts'
import { backupPromises } from './promises-backup.ts'
import { benchPromises } from './promises-bench.ts'
import { borderPromises } from './promises-border.ts'
import { bulkPromises } from './promises-bulk.ts'
import { cataloguePromises } from './promises-catalogue.ts'
import { clientPromises } from './promises-client.ts'
import { clusterPromises } from './promises-clusters.ts'
import { commandPromises } from './promises-commands.ts'
import { consolePromises } from './promises-console.ts'
import { copyPromises } from './promises-copies.ts'
import { doorPromises } from './promises-doors.ts'
import { filePromises } from './promises-files.ts'
import { gatewayPromises } from './promises-gateway.ts'
import { inputPromises } from './promises-input.ts'
import { ipfsClusterPromises } from './promises-ipfs-cluster.ts'
import { kuboPromises } from './promises-kubo.ts'
import { networkPromises } from './promises-network.ts'
import { oidcPromises } from './promises-oidc.ts'
import { ownerPromises } from './promises-owner.ts'
import { pagePromises } from './promises-page.ts'
import { peerPromises } from './promises-peers.ts'
import { possessionPromises } from './promises-possession.ts'
import { postgresPromises } from './promises-postgres.ts'
import { morePostgresPromises } from './promises-postgres-rest.ts'
import { readPromises } from './promises-reads.ts'
import { tracingPromises } from './promises-tracing.ts'
import { typePromises } from './promises-types.ts'
import { upkeepPromises } from './promises-upkeep.ts'
import { visibilityPromises } from './promises-visibility.ts'
import { webhookPromises } from './promises-webhooks.ts'
import { wirePromises } from './promises-wire.ts'

/** A promise, the test that guards it, and a change of the code that breaks it, which the test must detect. */
export interface KeptPromise {
  promise: string
  /** File of the code that keeps the promise. It contains `find` exactly once. */
  file: string
  find: string
  /** Replaces `find` to break the promise. */
  replace: string
  test: { file: string; name: string }
}

const order = 'test/content/write-order.test.ts'
const blocks = 'test/content/block-store.test.ts'
const files = 'test/content/files-and-rows.test.ts'
const full = 'test/content/full-disk.test.ts'
const queue = 'test/storage/write-queue.test.ts'
const clusters = 'test/storage/cluster-directories.test.ts'
const accessRules = 'test/catalogue/access.test.ts'
const removal = 'test/access/removal.test.ts'

/** All promises. Each test takes less than ten seconds. `npm run mutations` breaks each and runs its test. */
export const promises: readonly KeptPromise[] = [
  {
    promise: 'no account is removed once the engine has stopped',
    file: 'src/concurrency/woken-work.ts',
    find: '    if (this.isStopped) return\n',
    replace: '',
    test: { file: removal, name: 'does nothing if woken after a stop' },
  },
  {
    promise: 'the removal of accounts leaves no timer after a stop',
    file: 'src/pins/removal/account-removal.ts',
    find: '    if (!this.#work.isStopped) this.#cancelTimer = ',
    replace: '    this.#cancelTimer = ',
    test: { file: removal, name: 'does nothing if woken after a stop' },
  },
  {
    promise: 'the bytes of a chunk are synced before its file is renamed',
    file: 'src/content/block-writing.ts',
    find: '    files.fdatasyncSync(file)\n',
    replace: '',
    test: { file: order, name: 'is synced before it is renamed' },
  },
  {
    promise: 'a chunk is written even on a file system without direct I/O',
    file: 'src/content/block-writing.ts',
    find: "if (!NOT_DIRECTLY.has(fileErrorCode(error) ?? '')) throw error",
    replace: 'throw error',
    test: { file: order, name: 'uses the page cache if the file system requires it' },
  },
  {
    promise: 'chunks of the pool are written to disk without a copy',
    file: 'src/content/block-threads.ts',
    find: 'new SharedArrayBuffer(CHUNK_BYTES, { maxByteLength: CHUNK_BYTES })',
    replace: 'new SharedArrayBuffer(CHUNK_BYTES)',
    test: { file: 'test/content/chunk-pool.test.ts', name: 'allocates chunks that a disk takes without a copy' },
  },
  {
    promise: 'the bytes of every other block file are synced before it is renamed',
    file: 'src/content/block-files.ts',
    find: '      await file.datasync()\n',
    replace: '',
    test: { file: order, name: 'an upload of a block in a file' },
  },
  {
    promise: 'the names of block files are synced before the ledger marks them durable',
    file: 'src/content/block-files.ts',
    find: '      await syncDirectories(this.#files, new Set(group.map(block => block.dir)))\n',
    replace: '',
    test: { file: order, name: 'an upload of whole chunks' },
  },
  {
    promise: "an upload's blocks are all written before its commit",
    file: 'src/content/dag/staged-dag.ts',
    find: '    await this.#drain()\n    if (this.#failure !== null) throw this.#failure.error\n',
    replace: '    if (this.#failure !== null) throw this.#failure.error\n',
    test: { file: order, name: 'an upload of whole chunks' },
  },
  {
    promise: 'the commit that completes an upload is synced before the answer',
    file: 'src/catalogue/sqlite/sqlite-driver.ts',
    find: 'this.#statements.carryOut(make()), { durable: true, ...options })',
    replace: 'this.#statements.carryOut(make()), { durable: false, ...options })',
    test: { file: order, name: 'an upload of a small block' },
  },
  {
    promise: "one commit stores a small file's bytes and its record, or neither",
    file: 'src/ledger/claims.ts',
    find: "const healed = this.store(rootId, backendId, block, found === undefined ? by : undefined) === 'healed'",
    replace: 'const healed = false',
    test: { file: order, name: 'a file of one small block is one commit' },
  },
  {
    promise: 'records of peers are on disk when the node stops',
    file: 'src/network/peer-records.ts',
    find: 'if (!record.isWritten) await this.#write(record)\n  }\n\n  async put',
    replace: 'if (record.isWritten) await this.#write(record)\n  }\n\n  async put',
    test: { file: 'test/network/peer-records.test.ts', name: 'reaches the store on flush' },
  },
  {
    promise: 'memory does not grow with the number of known peers',
    file: 'src/network/peer-records.ts',
    find: '    await this.#forgetOldest()\n',
    replace: '',
    test: { file: 'test/network/peer-records.test.ts', name: 'beyond the limit stays in the store' },
  },
  {
    promise: 'a stream that its peer closes before it is handled is closed',
    file: 'src/network/exchange/block-exchange.ts',
    find: "    if (stream.remoteWriteStatus !== 'writable') end()\n",
    replace: '',
    test: { file: 'test/pins/fetches/serving.test.ts', name: 'leaves no streams behind' },
  },
  {
    promise: 'wants of one turn share a message',
    file: 'src/network/exchange/peer-wants.ts',
    find: '        await nextTurn()\n      }\n    } finally',
    replace: '      }\n    } finally',
    test: {
      file: 'test/network/exchange/peer-wants.test.ts',
      name: 'wants of one event-loop turn share a message',
    },
  },
  {
    promise: 'a write that a repeated batch leaves out is still written',
    file: 'src/storage/write-queue.ts',
    find: '      attempted = []\n      taken = 0\n',
    replace: '      attempted = []\n',
    test: { file: queue, name: 'a repeated batch has the same writes, and leaves later ones' },
  },
  {
    promise: 'a write that throws undoes no other of its batch',
    file: 'src/storage/write-queue.ts',
    find: 'if (hasThrown) return false',
    replace: 'if (hasThrown) return true',
    test: { file: queue, name: 'a write that throws undoes only itself' },
  },
  {
    promise: 'a durable write is acknowledged after the sync of its commit',
    file: 'src/storage/write-queue.ts',
    find: '      await logSync.run()\n',
    replace: '      void logSync.run()\n',
    test: { file: order, name: 'an upload of a small block' },
  },
  {
    promise: 'after a failed sync nothing is acknowledged or written',
    file: 'src/storage/write-queue.ts',
    find: '      failure = error\n      this.#break(error)\n',
    replace: '      failure = error\n',
    test: { file: queue, name: 'after a failed sync nothing is acknowledged or written' },
  },
  {
    promise: 'a write that goes first does not include the patient ones it overtakes',
    file: 'src/storage/write-queue.ts',
    find: '        if (overtakes && write.patient) break\n',
    replace: '',
    test: { file: queue, name: 'patient writes give way to others once, then come next' },
  },
  {
    promise: 'only patient writes are overtaken during their sync',
    file: 'src/storage/write-queue.ts',
    find: 'attempted.every(({ write }) => write.patient)',
    replace: 'true',
    test: {
      file: queue,
      name: 'a sync does not block the loop; later writes share a commit',
    },
  },
  {
    promise: 'a successful sync acknowledges nothing after another has failed',
    file: 'src/storage/write-queue.ts',
    find: 'if (broken === null) return settle(attempted)',
    replace: 'if (failure === undefined) return settle(attempted)',
    test: {
      file: queue,
      name: 'one failed sync of two leaves nothing acknowledged',
    },
  },
  {
    promise: 'a durable write waits for the disk',
    file: 'src/storage/write-queue.ts',
    find: 'if (logSync !== undefined && attempted.some(({ write }) => write.durable))',
    replace: 'if (logSync !== undefined && attempted.length === 0)',
    test: { file: order, name: 'an upload of a small block' },
  },
  {
    promise: 'removals of files are synced before their rows are deleted',
    file: 'src/content/block-store.ts',
    find: 'await files.sync(new Set(removed.values()))',
    replace: 'new Map<string, unknown>()',
    test: { file: order, name: 'a collection: deleting durably, unlink, directory sync, row' },
  },
  {
    promise: "the row stays while a crash may undo the file's removal",
    file: 'src/content/block-store.ts',
    find: 'if (unsynced.has(dir)) failed.push',
    replace: 'if (unsynced.size < 0) failed.push',
    test: { file: files, name: 'a row stays while the removal of its file may be undone' },
  },
  {
    promise: 'the names of blocks/ and tmp/ are synced',
    file: 'src/content/block-files.ts',
    find: '    if (made.includes(true)) await files.syncDirectory(this.dataDir)\n',
    replace: '',
    test: { file: order, name: 'directories: blocks, tmp and the shards have synced entries' },
  },
  {
    promise: 'the names of the shard directories are synced',
    file: 'src/content/block-files.ts',
    find: '    if (missing.length > 0) await files.syncDirectory(this.#dir)\n',
    replace: '',
    test: { file: order, name: 'directories: blocks, tmp and the shards have synced entries' },
  },
  {
    promise: 'a block file that cannot be removed does not stop the collection',
    file: 'src/content/block-store.ts',
    find: '      failed.push({ id, error })\n',
    replace: '      throw error\n',
    test: { file: files, name: 'a file that cannot be removed' },
  },
  {
    promise: 'files without a row are found',
    file: 'src/content/collector.ts',
    find: '    if (!this.#ends) await this.#removeStrays()\n',
    replace: '',
    test: { file: files, name: 'stray files are removed, a few directories at a time, others' },
  },
  {
    promise: 'garbage with a time in the future is deleted',
    file: 'src/ledger/block-table.ts',
    find: '[...due, ...this.#garbageAhead.all(now, limit - due.length)]',
    replace: 'due',
    test: { file: files, name: 'garbage with a time in the future is deleted' },
  },
  {
    promise: 'only a root being staged can be completed',
    file: 'src/ledger/root-table.ts',
    find: 'if (this.#complete.run(codec, multihash, owner, ...sizesOf(dag), rootId).changes === 1) return',
    replace: 'if (this.#complete.run(codec, multihash, owner, ...sizesOf(dag), rootId).changes < 2) return',
    test: { file: blocks, name: 'an abandoned root cannot be completed' },
  },
  {
    promise: 'content being read is not collected',
    file: 'src/content/collector.ts',
    find: 'this.#parts.ledger.droppedRoots(() => this.#parts.leases.held(), lastRoot)',
    replace: 'this.#parts.ledger.droppedRoots(() => new Set(), lastRoot)',
    test: { file: blocks, name: 'a leased root is not collected until its release' },
  },
  {
    promise: 'a failed upload releases its reserved quota',
    file: 'src/pins/upload/upload-staging.ts',
    find: '      reservation.end(staged?.newCharge ?? 0)\n',
    replace: '',
    test: { file: 'test/pins/quotas.test.ts', name: 'failed uploads release their reservation' },
  },
  {
    promise: 'concurrent uploads share the remaining quota',
    file: 'src/pins/upload/upload-budget.ts',
    find: '    reservation.add(step)\n',
    replace: '',
    test: { file: 'test/pins/quotas.test.ts', name: 'running uploads share the rest of the' },
  },
  {
    promise: 'unreadable content is reported as damage',
    file: 'src/content/stored-blocks.ts',
    find: 'await this.#read(multihash, found, options.localOnly === true).catch((error: unknown) => {',
    replace:
      'await this.#read(multihash, found, options.localOnly === true).catch((error: unknown) => {\n      throw error',
    test: { file: 'test/content/damage.test.ts', name: 'a block whose file fails with EIO is reported' },
  },
  {
    promise: 'new content leaves the disk reserve free',
    file: 'src/content/disk-reserve.ts',
    find: 'if (freeBytes - bytes < reserveBytes) {',
    replace: 'if (freeBytes < 0) {',
    test: { file: full, name: 'refuses new content, deletes, reports itself, and recovers by' },
  },
  {
    promise: 'a deletion on a full disk frees the ballast',
    file: 'src/wiring/storage-module.ts',
    find: '(await reserves.get(DEFAULT_BACKEND_ID)?.giveUpBallast()) ?? false',
    replace: 'false',
    test: { file: full, name: 'is written with enough room, deleted for a deletion, and' },
  },
  {
    promise: 'nothing is acknowledged after a commit fails on the disk',
    file: 'src/storage/write-queue.ts',
    find: 'write.reject(reason)\n    if (isDiskFailure(error)) this.#break(error)\n',
    replace: 'write.reject(reason)\n',
    test: { file: queue, name: 'after a failed commit nothing more is written or acknowledged' },
  },
  {
    promise: 'an unmounted cluster directory refuses the start',
    file: 'src/ledger/cluster-directories.ts',
    find: 'if (known === undefined || !hasBlocks(database, known.id)) return',
    replace: 'if (known === undefined || known.id > 0) return',
    test: { file: clusters, name: 'that is empty refuses the start' },
  },
  {
    promise: 'a cluster directory of another node refuses the start',
    file: 'src/ledger/cluster-directories.ts',
    find: '  if (backend === undefined) return refuse(',
    replace:
      '  if (backend === undefined) return insertBackend(database, path, identity)\n  if (path === "") return refuse(',
    test: { file: clusters, name: 'that is of another Holdfast refuses the start' },
  },
  {
    promise: 'a directory has one owner in a process, by whatever path',
    file: 'src/disk/data-directory.ts',
    find: '    if (owned.has(place)) {',
    replace: '    if (owned.size < 0) {',
    test: { file: clusters, name: 'cannot own one directory, nor that of a cluster, by another path' },
  },
  ...upkeepPromises,
  ...accessPromises,
  ...oidcPromises,
  ...tracingPromises,
  ...auditPromises,
  ...visibilityPromises,
  ...webhookPromises,
  ...wirePromises,
  ...backupPromises,
  ...bulkPromises,
  ...benchPromises,
  ...borderPromises,
  ...inputPromises,
  ...commandPromises,
  ...doorPromises,
  ...clientPromises,
  ...cataloguePromises,
  ...clusterPromises,
  ...networkPromises,
  ...peerPromises,
  ...kuboPromises,
  ...ipfsClusterPromises,
  ...consolePromises,
  ...ownerPromises,
  ...pagePromises,
  ...gatewayPromises,
  ...filePromises,
  ...typePromises,
  ...possessionPromises,
  ...postgresPromises,
  ...morePostgresPromises,
  ...copyPromises,
  ...readPromises,
  {
    promise: 'revoking a key revokes the keys created with it',
    file: 'src/catalogue/rules/key-rules.ts',
    find: 'ON k.parent_id = minted.id)',
    replace: 'ON k.parent_id = minted.id WHERE 0)',
    test: { file: accessRules, name: 'revokes a key with all keys created' },
  },
  {
    promise: 'an account has no more live keys than its plan allows',
    file: 'src/catalogue/rules/key-rules.ts',
    find: ">= maxKeys) return 'too_many'",
    replace: ">= maxKeys * 2) return 'too_many'",
    test: { file: accessRules, name: 'limits live keys per account under' },
  },
  {
    promise: 'a code of a second factor works once',
    file: 'src/catalogue/rules/second-factor-rules.ts',
    find: 'AND secret = :secret AND enabled_at IS NOT NULL AND last_step < :step',
    replace: 'AND secret = :secret AND enabled_at IS NOT NULL',
    test: { file: accessRules, name: 'refuses a used code and every older' },
  },
  {
    promise: 'a node always has an enabled owner',
    file: 'src/catalogue/rules/account-rules.ts',
    find: "return role === 'owner' && !disabled && ",
    replace: "return role === 'owner' && disabled && ",
    test: { file: accessRules, name: 'always keeps one enabled owner' },
  },
  {
    promise: 'secrets of second factors are stored encrypted',
    file: 'src/access/sign-in/second-factor-check.ts',
    find: 'this.#store.begin(account.id, this.#sealing.seal(secret, contextOf(account.id)))',
    replace: 'this.#store.begin(account.id, secret)',
    test: { file: 'test/access/sealing.test.ts', name: 'a secret is stored encrypted' },
  },
  {
    promise: 'secrets stored in clear are encrypted at the next start',
    file: 'src/wiring/access-module.ts',
    find: 'made.secondFactor.sealStored()',
    replace: 'Promise.resolve()',
    test: { file: 'test/access/sealing.test.ts', name: 'encrypts secrets in clear' },
  },
  {
    promise: 'a deleted account is refused at once',
    file: 'src/access/accounts/account-service.ts',
    find: 'markDeleted(id, this.#options.clock.now())\n    this.#options.cache.clear()\n',
    replace: 'markDeleted(id, this.#options.clock.now())\n',
    test: { file: removal, name: 'is unusable and leaves nothing' },
  },
  {
    promise: 'the removal of an account goes on after a restart',
    file: 'src/wiring/pins-module.ts',
    find: '      accountRemoval.wake()\n',
    replace: '',
    test: { file: removal, name: 'is removed at the next start' },
  },
]
