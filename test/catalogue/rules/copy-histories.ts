import assert from 'node:assert/strict'
import type { CopyPlace } from '../../../src/catalogue/copies.ts'
import { isSpared } from '../../../src/catalogue/rules/copy-rules.ts'
import { randomNumbers } from '../../support/random-numbers.ts'

const STEPS = 40

interface Member {
  id: string
  run: number
  /** Holds in its ledger. */
  held: Set<number>
  /** An earlier state of the ledger. */
  backup: ReadonlySet<number>
}

interface Row {
  state: 'wanted' | 'have' | 'surplus' | 'going'
  hold: number | null
  /** The run of the node that has compared the row with its ledger. */
  run: number | null
}

interface Freeing {
  node: Member
  counted: CopyPlace[]
  sound: CopyPlace[]
}

/**
 * One content on three to five nodes that want two or three copies of it. It has the rules of the catalogue in memory.
 * Every transaction is a step, so freeing meets restarts, directories of yesterday and removals between its own steps.
 */
export class CopyHistory {
  readonly #pick: (below: number) => number
  readonly #nodes: Member[]
  readonly #copies: number
  /** The node and the hold of each record. */
  readonly #records: Array<{ node: Member; hold: number }> = []
  readonly #rows = new Map<Member, Row>()
  readonly #freeing: Freeing[] = []
  #holds = 0
  readonly log: string[] = []

