import type { KeptPromise } from './promises.ts'
import { hasPostgres } from './support/postgres-server.ts'

const rule = (name: string) => ({ file: 'test/adapters/postgres/content.test.ts', name })
const failing = (name: string) => ({ file: 'test/adapters/postgres/bad-days.test.ts', name })
const batch = (name: string) => ({ file: 'test/adapters/postgres/commit-batches.test.ts', name })
const shared = (name: string) => ({ file: 'test/adapters/postgres/bulk-holds.test.ts', name })
const signIn = (name: string) => ({ file: 'test/adapters/postgres/sign-in.test.ts', name })
const offers = (name: string) => ({ file: 'test/adapters/postgres/postgres-offers.test.ts', name })
const credentials = (name: string) => ({ file: 'test/adapters/postgres/credential-changes.test.ts', name })

const promises: readonly KeptPromise[] = [
  {
    promise: 'a list in PostgreSQL has only records of its account',
    file: 'adapters/postgres/record-conditions.ts',
    find: "  conditions.add('account_id = ?', accountId)\n",
    replace: "  conditions.add('?::text IS NOT NULL', accountId)\n",
    test: rule('lists records newest first'),
  },
  {
    promise: 'a list in PostgreSQL hides expired records',
    file: 'adapters/postgres/record-conditions.ts',
    find: '  conditions.is(live(conditions.param(now)))\n',
    replace: "  conditions.add('?::bigint IS NOT NULL', now)\n",
    test: rule('hides expired records'),
  },
  {
    promise: 'an upload with another expiry is no repeat',
    file: 'adapters/postgres/record-rows.ts',
    find: 'const all = [clusterId, codec, content, expiresAt,',
    replace: 'const all = [clusterId, codec, content, expiresAt && null,',
    test: rule('returns a committed record'),
  },
  {
    promise: 'an upload to a fleet obeys the storage quota',
    file: 'adapters/postgres/content-change.ts',
    find: 'return this.accounts.counted(accountId).storedBytes + dag.charge <= max',
    replace: 'return this.accounts.counted(accountId).storedBytes >= 0 || dag.charge <= max',
    test: rule('enforces the storage quota'),
  },
  {
    promise: 'a fleet refuses more pins than the plan has',
    file: 'adapters/postgres/content-change.ts',
    find: 'if ((await this.accounts.usage(accountId, now)).pins + 1 > maxPins) {',
    replace: 'if ((await this.accounts.usage(accountId, now)).pins + 1 < 0) {',
    test: rule('commits several records together'),
  },
  {
    promise: 'a fleet limits the pins that wait for their content',
    file: 'adapters/postgres/content-change.ts',
    find: 'if ((counted?.count ?? 0) < maxQueuedPins) return',
    replace: 'if ((counted?.count ?? 0) >= 0) return',
    test: rule('limits waiting records'),
  },
  {
    promise: 'content that another record still has is not freed',
    file: 'adapters/postgres/content-change.ts',
    find: '    if (await hasDag(this.#sql, record.accountId, record)) return\n',
    replace: '',
    test: rule('sets all records of a root'),
  },
  {
    promise: 'fetched content that the account already has is charged once',
    file: 'adapters/postgres/content-change.ts',
    find: 'storedBytes: adds ? hold.charge : 0 })\n    const fulfilled',
    replace: 'storedBytes: adds ? hold.charge : hold.charge })\n    const fulfilled',
    test: rule('sets all records of a root'),
  },
  {
    promise: 'a record that gets content anew releases its former hold',
    file: 'adapters/postgres/content-change.ts',
    find: '    await this.#holds.void(this.#sql, former.holdId === null ? [] : [former.holdId])\n',
    replace: '',
    test: failing('keeps an identical upload that an older'),
  },
  {
    promise: 'an upload is stored if its record is removed before the commit',
    file: 'adapters/postgres/record-commits.ts',
    find: 'if (!(error instanceof NeedsHold) || isRetry) throw error',
    replace: 'if (!(error instanceof NeedsHold) || !isRetry) throw error',
    test: failing('stores an upload whose record is removed'),
  },
  {
    promise: 'a commit whose answer was lost cannot succeed after its refusal',
    file: 'adapters/postgres/record-commits.ts',
    find: '        if (!isUsed) await this.#parts.holds.void(sql, ids)\n',
    replace: '',
    test: failing('makes the hold of a lost commit void'),
  },
  {
    promise: 'a commit of several records that fails writes none of them',
    file: 'adapters/postgres/record-commits.ts',
    find: 'if (error instanceof StatementFailure || commits.length === 1) throw error',
    replace: 'if (error instanceof StatementFailure) throw error',
    test: rule('commits several records together'),
  },
  {
    promise: 'a repeated upload leaves no staged root',
    file: 'adapters/postgres/record-commits.ts',
    find: '      if (stagedRootId !== null) await ledger.abandon([stagedRootId])\n',
    replace: '',
    test: failing('reports a repeated commit as unknown'),
  },
  {
    promise: 'nothing is recorded for an account that was deleted meanwhile',
    file: 'adapters/postgres/locked-accounts.ts',
    find: "    if (account === undefined) throw new HoldfastError('NOT_FOUND', `there is no account ${id}`)\n    return account.list",
    replace: '    return account?.list ?? 0',
    test: failing('records nothing for an account that is gone'),
  },
  {
    promise: 'an upload token that was revoked meanwhile uploads nothing',
    file: 'adapters/postgres/locked-tokens.ts',
    find: 'if (left === undefined || left <=',
    replace: 'if (left !== undefined && left <=',
    test: batch('take the uses of an upload token'),
  },
  {
    promise: 'a commit fails if its hold has expired',
    file: 'adapters/postgres/shared-holds.ts',
    find: 'if (used !== ids.length)\n',
    replace: 'if (used > ids.length)\n',
    test: failing('releases an expired unused hold'),
  },
  {
    promise: 'a discard releases no hold that a record uses',
    file: 'adapters/postgres/shared-holds.ts',
    find: 'const text = `SELECT id FROM holds WHERE id = ANY($1) AND ${IS_PLACING} ORDER BY id FOR UPDATE`',
    replace: 'const text = `SELECT id FROM holds WHERE id = ANY($1) ORDER BY id FOR UPDATE`',
    test: rule('holds unheld records again'),
  },
  {
    promise: 'a hold of a running commit does not expire early',
    file: 'adapters/postgres/shared-holds.ts',
    find: "state = 'placing' AND placed_at < clock_timestamp() - ${PLACING}",
    replace: "state = 'placing' AND placed_at < clock_timestamp() + ${PLACING}",
    test: failing('discards an expired hold that'),
  },
  {
    promise: 'a commit fails if the node no longer has the content',
    file: 'adapters/postgres/shared-holds.ts',
    find: 'if (roots === null) throw new HoldfastError',
    replace: 'if (roots === undefined) throw new HoldfastError',
    test: rule('removes content at once'),
  },
  {
    promise: 'nobody reads a record that another node has removed',
    file: 'adapters/postgres/shared-holds.ts',
    find: "SET state = 'kept', new_end = 0 WHERE",
    replace: "SET state = 'kept' WHERE",
    test: shared('lose their readers'),
  },
  {
    promise: 'a record that another node has restored is readable again',
    file: 'adapters/postgres/shared-holds.ts',
    find: "SET state = 'used', new_end = $2 WHERE id = ANY($1) AND state IN ('used', 'kept')",
    replace: "SET state = 'used' WHERE id = ANY($1) AND $2::bigint IS NOT NULL AND state IN ('used', 'kept')",
    test: shared('lose their readers'),
  },
  {
    promise: 'a hold that was muted meanwhile stays due',
    file: 'adapters/postgres/shared-holds.ts',
    find: 'WHERE holds.id = stored.id AND new_end = stored.ends`',
    replace: 'WHERE holds.id = stored.id AND new_end = new_end`',
    test: shared('stay unreadable if they are removed while'),
  },
  {
    promise: 'the catalogue drops no root that has a hold',
    file: 'adapters/postgres/shared-roots.ts',
    find: "holds.root_id = roots.id AND holds.state <> 'void'",
    replace: "holds.root_id = roots.id AND holds.state = 'none'",
    test: failing('drops no root on which a hold begins'),
  },
  {
    promise: 'a root is not dropped while a hold on it begins',
    file: 'adapters/postgres/shared-roots.ts',
    find: 'ORDER BY multihash, codec, backend_id FOR UPDATE',
    replace: 'ORDER BY multihash, codec, backend_id',
    test: failing('drops no root on which a hold begins'),
  },
  {
    promise: 'a reconciliation releases no hold that is used meanwhile',
    file: 'adapters/postgres/postgres-reconciliation.ts',
    find: 'WHERE id = ANY($1) AND ${IS_PLACING} ORDER BY id FOR UPDATE`',
    replace: 'WHERE id = ANY($1) ORDER BY id FOR UPDATE`',
    test: failing('a late release leaves a hold'),
  },
  {
    promise: 'a reconciliation keeps the hold of a running commit',
    file: 'adapters/postgres/postgres-reconciliation.ts',
    find: "OR (state = 'placing' AND placed_at > clock_timestamp() - ${PLACING})",
    replace: '',
    test: failing('releases an expired unused hold'),
  },
  {
    promise: 'a repair changes no record that has changed meanwhile',
    file: 'adapters/postgres/postgres-reconciliation.ts',
    find: 'if (current?.status !== record.status || current.holdId !== record.holdId) return []',
    replace: 'if (current === undefined) return []',
    test: failing('repairs no record that waits'),
  },
  {
    promise: 'the content of a removed record stays offered for an undo',
    file: 'adapters/postgres/postgres-offers.ts',
    find: '`record_id = $1 AND NOT ${IS_REMOVED}`',
    replace: '`record_id = $1`',
    test: offers('an offer follows the end, removal'),
  },
  {
    promise: 'another node completes a login only once',
    file: 'adapters/postgres/postgres-sign-in.ts',
    find: "'DELETE FROM login_challenges WHERE hash = $1', [hash])) > 0",
    replace: "'DELETE FROM login_challenges WHERE hash = $1', [hash])) >= 0",
    test: signIn('another node completes a login once'),
  },
  {
    promise: 'a node with another sealing key cannot use the database',
    file: 'adapters/postgres/sealing-key.ts',
    find: 'open(known?.id ?? null)',
    replace: 'open(known === undefined ? null : null)',
    test: signIn('all nodes seal with the key of the first'),
  },
  {
    promise: 'credentials are not trusted while no connection listens',
    file: 'adapters/postgres/credential-changes.ts',
    find: '    this.#client = null\n    this.#seenAt = null\n',
    replace: '    this.#client = null\n',
    test: credentials('count as changed every second'),
  },
  {
    promise: 'kept bytes in PostgreSQL leave out content that a record still has',
    file: 'adapters/postgres/schema-undo.ts',
    find: "when: `c.root_id IS NOT NULL AND NOT EXISTS (${live('c')})`,",
    replace: 'when: `c.root_id IS NOT NULL`,',
    test: rule('random play 2'),
  },
]

/** More promises of the catalogue in PostgreSQL. They need a server. */
export const morePostgresPromises: readonly KeptPromise[] = hasPostgres ? promises : []
