import type { CommitIntent, Committed } from '../../src/catalogue/records.ts'
import { takeUse } from '../../src/catalogue/rules/record-rules.ts'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import { ContentChange, type ContentParts, type Prepared } from './content-change.ts'
import { carriedOut } from './postgres-driver.ts'
import { identicalRecord } from './record-rows.ts'
import { NeedsHold } from './shared-holds.ts'

/** Records that are written, with what has their content stay. */
export class RecordCommits {
  readonly #parts: ContentParts

  constructor(parts: ContentParts) {
    this.#parts = parts
  }

  /** As `Records.commit`. */
  async commit(intents: readonly CommitIntent[], token?: string): Promise<Committed[]> {
    for (let isAgain = false; ; isAgain = true) {
      const prepared = await this.#prepare(intents, isAgain)
      const holds = prepared.flatMap(({ hold }) => hold?.id ?? [])
      let made: Committed[]
      try {
        made = await this.#commit(intents, prepared, token)
      } catch (error) {
        if (isHoldfastError(error, 'OUTCOME_UNKNOWN')) throw error
        await this.#parts.holds.giveUp(holds)
        if (!(error instanceof NeedsHold) || isAgain) throw error
        continue
      }
      await this.#giveUpUnused(intents, made, holds)
      return made
    }
  }

  /** Has the ledger hold what is to be committed; what is there already needs no hold, unless that turns out wrong. */
  async #prepare(intents: readonly CommitIntent[], isAgain: boolean): Promise<Prepared[]> {
    const { holds } = this.#parts
    const wanted: Array<{ intent: CommitIntent & { kind: 'whole' }; index: number }> = []
    const prepared: Prepared[] = intents.map(() => ({ hold: null }))
    try {
      for (const [index, intent] of intents.entries()) {
        if (intent.kind === 'partial') {
          prepared[index] = { hold: { id: await holds.keep(intent.stagedRootId), rootId: null } }
        } else {
          const known = isAgain
            ? undefined
            : await identicalRecord(this.#parts.database.reading, intent.record, intent.now)
          if (known === undefined || known.rootId === null) wanted.push({ intent, index })
        }
      }
      const placed = await holds.place(
        wanted.map(({ intent }) => {
          const { backendId, stagedRootId, dag, record } = intent
          return { backendId, stagedRootId, dag, ends: record.expiresAt }
        }),
      )
      for (const [i, hold] of placed.entries()) prepared[wanted[i]?.index ?? 0] = { hold }
      return prepared
    } catch (error) {
      await holds.giveUp(prepared.flatMap(({ hold }) => hold?.id ?? []))
      // Whatever has become of the holds, no record was written.
      throw isHoldfastError(error, 'OUTCOME_UNKNOWN') ? notRecorded(error) : error
    }
  }

  async #commit(
    intents: readonly CommitIntent[],
    prepared: readonly Prepared[],
    token: string | undefined,
  ): Promise<Committed[]> {
    const accounts = [...new Set(intents.map(({ record }) => record.accountId))]
    let attempt: Committed[] = []
    try {
      return await this.#parts.database.transaction(
        async sql => {
          attempt = []
          const change = await ContentChange.begin(sql, this.#parts, accounts)
          if (token !== undefined) await carriedOut(takeUse(token), sql)
          for (const [i, intent] of intents.entries()) {
            attempt.push(await change.commit(intent, prepared[i] ?? { hold: null }))
          }
          await change.accounts.write()
          return attempt
        },
        accounts.length === 1 ? (accounts[0] ?? null) : null,
      )
    } catch (error) {
      if (!isHoldfastError(error, 'OUTCOME_UNKNOWN')) throw error
      if (await this.#hasHappened(prepared, error)) return attempt
      throw notRecorded(error)
    }
  }

  /**
   * Whether a commit of which the answer was lost has happened. It has used its holds, or it never can: they are made
   * void by the same comparison that it would use them by.
   */
  async #hasHappened(prepared: readonly Prepared[], unknown: HoldfastError): Promise<boolean> {
    const ids = prepared.flatMap(({ hold }) => hold?.id ?? [])
    if (ids.length === 0) throw unknown
    try {
      return await this.#parts.database.transaction(async sql => {
        const text = 'SELECT state FROM holds WHERE id = ANY($1) ORDER BY id FOR UPDATE'
        const isUsed = (await sql.all<{ state: string }>(text, [ids])).some(({ state }) => state === 'used')
        if (!isUsed) await this.#parts.holds.void(sql, ids)
        return isUsed
      })
    } catch {
      throw unknown
    }
  }

  /** @throws HoldfastError `OUTCOME_UNKNOWN` if the ledger fails: the catalogue has committed by then */
  async #giveUpUnused(intents: readonly CommitIntent[], made: readonly Committed[], holds: string[]): Promise<void> {
    const isRepeat = ({ created, waited }: Committed) => !created && waited === null
    if (!made.some(isRepeat)) return
    await this.#parts.holds.giveUp(holds)
    const staged = intents.flatMap((intent, i) => {
      const one = made[i]
      return one !== undefined && isRepeat(one) && intent.kind === 'whole' ? (intent.stagedRootId ?? []) : []
    })
    try {
      await this.#parts.ledger.abandon(staged)
    } catch (cause) {
      const message = 'the catalogue has recorded it, and the disk of this node failed: ask again after a restart'
      throw new HoldfastError('OUTCOME_UNKNOWN', message, { cause })
    }
  }
}

function notRecorded(cause: HoldfastError): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the catalogue or the disk failed; nothing was recorded', { cause })
}
