import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import * as dagPb from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import type { MultihashHasher } from 'multiformats'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { MemoryBudget } from '../../src/concurrency/capacity/memory-budget.ts'
import { Semaphore } from '../../src/concurrency/capacity/semaphore.ts'
import { withDefaults } from '../../src/config/config.ts'
import type { GatewayConfig } from '../../src/config/engine-options.ts'
import { BlockFiles } from '../../src/content/block-files.ts'
import { BlockStore } from '../../src/content/block-store.ts'
import { BlockThreads } from '../../src/content/block-threads.ts'
import { StagedDag } from '../../src/content/dag/staged-dag.ts'
import { DiskReserve } from '../../src/content/disk-reserve.ts'
import { Leases } from '../../src/content/leases.ts'
import { LiveContent } from '../../src/content/live-content.ts'
import { DirectoryBuilder } from '../../src/content/unixfs/directory-builder.ts'
import { importSymlink } from '../../src/content/unixfs/symlink.ts'
import { importFile } from '../../src/content/unixfs/unixfs-import.ts'
import type { Logger } from '../../src/domain/logger.ts'
import { createGateway, type GatewayDependencies } from '../../src/gateway/gateway.ts'
import type { ReadingData, SharedReading } from '../../src/gateway/source/shared-reading.ts'
import type { ApiHandler } from '../../src/http/api-messages.ts'
import { CODEC } from '../../src/ipld/cid.ts'
import { BlockTable } from '../../src/ledger/block-table.ts'
import { Claims } from '../../src/ledger/claims.ts'
import { HeldRoots } from '../../src/ledger/held-roots.ts'
import { Holds } from '../../src/ledger/holds.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { RootTable } from '../../src/ledger/root-table.ts'
import type { Database } from '../../src/storage/database.ts'
import { WriteQueue } from '../../src/storage/write-queue.ts'
import { blockFileOf } from '../support/block-place.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { newDatabase } from '../support/new-database.ts'

/** Encodes a directory from its entries. `{ link }` is a symbolic link. */
export interface Tree {
  [name: string]: string | Uint8Array | { link: string } | Tree
}

/** The gateway's host name in audits. */
export const AUDIT_HOST = 'gateway.test'

/** Blocks larger than this are files, as in an engine. */
const SMALL_BLOCK_BYTES = 32 * 1024

/** A block store with its ledger in a temporary directory. Tests can add any DAG. */
export class GatewayWorld {
  readonly clock = new ManualClock()
  readonly leases = new Leases()
  readonly logged: Array<{ level: string; message: string; fields: Record<string, unknown> }> = []
  readonly #dataDir: string
  readonly #db: Database
  readonly #roots: RootTable
  readonly #ledger: Ledger
  readonly #queue: WriteQueue
  readonly #store: BlockStore
  readonly #threads: BlockThreads
  readonly content: LiveContent

  private constructor(dataDir: string, files: BlockFiles, threads: BlockThreads) {
    this.#threads = threads
    this.#dataDir = dataDir
    this.#db = newDatabase(dataDir)
    this.#queue = new WriteQueue(this.#db)
    const blocks = new BlockTable(this.#db)
    this.#roots = new RootTable(this.#db)
    this.#ledger = new Ledger({
      claims: new Claims(this.#db, blocks, this.#queue),
      blocks,
      roots: this.#roots,
      holds: new Holds(this.#db, this.#roots),
      queue: this.#queue,
    })
    this.#store = new BlockStore(this.#ledger, blocks, {
      backendId: 0,
      files,
      smallBlockBytes: SMALL_BLOCK_BYTES,
      threads,
      writes: new Semaphore(2),
      reserve: new DiskReserve({
        dataDir,
        files: files.fileSystem,
        clock: this.clock,
        reserveBytes: 0,
        hasBallast: false,
        watch: files.watch,
      }),
      onHealed: () => undefined,
      onDamaged: (cid, reason) => this.logger.error({ cid: cid.toString(), reason }, 'block damaged'),
    })
    this.content = new LiveContent(
      new HeldRoots(this.#roots, blocks),
      { readerOf: () => this },
      this.leases,
      this.clock,
    )
  }

  static async open(): Promise<GatewayWorld> {
    const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-gateway-'))
    const threads = new BlockThreads()
    const files = new BlockFiles(dataDir, threads)
    await files.open()
    return new GatewayWorld(dataDir, files, threads)
  }

  readonly logger: Logger = {
    debug: (fields, message) => this.#log('debug', fields, message),
    info: (fields, message) => this.#log('info', fields, message),
    warn: (fields, message) => this.#log('warn', fields, message),
    error: (fields, message) => this.#log('error', fields, message),
  }

  gateway(options: GatewayConfig = {}, more: Partial<GatewayDependencies> = {}): ApiHandler {
    const { gateway } = withDefaults({ gateway: options })
    return createGateway({ content: this.content, clock: this.clock, logger: this.logger, options: gateway, ...more })
  }

