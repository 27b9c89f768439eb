import assert from 'node:assert/strict'
import type { BulkChange, RecordRow } from '../../src/catalogue/index.ts'
import { Draws } from '../support/draws.ts'
import {
  type ContentRule,
  commit,
  dagOf,
  ids,
  isCode,
  listOf,
  NO_LIMITS,
  NOW,
  plain,
  record,
  SIZES,
} from './content-support.ts'
import type { ContentCatalogue } from './memory-catalogue.ts'
import { PlayedAccount, type PlayedQuota } from './played-account.ts'

const MUCH = { pins: 1_000, contents: 1_000 }
const LITTLE = { pins: 7, contents: 4 }
/** Plays in which undo periods keep content at many steps, and plays that reach the quota. */
const PLAYS: ReadonlyArray<[seed: number, quota: PlayedQuota]> = [
  [2, MUCH],
  [3, MUCH],
  [4, MUCH],
  [7, LITTLE],
  [11, LITTLE],
]
const STEPS = 60
/** When records with an expiry end. */
const ENDS = NOW + 50
const UNDO_MS = 100
const CONTENTS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] as const
/** Records in plain maps: a job removes each of its records as a single removal does, and an undo puts them back. */
class Play {
  readonly #catalogue: ContentCatalogue
  readonly #draws: Draws
  readonly #account: PlayedAccount
  #made = 0
  /** Contents that the account named after the last step. */
  #named = new Set<string>()
  /** Bytes of the account on the disk when deletion was stopped, or its quota if that is more. */
  #mostWhileStopped = 0