  constructor(seed: number) {
    this.#pick = randomNumbers(seed)
    this.#nodes = Array.from({ length: 3 + this.#pick(3) }, (_, i) => {
      return { id: `n${i}`, run: 1, held: new Set<number>(), backup: new Set<number>() }
    })
    this.#copies = 2 + this.#pick(2)
  }

  /** @throws AssertionError if the content is lost, or if a ledger has too much or too little at the end */
  run(): void {
    for (let i = 0; i < STEPS; i++) {
      this.#step()
      const isKept = this.#records.length === 0 || this.#sound().length > 0
      assert.ok(isKept, 'the content is lost')
    }
    this.#settle()
    const wanted = this.#records.length === 0 ? 0 : this.#copies
    assert.ok(new Set(this.#sound()).size >= wanted, 'copies are missing')
    assert.ok(wanted > 0 || this.#rows.size === 0, 'copies are left')
    for (const node of this.#nodes) assert.deepEqual([...node.held].sort(), this.#usedOn(node).sort(), node.id)
  }

  #step(): void {
    const node = this.#one(this.#nodes)
    const steps = [
      () => this.#upload(node),
      () => this.#remove(),
      () => this.#compare(node),
      () => this.#take(node),
      () => this.#take(node),
      () => this.#beginFreeing(node),
      () => this.#beginFreeing(node),
      () => this.#ask(),
      () => this.#endFreeing(),
      () => this.#release(node),
      () => this.#restart(node),
      () => this.#lose(node),
    ]
    this.#one(steps)()
  }

  #settle(): void {
    for (let i = 0; i < 8; i++) {
      for (const node of this.#nodes) {
        this.#compare(node)
        this.#take(node)
        this.#beginFreeing(node)
        this.#ask()
        while (this.#freeing.length > 0) this.#endFreeing()
        this.#release(node)
      }
    }
  }

  #upload(node: Member): void {
    const hold = this.#place(node)
    this.#records.push({ node, hold })
    this.log.push(`upload to ${node.id}`)
    this.#follow()
  }

  #remove(): void {
    const [record] = this.#records.splice(this.#pick(Math.max(this.#records.length, 1)), 1)
    if (record === undefined) return
    const { node, hold } = record
    this.log.push(`remove from ${node.id}`)
    this.#follow()
    // The node keeps what others have not copied yet.
    const isLast = !this.#records.some(other => other.node === node)
    const isAwaited = [...this.#rows.values()].some(({ state }) => state === 'wanted')
    if (!isLast || !isAwaited || (this.#rows.get(node)?.hold ?? null) !== null) return
    this.#rows.set(node, { state: 'have', hold, run: null })
    this.#follow()
  }

  /** Decides which nodes have copies, as the database does. */
  #follow(): void {
    if (this.#records.length === 0) {
      this.#rows.clear()
      return
    }
    const ranks = { have: 0, wanted: 1, surplus: 2, going: 3 }
    const rank = (node: Member): number =>
      this.#isPrimary(node) ? -1 : (ranks[this.#rows.get(node)?.state as Row['state']] ?? 4)
    const chosen = new Set(this.#nodes.toSorted((one, other) => rank(one) - rank(other)).slice(0, this.#copies))
    for (const node of chosen) {
      if (!this.#isPrimary(node) && !this.#rows.has(node))
        this.#rows.set(node, { state: 'wanted', hold: null, run: null })
    }
    for (const [node, row] of this.#rows) {
      if (row.state === 'wanted') {
        if (!chosen.has(node) && !this.#isPrimary(node)) this.#rows.delete(node)
      } else if (chosen.has(node)) row.state = 'have'
      else if (row.state === 'have') row.state = 'surplus'
    }
  }

  #compare(node: Member): void {
    // A node whose directory lacks the content of its records wants it back, unless it has a copy.
    const lost = this.#records.filter(record => record.node === node && !node.held.has(record.hold))
    if (this.#sound().includes(node)) for (const record of lost) record.hold = this.#place(node)
    else if (lost.length > 0 && !this.#rows.has(node)) this.#rows.set(node, { state: 'wanted', hold: null, run: null })
    const row = this.#rows.get(node)
    if (row === undefined || row.hold === null || row.run === node.run) return
    this.log.push(`${node.id} compares`)
    if (node.held.has(row.hold))
      this.#rows.set(node, { ...row, state: row.state === 'going' ? 'surplus' : row.state, run: node.run })
    else this.#rows.set(node, { state: 'wanted', hold: null, run: null })
    this.#follow()
  }

  #take(node: Member): void {
    const row = this.#rows.get(node)
    if (row?.state !== 'wanted' || !this.#sound().some(other => other !== node)) return
    this.log.push(`${node.id} takes`)
    for (const record of this.#records) {
      if (record.node === node && !node.held.has(record.hold)) record.hold = this.#place(node)
    }
    this.#rows.set(node, { state: 'have', hold: this.#place(node), run: node.run })
    this.#follow()
  }

  #beginFreeing(node: Member): void {
    if (!['surplus', 'going'].includes(this.#rows.get(node)?.state ?? '')) return
    this.#follow()
    const row = this.#rows.get(node)
    if (row === undefined || !['surplus', 'going'].includes(row.state)) return
    const counted = this.#counted(node)
    row.state = isSpared(counted, this.#sets()) ? 'going' : 'surplus'
    this.log.push(`${node.id} is ${row.state} by ${counted.map(place => place.node)}`)
    if (row.state === 'going') this.#freeing.push({ node, counted, sound: [] })
  }

  /** Asks the ledgers, each at its own time. */
  #ask(): void {
    for (const { counted, sound } of this.#freeing) {
      for (const place of counted) {
        const node = this.#nodes.find(({ id }) => id === place.node)
        if (`${node?.run}` === place.run && node?.held.has(Number(place.hold)) === true) sound.push(place)
      }
    }
  }

  #endFreeing(): void {
    const freeing = this.#freeing.shift()
    if (freeing === undefined) return
    const { node, sound } = freeing
    const row = this.#rows.get(node)
    if (row?.state !== 'going') return
    const still = this.#counted(node).filter(place => sound.some(one => isSame(one, place)))
    this.log.push(`${node.id} ends by ${still.map(place => place.node)}`)
    if (!isSpared(still, this.#sets())) {
      row.state = 'surplus'
      return
    }
    this.#rows.delete(node)
    assert.ok(this.#sound().length >= this.#copies, 'a copy was released too early')
  }

  #release(node: Member): void {
    const used = new Set(this.#usedOn(node))
    for (const hold of node.held) if (!used.has(hold)) node.held.delete(hold)
  }

  #restart(node: Member): void {
    this.log.push(`${node.id} restarts`)
    node.run++
    node.backup = new Set(node.held)
  }

  /** The directory is of yesterday, or empty. Another node has the content, and no node waits for a repair. */
  #lose(node: Member): void {
    if (!this.#nodes.every(one => this.#usedOn(one).every(hold => one.held.has(hold)))) return
    if (!this.#sound().some(other => other !== node)) return
    this.log.push(`${node.id} loses`)
    node.run++
    node.held = this.#pick(2) === 0 ? new Set() : new Set([...node.backup].filter(hold => node.held.has(hold)))
    // It looks before anything else.
    this.#compare(node)
  }

  #counted(self: Member): CopyPlace[] {
    const of = (node: Member, hold: number): CopyPlace => ({ node: node.id, run: `${node.run}`, hold: `${hold}` })
    const records = this.#records.map(({ node, hold }) => of(node, hold))
    const rows = [...this.#rows].flatMap(([node, { state, hold, run }]) =>
      (state === 'have' || state === 'surplus') && hold !== null && run === node.run ? of(node, hold) : [],
    )
    return [...records, ...rows].filter(({ node }) => node !== self.id)
  }

  /** Returns the nodes whose ledgers have the content by a hold that the catalogue counts on. */
  #sound(): Member[] {
    return this.#nodes.filter(node => this.#usedOn(node).some(hold => node.held.has(hold)))
  }

  #usedOn(node: Member): number[] {
    const own = this.#records.filter(record => record.node === node).map(({ hold }) => hold)
    const hold = this.#rows.get(node)?.hold
    return hold == null ? own : [...own, hold]
  }

  #isPrimary(node: Member): boolean {
    return this.#records.some(record => record.node === node)
  }

  #place(node: Member): number {
    const hold = this.#holds++
    node.held.add(hold)
    return hold
  }

  #sets(): Array<{ nodes: string[]; copies: number }> {
    return [{ nodes: this.#nodes.map(({ id }) => id), copies: this.#copies }]
  }

  #one<One>(of: readonly One[]): One {
    return of[this.#pick(of.length)] as One
  }
}

function isSame(one: CopyPlace, other: CopyPlace): boolean {
  return one.node === other.node && one.run === other.run && one.hold === other.hold
}