  /** Reading data for a thread, with the clock of this world. */
  share(options: GatewayConfig, holder: number): SharedReading {
    const { memory, end } = this.leases.share()
    const channel = new MessageChannel()
    channel.port1.unref()
    const data: ReadingData & { time: BigInt64Array } = {
      hasFetches: true,
      database: this.database,
      backends: [{ id: 0, dataDir: this.#dataDir }],
      fallbackBackends: [],
      takedowns: {
        path: join(this.#dataDir, 'takedowns.deny'),
        published: new BigInt64Array(new SharedArrayBuffer(8)),
      },
      revision: new BigInt64Array(new SharedArrayBuffer(8)),
      leases: memory,
      memory: MemoryBudget.of(1024 ** 3, this.clock).shareFor(holder),
      gateway: withDefaults({ gateway: options }).gateway,
      trustedProxies: 0,
      hasEgressCap: false,
      hasNodes: false,
      time: this.time,
    }
    return { data, port: channel.port2, isAwaited: false, end }
  }

  /** Path of the database file. */
  get database(): string {
    return join(this.#dataDir, 'holdfast.db')
  }

  /** Time for other threads, in ms since the epoch. */
  get time(): BigInt64Array {
    const time = new BigInt64Array(new SharedArrayBuffer(8))
    const tell = (): bigint => Atomics.store(time, 0, BigInt(this.clock.now()))
    const advance = this.clock.advance.bind(this.clock)
    this.clock.advance = ms => {
      advance(ms)
      tell()
    }
    tell()
    return time
  }

  /** Pins a file. `liveUntil` is the end of its timelock. */
  addFile(bytes: string | Uint8Array, liveUntil: number | null = null): Promise<CID> {
    return this.#pinned(liveUntil, async staged => (await importFile(staged, Buffer.from(bytes))).cid)
  }

  addDirectory(tree: Tree, liveUntil: number | null = null): Promise<CID> {
    return this.#pinned(liveUntil, async staged => {
      const builder = new DirectoryBuilder(staged)
      try {
        await addEntries(staged, builder, tree, [])
        return (await builder.finish()).cid
      } finally {
        builder.free()
      }
    })
  }

  /** Pins the given blocks. The last one is the root. */
  addBlocks(blocks: ReadonlyArray<readonly [CID, Uint8Array]>): Promise<CID> {
    return this.#pinned(null, async staged => {
      for (const [cid, bytes] of blocks) await staged.put(cid, bytes)
      return blocks.at(-1)?.[0] ?? CID.parse('bafkqaaa')
    })
  }

  /** Removes the pin of a root. */
  drop(root: CID): Promise<void> {
    return this.#queue.run(
      () => {
        const row = this.#roots.find(0, { codec: root.code, multihash: root.multihash.bytes }, 0)
        if (row !== undefined) this.#roots.drop(row.id)
      },
      { durable: false },
    )
  }

  /** Overwrites or truncates a block's file. */
  async damage(cid: CID, how: 'other bytes' | 'cut short'): Promise<void> {
    const path = join(this.#dataDir, 'blocks', blockFileOf(cid))
    if (how === 'cut short') await truncate(path, 100)
    else await writeFile(path, Buffer.alloc(this.#store.sizeOf(cid) ?? 0, 7))
  }

  read(cid: CID): Promise<Uint8Array> {
    return this.#store.get(cid, { verify: true })
  }

  async close(): Promise<void> {
    await this.#queue.settled()
    await this.#threads.stop()
    this.#db.close()
    await rm(this.#dataDir, { recursive: true, force: true })
  }

  async #pinned(liveUntil: number | null, put: (staged: StagedDag) => Promise<CID>): Promise<CID> {
    const rootId = await this.#ledger.stage(0, this.clock.now())
    const staged = new StagedDag(rootId, this.#store, this.#ledger)
    const root = await put(staged)
    await staged.settle()
    const identity = { codec: root.code, multihash: root.multihash.bytes }
    await this.#queue.run(
      () => {
        if (this.#roots.find(0, identity, 0) !== undefined) return
        this.#roots.complete(rootId, { ...identity, owner: 0, ...staged.sizes(0) })
        this.#roots.setLiveUntil(rootId, liveUntil)
      },
      { durable: false },
    )
    return root
  }

  #log(level: string, fields: object, message: string): void {
    this.logged.push({ level, message, fields: { ...fields } })
  }
}

async function addEntries(staged: StagedDag, builder: DirectoryBuilder, tree: Tree, path: string[]): Promise<void> {
  if (Object.keys(tree).length === 0) builder.addDirectory(path)
  for (const [name, entry] of Object.entries(tree)) {
    const names = [...path, name]
    if (typeof entry === 'string' || entry instanceof Uint8Array) {
      builder.addNode(names, await importFile(staged, Buffer.from(entry)))
    } else if (isLink(entry)) builder.addNode(names, await importSymlink(staged, entry.link))
    else await addEntries(staged, builder, entry, names)
  }
}

function isLink(entry: Tree | { link: string }): entry is { link: string } {
  return typeof entry.link === 'string'
}

/** Encodes a dag-pb block. */
export async function pbBlock(node: dagPb.PBNode): Promise<[CID, Uint8Array]> {
  const bytes = dagPb.encode(node)
  return [CID.createV1(CODEC.dagPb, await sha256.digest(bytes)), bytes]
}

export async function rawBlock(bytes: Uint8Array, hash: MultihashHasher = sha256): Promise<[CID, Uint8Array]> {
  return [CID.createV1(CODEC.raw, await hash.digest(bytes)), bytes]
}

/** Encodes a directory with the given links. Each claims `size`. */
export function directoryBlock(
  links: ReadonlyArray<readonly [name: string, cid: CID]>,
  size = 1,
): Promise<[CID, Uint8Array]> {
  const Links = links.map(([name, cid]) => dagPb.createLink(name, size, cid))
  return pbBlock({ Data: new UnixFS({ type: 'directory' }).marshal(), Links })
}

/** Encodes a file node with the given children and their claimed sizes. */
export function fileNode(children: ReadonlyArray<{ cid: CID; size: number }>, data?: Uint8Array): dagPb.PBNode {
  const unixfs = new UnixFS({
    type: 'file',
    blockSizes: children.map(({ size }) => BigInt(size)),
    ...(data === undefined ? {} : { data: Uint8Array.from(data) }),
  })
  return dagPb.prepare({
    Data: unixfs.marshal(),
    Links: children.map(({ cid, size }) => dagPb.createLink('', size, cid)),
  })
}