  constructor(catalogue: ContentCatalogue, seed: number, quota: PlayedQuota) {
    this.#account = new PlayedAccount(quota)
    this.#catalogue = catalogue
    this.#draws = new Draws(seed)
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS; step++) {
      await this.#draws.pick([
        () => this.#store(),
        () => this.#store(),
        () => this.#removeOne(),
        () => this.#begin(),
        () => this.#continue(),
        () => this.#undo(),
        () => this.#undo(),
        () => this.#purge(),
        () => this.#end(),
        () => this.#endExcess(),
        () => this.#expire(),
        () => this.#stop(),
        ...(step % 20 === 19 ? [() => this.#deleteAccount(), () => this.#deleteAccount()] : []),
      ])()
      await this.#compare()
    }
  }

  async #store(): Promise<void> {
    const some = Array.from({ length: 1 + this.#draws.below(3) }, () => {
      const [content, meta] = [this.#draws.pick(CONTENTS), this.#draws.pick([null, '{"k":"v"}'])]
      const id = `r${String(this.#made++).padStart(3, '0')}`
      const expiresAt = this.#draws.below(4) === 0 ? ENDS : null
      return record(id, { dag: dagOf(content), cid: content, meta, expiresAt, createdAt: NOW - this.#draws.below(9) })
    })
    for (const one of some) {
      const committed = commit(this.#catalogue, [one], this.#account.limits())
      if (this.#account.hasRoom(one.cid)) {
        await committed
        this.#account.live.set(one.id, await this.#row(one.id))
      } else await assert.rejects(committed, isCode('QUOTA_EXCEEDED'))
    }
  }

  async #removeOne(): Promise<void> {
    const id = this.#drawn()
    if (id === undefined) return
    assert.equal(await this.#catalogue.records.discard(id), true)
    this.#account.live.delete(id)
  }

  async #expire(): Promise<void> {
    const due = [...this.#account.live].filter(([, row]) => (row as RecordRow).expiresAt === ENDS).map(([id]) => id)
    assert.deepEqual(ids(await this.#catalogue.records.expire(ENDS, 50)).toSorted(), due.toSorted())
    for (const id of due) this.#account.live.delete(id)
  }

  /** Stops deletion, or ends the stop. */
  async #stop(): Promise<void> {
    const { stops } = this.#catalogue
    await (this.#account.released === null ? stops.begin() : stops.end())
    this.#account.released = this.#account.released === null ? 0 : null
    const onDisk = (this.#account.contents().size + this.#account.kept().size) * SIZES.charge
    this.#mostWhileStopped = Math.max(onDisk, this.#account.plan.maxStorageBytes ?? 0)
  }

  /** Deletes the account as the node does: undo periods first, then records. Then makes it anew. */
  async #deleteAccount(): Promise<void> {
    const { accounts, bulk, records } = this.#catalogue
    const account = await accounts.get('one')
    assert.ok(account !== null)
    assert.equal(await accounts.markDeleted('one', NOW), 'marked')
    const before = this.#account.jobs.map(({ change }) => change)
    await bulk.endPeriods({ accountId: 'one', why: 'account', limit: 100 })
    while (await accounts.purge('one', 50));
    await records.discardAll([...this.#account.live.keys()])
    this.#account.live.clear()
    for (const { id, name } of before) {
      const { phase, place } = await this.#read(name)
      if (phase === 'running') await bulk.remove({ id, place, next: null, ids: [], now: NOW, isListed: true })
      while (await bulk.purge(id, NOW));
    }
    this.#account.jobs = []
    assert.equal(await accounts.forget('one'), true)
    await accounts.insert({ ...account, email: `one${this.#made++}@test` }, null)
  }

  async #begin(): Promise<void> {
    const chosen = [...this.#account.live.keys()].filter(() => this.#draws.below(2) === 0).slice(0, 12)
    if (chosen.length === 0) return
    const request = { name: `play${this.#made++}`, accountId: 'one', action: 'delete' as const, undoMs: UNDO_MS }
    const change = await this.#catalogue.bulk.add({ ...request, selection: '', total: chosen.length, createdAt: NOW })
    this.#account.jobs.push({ change, left: chosen, gone: new Map(), isUndone: false, isEnded: false })
    await this.#continue()
  }

  /** Carries out a step of a job, twice, as after a crash. */
  async #continue(): Promise<void> {
    const job = this.#account.jobs.find(({ left, isUndone }) => left.length > 0 && !isUndone)
    if (job === undefined) return
    const { id, name } = job.change
    const { place } = await this.#read(name)
    const taken = job.left.splice(0, 1 + this.#draws.below(5))
    const next = job.left.length === 0 ? null : `${place}.`
    const step = { id, place, next, ids: taken, now: NOW, isListed: true }
    const expected = taken.filter(one => this.#account.live.has(one))
    assert.deepEqual(ids((await this.#catalogue.bulk.remove(step)) ?? []).toSorted(), expected.toSorted())
    assert.equal(await this.#catalogue.bulk.remove(step), null)
    for (const one of expected) {
      if (!job.isEnded) job.gone.set(one, this.#account.live.get(one))
      this.#account.live.delete(one)
    }
  }

  async #undo(): Promise<void> {
    const job = this.#account.jobs.find(
      ({ gone, isUndone }) => gone.size > 0 && !isUndone && this.#draws.below(2) === 0,
    )
    if (job === undefined) return
    const { bulk } = this.#catalogue
    const { id, name, accountId } = job.change
    if (job.isEnded) {
      await assert.rejects(bulk.undo({ accountId, name, limits: this.#account.plan, now: NOW }), isCode('CONFLICT'))
      return
    }
    const { done, restored, freedBytes } = await this.#read(name)
    const isOver =
      this.#account.live.size + done - restored > (this.#account.plan.maxPins ?? 0) ||
      this.#account.contents().size * SIZES.charge + freedBytes > (this.#account.plan.maxStorageBytes ?? 0)
    if (isOver) {
      await assert.rejects(
        bulk.undo({ accountId, name, limits: this.#account.plan, now: NOW }),
        isCode('QUOTA_EXCEEDED'),
      )
      return
    }
    await bulk.undo({ accountId, name, limits: this.#account.plan, now: NOW })
    const removed = ids(await bulk.removed(id, '', 50))
    assert.deepEqual(removed, [...job.gone.keys()].toSorted())
    job.isUndone = true
    for (let place = ''; ; ) {
      const some = removed.splice(0, 1 + this.#draws.below(5))
      const step = { id, place, next: removed.length === 0 ? null : `${place}.`, ids: some, now: NOW }
      const expected = this.#account.restore(job, some)
      assert.deepEqual(ids((await bulk.restore({ ...step, limits: this.#account.plan })) ?? []).toSorted(), expected)
      if (step.next === null) break
      place = step.next
    }
  }

  /** Ends the undo period of an ended job. */
  async #purge(): Promise<void> {
    const job = this.#account.jobs.find(({ left, isUndone }) => left.length === 0 || isUndone)
    if (job === undefined) return
    while (await this.#catalogue.bulk.purge(job.change.id, job.isEnded ? NOW : NOW + UNDO_MS));
    this.#account.jobs = this.#account.jobs.filter(one => one !== job)
  }

  /** Ends the period that should end next on a full disk. Each content lies on it. */
  async #end(): Promise<void> {
    const ended = await this.#catalogue.bulk.endForRoom({ backends: [0] })
    const keeping = this.#account.endable().filter(job => this.#account.kept([job]).size > 0)
    assert.equal(ended?.name, keeping[0]?.change.name)
    if (keeping[0] !== undefined) keeping[0].isEnded = true
    assert.equal(await this.#catalogue.bulk.endForRoom({ backends: [7] }), null)
  }

  async #endExcess(): Promise<void> {
    const most = this.#draws.below(4) * SIZES.charge
    const ended = await this.#catalogue.bulk.endExcess({ accountId: 'one', most, now: NOW })
    const changes = await Promise.all(this.#account.jobs.map(({ change }) => this.#read(change.name)))
    const newest = changes.findLast(({ undoMs, undoEnded }) => undoMs > 0 || undoEnded !== null)
    const expected =
      this.#account.kept().size * SIZES.charge <= Math.max(most, ended === null ? (newest?.freedBytes ?? 0) : 0) ||
      this.#account.jobs.some(({ isEnded, gone }) => isEnded && gone.size > 0)
        ? undefined
        : this.#account
            .endable()
            .find(({ gone, change }) => gone.size > 0 && change.id !== this.#account.newest?.change.id)
    assert.equal(ended?.name, expected?.change.name)
    if (expected !== undefined) expected.isEnded = true
  }

  async #compare(): Promise<void> {
    const { records } = this.#catalogue
    const { rows, total } = await records.page(listOf('one'), 0, 1_000)
    const found = await Promise.all(rows.map(async ({ id }) => [id, await this.#row(id)] as const))
    assert.deepEqual(Object.fromEntries(found), Object.fromEntries(this.#account.live))
    const contents = this.#account.contents()
    assert.deepEqual(
      [total, plain(await records.usage('one', NOW))],
      [this.#account.live.size, this.#usage(contents.size)],
    )
    const { bulk } = this.#catalogue
    const bytes = this.#account.kept().size * SIZES.charge
    assert.equal(await bulk.keptBytes('one'), bytes)
    assert.deepEqual(plain(await bulk.keptTotals()), { accounts: bytes === 0 ? 0 : 1, bytes })
    await this.#compareUndeleted(bytes)
    const kept = this.#account.jobs.flatMap(({ gone }) => [...gone.values()])
    for (const content of CONTENTS) {
      const isKept = contents.has(content) || kept.some(row => (row as RecordRow).cid === content)
      assert.equal(await this.#hasContent(content), isKept, content)
    }
  }

  async #compareUndeleted(keptBytes: number): Promise<void> {
    const rows = [...this.#account.live.values(), ...this.#account.jobs.flatMap(({ gone }) => [...gone.values()])]
    const named = new Set(rows.map(row => (row as RecordRow).cid))
    const left = [...this.#named].filter(content => !named.has(content)).length * SIZES.charge
    this.#named = named
    if (this.#account.released !== null) this.#account.released += left
    const undeleted = await this.#catalogue.stops.undeletedBytes('one')
    assert.equal(undeleted, keptBytes + (this.#account.released ?? 0))
    if (this.#account.released === null) return
    // Content that was removed twice counts twice, so less than this is on the disk.
    assert.ok(this.#account.contents().size * SIZES.charge + undeleted <= this.#mostWhileStopped)
  }

  #usage(contents: number) {
    const expiring = [...this.#account.live.values()].filter(row => (row as RecordRow).expiresAt !== null)
    return { pins: this.#account.live.size, expiringPins: expiring.length, storedBytes: contents * SIZES.charge }
  }

  async #hasContent(content: string): Promise<boolean> {
    const dag = dagOf(content)
    const intent = { record: record('again', { dag }), backendId: 0, limits: NO_LIMITS, now: NOW, stagedRootId: null }
    try {
      await this.#catalogue.records.commit([{ kind: 'whole', ...intent, dag: { ...dag, ...SIZES } }])
    } catch {
      return false
    }
    return this.#catalogue.records.discard('again')
  }

  /** Returns a record without the id of its root, which a repeated upload may change. */
  async #row(id: string): Promise<unknown> {
    const row = await this.#catalogue.records.get(id)
    return row === undefined ? undefined : plain({ ...row, rootId: row.rootId !== null })
  }

  async #read(name: string): Promise<BulkChange> {
    const change = await this.#catalogue.bulk.get('one', name)
    assert.ok(change !== undefined)
    return change
  }

  #drawn(): string | undefined {
    return [...this.#account.live.keys()][this.#draws.below(Math.max(this.#account.live.size, 1))]
  }
}

/** Random plays of removals, expiry, jobs and their undos, deletions of the account and stops of deletion, beside a simple model. */
export const bulkModel: readonly ContentRule[] = PLAYS.map(([seed, quota]) => ({
  name: `random play ${seed} of single removals, jobs and undos`,
  run: catalogue => new Play(catalogue, seed, quota).run(),
}))
