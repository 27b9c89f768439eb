import type { CommitIntent, Committed } from '../../src/catalogue/records.ts'
import { takeUse } from '../../src/catalogue/rules/record-rules.ts'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import { ContentChange, type ContentParts, type Prepared } from './content-change.ts'
import { runRule } from './postgres-driver.ts'
import { identicalRecord } from './record-rows.ts'
import { NeedsHold } from './shared-holds.ts'

export class RecordCommits {
  readonly #parts: ContentParts

  constructor(parts: ContentParts) {
    this.#parts = parts
  }

  async commit(intents: readonly CommitIntent[], token?: string): Promise<Committed[]> {
    for (let isRetry = false; ; isRetry = true) {
      const prepared = await this.#prepare(intents, isRetry)
      const holds = prepared.flatMap(({ hold }) => hold?.id ?? [])
      let made: Committed[]
      try {
        made = await this.#commit(intents, prepared, token)
      } catch (error) {
        if (isHoldfastError(error, 'OUTCOME_UNKNOWN')) throw error
        await this.#parts.holds.discard(holds)
        if (!(error instanceof NeedsHold) || isRetry) throw error
        continue
      }
      await this.#giveUpUnused(intents, made, holds)
      return made
    }
  }

  /**
   * Places the holds. An existing record needs none, unless it is removed before the commit: then the retry places one.
   */
  async #prepare(intents: readonly CommitIntent[], isRetry: boolean): Promise<Prepared[]> {
    const { holds } = this.#parts
    const wanted: Array<{ intent: CommitIntent & { kind: 'whole' }; index: number }> = []
    const prepared: Prepared[] = intents.map(() => ({ hold: null }))
    try {
      for (const [index, intent] of intents.entries()) {
        if (intent.kind === 'partial') {
          prepared[index] = { hold: { id: await holds.keep(intent.stagedRootId), rootId: null } }
        } else {
          const isNew = isRetry || intent.isAnew === true
          const known = isNew
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
      await holds.discard(prepared.flatMap(({ hold }) => hold?.id ?? []))
      // The unknown outcome is only that of a hold's placement. No record was written.
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
          if (token !== undefined) await runRule(takeUse(token), sql)
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
      if (await this.#hasCommitted(prepared, error)) return attempt
      throw notRecorded(error)
    }
  }

  /**
   * Returns whether a commit whose answer was lost has used a hold. If not, makes the holds void, so that a late commit
   * fails.
   */
  async #hasCommitted(prepared: readonly Prepared[], unknown: HoldfastError): Promise<boolean> {
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

  /**
   * Discards the holds and staged roots of records that existed already.
   *
   * @throws HoldfastError `OUTCOME_UNKNOWN` if the ledger fails after the catalogue has committed
   */
  async #giveUpUnused(intents: readonly CommitIntent[], made: readonly Committed[], holds: string[]): Promise<void> {
    const isRepeat = ({ created, waited }: Committed) => !created && waited === null
    if (!made.some(isRepeat)) return
    await this.#parts.holds.discard(holds)
    const staged = intents.flatMap((intent, i) => {
      const one = made[i]
      return one !== undefined && isRepeat(one) && intent.kind === 'whole' ? (intent.stagedRootId ?? []) : []
    })
    try {
      await this.#parts.ledger.abandon(staged)
    } catch (cause) {
      const message = 'the record is written, but the disk of this node failed: repeat the request after a restart'
      throw new HoldfastError('OUTCOME_UNKNOWN', message, { cause })
    }
  }
}

function notRecorded(cause: HoldfastError): HoldfastError {
  return new HoldfastError('UNAVAILABLE', 'the catalogue or the disk failed; nothing was recorded', { cause })
}
