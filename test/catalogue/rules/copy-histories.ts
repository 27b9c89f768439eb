import assert from 'node:assert/strict'
import type { CopyPlace } from '../../../src/catalogue/copies.ts'
import { isSpared } from '../../../src/catalogue/rules/copy-rules.ts'
import { randomNumbers } from '../../support/random-numbers.ts'
import { type CopyHistoryRow, type CopyMember, type Freeing, isSamePlace } from './copy-history-rows.ts'
import { CopyNetwork } from './copy-network.ts'

/** Longer than surplus copies stay. */
const DAYS_MS = 200_000_000

/**
 * One content on three to five nodes that want two or three copies of it. It has the rules of the catalogue in memory.
 * Every transaction is a step, so freeing meets restarts, directories of yesterday and removals between its own steps.
 */
export class CopyHistory {
  readonly #pick: (below: number) => number
  readonly #nodes: CopyMember[]
  readonly #network: CopyNetwork<CopyMember>
  readonly #isBroken: boolean
  readonly #copies: number
  /** The node and the hold of each record. */
  readonly #records: Array<{ node: CopyMember; hold: number }> = []
  readonly #rows = new Map<CopyMember, CopyHistoryRow>()
  readonly #freeing: Freeing[] = []
  #holds = 0
  readonly log: string[] = []

  /** @param isBroken true if nodes end, and networks and disks break */
  constructor(seed: number, isBroken = false) {
    this.#isBroken = isBroken
    this.#pick = randomNumbers(seed)
    this.#nodes = Array.from({ length: 3 + this.#pick(3) }, (_, i) => {
      const held = { held: new Set<number>(), backup: new Set<number>() }
      return { ...CopyNetwork.node(`n${i}`, this.#pick), run: 1, ...held }
    })
    this.#network = new CopyNetwork(this.#pick, this.#nodes)
    this.#copies = 2 + this.#pick(2)
  }

