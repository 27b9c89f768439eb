import type { CID } from 'multiformats/cid'
import { nextTurn, turnSpent } from '../concurrency/turns.ts'
import { HoldfastError } from '../domain/errors.ts'
import { cidOf, HASH } from '../ipld/cid.ts'
import { type Reached, type ReachedBlock, type ReachWalk, type ReachWalks, STAGE } from '../ledger/reach-walks.ts'
import type { BlockSource } from './block-source.ts'
import { hasLinks, linksOf } from './dag/links.ts'

const READ_AT_ONCE = 4
const LINKS_AT_ONCE = 1_000

/**
 * Finds the blocks of a root that are reachable without passing through a withheld block. The ledger stores the state
 * of a walk between its steps.
 */
export class ReachWalker {
  readonly #table: ReachWalks
  readonly #readerOf: (backendId: number) => BlockSource | null

  constructor(table: ReachWalks, readerOf: (backendId: number) => BlockSource | null) {
    this.#table = table
    this.#readerOf = readerOf
  }

  /** @throws HoldfastError any error of reading a block; the caller can repeat the step */
  async step(walk: ReachWalk, signal: AbortSignal): Promise<void> {
    switch (walk.stage) {
      case STAGE.forget:
        if (await this.#table.forget(walk)) return
        if (walk.state !== 'complete') return this.#table.end(walk)
        // No block is reachable through a root that is taken down.
        if (walk.barred > 1) return this.#table.enter(walk, STAGE.note)
        await this.#add(walk, [{ cid: cidOf(walk), way: 0 }], signal)
        return this.#table.enter(walk, STAGE.walk)
      case STAGE.walk:
        return this.#follow(walk, signal)
      case STAGE.note:
        if (!(await this.#table.note(walk))) await this.#table.enter(walk, STAGE.end)
        return
      case STAGE.close:
        return this.#table.close(walk)
      default:
        if (!(await this.#table.forget(walk))) await this.#table.end(walk)
    }
  }

  async #follow(walk: ReachWalk, signal: AbortSignal): Promise<void> {
    const blocks = this.#table.pending(walk, READ_AT_ONCE)
    if (blocks.length === 0) return this.#table.enter(walk, STAGE.note)
    const reader = this.#readerOf(walk.backendId)
    if (reader === null) throw new HoldfastError('UNAVAILABLE', `the backend ${walk.backendId} cannot be read`)
    await Promise.all(blocks.map(block => this.#followOne(walk, block, reader, signal)))
  }

  async #followOne(walk: ReachWalk, block: ReachedBlock, reader: BlockSource, signal: AbortSignal): Promise<void> {
    const cid = cidOf(block)
    const bytes = await reader.read(cid, { signal })
    let links: Array<{ cid: CID; way: number }> = []
    for (const link of linksOf(cid, bytes)) {
      if (turnSpent()) await nextTurn(signal)
      if (links.push({ cid: link, way: block.way }) < LINKS_AT_ONCE) continue
      await this.#add(walk, links, signal)
      links = []
    }
    await this.#add(walk, links, signal)
    await this.#table.followed(walk, block)
  }

  /** Stores reached blocks. An identity CID has no row, so its links are followed immediately. */
  async #add(walk: ReachWalk, links: ReadonlyArray<{ cid: CID; way: number }>, signal: AbortSignal): Promise<void> {
    const reached: Reached[] = []
    const stack = [...links]
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      if (turnSpent()) await nextTurn(signal)
      const { cid } = next
      const way = this.#table.statusOf(cid.multihash.bytes) ?? next.way
      if (cid.multihash.code !== HASH.identity) reached.push({ cid, way, isLeaf: !hasLinks(cid) })
      else if (hasLinks(cid)) for (const link of linksOf(cid, cid.multihash.digest)) stack.push({ cid: link, way })
    }
    await this.#table.add(walk, reached)
  }
}