  /** @throws AssertionError if the content is lost, or if a ledger has too much or too little at the end */
  run(steps: number): void {
    for (let i = 0; i < steps; i++) {
      this.#step()
      const isKept = this.#records.length === 0 || this.#sound().length > 0
      assert.ok(isKept, 'the content is lost')
    }
    if (this.#isBroken) this.#leave()
    this.#settle()
    const wanted = this.#records.length === 0 ? 0 : this.#copies
    assert.ok(new Set(this.#sound()).size >= wanted, 'copies are missing')
    assert.ok(wanted > 0 || this.#rows.size === 0, 'copies are left')
    for (const node of this.#nodes) assert.deepEqual([...node.held].sort(), this.#usedOn(node).sort(), node.id)
  }

  #step(): void {
    const node = this.#one(this.#nodes)
    if (this.#isBroken && this.#pick(4) === 0) this.log.push(this.#network.step(node))
    if (node.isCut) return
    if (node.isDown) {
      this.#one([() => undefined, () => this.#restart(node), () => this.#lose(node)])()
      return
    }
    if (this.#network.observe(node)) this.#follow()
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
      () => this.#confirm(),
    ]
    this.#one(steps)()
  }

  #confirm(): void {
    this.#network.confirm()
    this.#follow()
  }

  /** One node stays away, and the others copy what it has. */
  #leave(): void {
    this.#settle()
    const away = this.#one(this.#nodes)
    away.isDown = true
    this.#network.pass(DAYS_MS)
    this.#confirm()
    this.#work()
    const left = this.#sound().filter(node => node !== away)
    const wanted = this.#records.length === 0 ? 0 : Math.min(this.#copies, this.#nodes.length - 1)
    assert.ok(left.length >= wanted, `${away.id} is away, and copies are missing`)
  }

  /** Mends everything, and runs the work that is due. */
  #settle(): void {
    for (const node of this.#network.mend()) this.#restart(node)
    for (const node of this.#nodes) if (this.#network.observe(node)) this.#follow()
    this.#network.pass(DAYS_MS)
    this.#work()
  }

  #work(): void {
    for (let i = 0; i < 8; i++) {
      for (const node of this.#nodes.filter(one => this.#network.isWorking(one))) {
        this.#compare(node)
        this.#take(node)
        this.#beginFreeing(node)
        this.#ask()
        while (this.#freeing.length > 0) this.#endFreeing()
        this.#release(node)
      }
    }
  }

  #upload(node: CopyMember): void {
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
    this.#rows.set(node, { state: 'have', hold, run: null, dueAt: 0 })
    this.#follow()
  }

  /** Decides which nodes have copies, as the database does. */
  #follow(): void {
    if (this.#records.length === 0) {
      this.#rows.clear()
      return
    }
    const ranks = { have: 0, wanted: 1, surplus: 2, going: 3 }
    const rank = (node: CopyMember): number =>
      (this.#network.isAbsent(node) ? 10 : 0) +
      (this.#isPrimary(node) ? -1 : (ranks[this.#rows.get(node)?.state as CopyHistoryRow['state']] ?? 4))
    const chosen = new Set(this.#nodes.toSorted((one, other) => rank(one) - rank(other)).slice(0, this.#copies))
    for (const [node, { state }] of this.#rows) if (state === 'have' && this.#network.isAbsent(node)) chosen.add(node)
    for (const node of chosen) {
      if (!this.#isPrimary(node) && !this.#rows.has(node))
        this.#rows.set(node, { state: 'wanted', hold: null, run: null, dueAt: 0 })
    }
    for (const [node, row] of this.#rows) {
      if (row.state === 'wanted') {
        if (!chosen.has(node) && !this.#isPrimary(node)) this.#rows.delete(node)
      } else if (chosen.has(node)) row.state = 'have'
      else if (row.state === 'have') {
        row.state = 'surplus'
        row.dueAt = this.#network.keepUntil
      }
    }
  }

  #compare(node: CopyMember): void {
    // A node whose directory lacks the content of its records wants it back, unless it has a copy.
    const lost = this.#records.filter(record => record.node === node && !node.held.has(record.hold))
    if (this.#sound().includes(node)) for (const record of lost) record.hold = this.#place(node)
    else if (lost.length > 0 && !this.#rows.has(node))
      this.#rows.set(node, { state: 'wanted', hold: null, run: null, dueAt: 0 })
    const row = this.#rows.get(node)
    if (row === undefined || row.hold === null || row.run === node.run) return
    this.log.push(`${node.id} compares`)
    if (node.held.has(row.hold))
      this.#rows.set(node, { ...row, state: row.state === 'going' ? 'surplus' : row.state, run: node.run })
    else this.#rows.set(node, { state: 'wanted', hold: null, run: null, dueAt: 0 })
    this.#follow()
  }

  #take(node: CopyMember): void {
    const row = this.#rows.get(node)
    const sources = this.#sound().filter(other => other !== node && this.#network.reaches(node, other))
    if (row?.state !== 'wanted' || sources.length === 0) return
    this.log.push(`${node.id} takes`)
    for (const record of this.#records) {
      if (record.node === node && !node.held.has(record.hold)) record.hold = this.#place(node)
    }
    this.#rows.set(node, { state: 'have', hold: this.#place(node), run: node.run, dueAt: 0 })
    this.#follow()
  }

  #beginFreeing(node: CopyMember): void {
    const { state = 'have', dueAt = 0 } = this.#rows.get(node) ?? {}
    if (!['surplus', 'going'].includes(state) || dueAt > this.#network.timeOf(node)) return
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
    for (const { node: asking, counted, sound } of this.#freeing) {
      for (const place of counted) {
        const node = this.#nodes.find(({ id }) => id === place.node)
        if (node === undefined || !this.#network.reaches(asking, node)) continue
        if (`${node.run}` === place.run && node.held.has(Number(place.hold))) sound.push(place)
      }
    }
  }

  #endFreeing(): void {
    const freeing = this.#freeing.shift()
    if (freeing === undefined || !this.#network.isWorking(freeing.node)) return
    const { node, sound } = freeing
    const row = this.#rows.get(node)
    if (row?.state !== 'going') return
    const still = this.#counted(node).filter(place => sound.some(one => isSamePlace(one, place)))
    this.log.push(`${node.id} ends by ${still.map(place => place.node)}`)
    if (!isSpared(still, this.#sets())) {
      row.state = 'surplus'
      return
    }
    this.#rows.delete(node)
    assert.ok(this.#sound().length >= this.#copies, 'a copy was released too early')
  }

  #release(node: CopyMember): void {
    const used = new Set(this.#usedOn(node))
    for (const hold of node.held) if (!used.has(hold)) node.held.delete(hold)
  }

  #restart(node: CopyMember): void {
    this.log.push(`${node.id} restarts`)
    this.#network.started(node)
    node.run++
    node.backup = new Set(node.held)
  }

  /** The directory is of yesterday, or empty. Another node has the content, and no node waits for a repair. */
  #lose(node: CopyMember): void {
    if (!this.#nodes.every(one => this.#usedOn(one).every(hold => one.held.has(hold)))) return
    if (!this.#sound().some(other => other !== node)) return
    this.log.push(`${node.id} loses`)
    this.#network.started(node)
    node.run++
    node.held = this.#pick(2) === 0 ? new Set() : new Set([...node.backup].filter(hold => node.held.has(hold)))
    // It looks before anything else.
    this.#compare(node)
  }

  #counted(self: CopyMember): CopyPlace[] {
    const of = (node: CopyMember, hold: number): CopyPlace => ({ node: node.id, run: `${node.run}`, hold: `${hold}` })
    const records = this.#records.map(({ node, hold }) => of(node, hold))
    const rows = [...this.#rows].flatMap(([node, { state, hold, run }]) =>
      (state === 'have' || state === 'surplus') && hold !== null && run === node.run ? of(node, hold) : [],
    )
    return [...records, ...rows].filter(({ node }) => node !== self.id)
  }

  /** Returns the nodes whose ledgers have the content by a hold that the catalogue counts on. */
  #sound(): CopyMember[] {
    return this.#nodes.filter(node => this.#usedOn(node).some(hold => node.held.has(hold)))
  }

  #usedOn(node: CopyMember): number[] {
    const own = this.#records.filter(record => record.node === node).map(({ hold }) => hold)
    const hold = this.#rows.get(node)?.hold
    return hold == null ? own : [...own, hold]
  }

  #isPrimary(node: CopyMember): boolean {
    return this.#records.some(record => record.node === node)
  }

  #place(node: CopyMember): number {
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
