import type { KeptPromise } from './promises.ts'

const ways = (name: string) => ({ file: 'test/content/private-ways.test.ts', name })
const rules = (name: string) => ({ file: 'test/catalogue/content-rules.test.ts', name: `content in SQLite > ${name}` })
const postgres = (name: string) => ({ file: 'test/adapters/postgres/content.test.ts', name })
const changes = (name: string) => ({ file: 'test/visibility/changes.test.ts', name })
const matrix = { file: 'test/visibility/matrix.test.ts', name: 'is absent for strangers and other accounts' }

/** Promises about private content: strangers and other accounts see an absent CID. */
export const visibilityPromises: readonly KeptPromise[] = [
  {
    promise: 'the content of a private record has the owner of the record',
    file: 'src/pins/pin-targets.ts',
    find: "owner: visibility === 'public' ? PUBLIC : numberOf(account)",
    replace: 'owner: visibility.length > 0 ? PUBLIC : numberOf(account)',
    test: matrix,
  },
  {
    promise: 'no surface tells strangers of private content',
    file: 'src/ledger/open-blocks.ts',
    find: 'rootId, liveUntil FROM ${open} WHERE owner = 0 LIMIT 1`',
    replace: 'rootId, liveUntil FROM ${seen("r.barred = 0")} LIMIT 1`',
    test: matrix,
  },
  {
    promise: 'a record is no repeat of one with another visibility',
    file: 'src/catalogue/rules/record-statements.ts',
    find: 'AND meta IS :meta AND owner = :owner`',
    replace: 'AND meta IS :meta`',
    test: rules('compares the owners of records'),
  },
  {
    promise: 'a record in PostgreSQL is no repeat of one with another visibility',
    file: 'adapters/postgres/record-rows.ts',
    find: '  if (owner !== 0) all.push(owner)\n',
    replace: '  if (owner < 0) all.push(owner)\n',
    test: postgres('compares the owners of records'),
  },
  {
    promise: 'public and private content have two roots in PostgreSQL',
    file: 'adapters/postgres/begun-holds.ts',
    find: 'FROM wanted JOIN put USING (${KEY})`',
    replace: 'FROM wanted JOIN put USING (multihash, codec, backend_id)`',
    test: postgres('keeps a public and a private record of the'),
  },
  {
    promise: 'the blocks of a private root pass no look-up of a stranger',
    file: 'src/ledger/private-ways.ts',
    find: 'if (way < PRIVATE_WAY) this.#set.run',
    replace: 'if (way < 0) this.#set.run',
    test: ways('is absent if all of them are private'),
  },
  {
    promise: 'a read passes a bounded number of stale rows, and then asks to try again',
    file: 'src/ledger/held-roots.ts',
    find: 'if (root === undefined && this.#blocks.open.isStale(multihash, now)) return 503',
    replace: 'if (root === undefined && now < 0) return 503',
    test: ways('of them and a younger public root is'),
  },
  {
    promise: 'a root that becomes private is closed by a walk',
    file: 'src/ledger/root-owners.ts',
    find: '    this.#demandClosing.run(root.id)\n',
    replace: '',
    test: ways('takes the root with it, and a walk closes'),
  },
  {
    promise: 'a walk after a takedown keeps private blocks closed',
    file: 'src/ledger/reach-walks.ts',
    find: '+ (owner === PUBLIC ? 0 : PRIVATE_WAY)',
    replace: '+ (owner === PUBLIC ? 0 : 0)',
    test: ways('keeps takedowns in the way'),
  },
  {
    promise: 'a root that others need stays public',
    file: 'src/ledger/root-owners.ts',
    find: 'if (owner === PUBLIC || this.#isShared.get(root.id) !== undefined) return null',
    replace: 'if (owner === PUBLIC) return null',
    test: ways('moves to a copy, and back to the public'),
  },
  {
    promise: 'a copy of a root that its hold has left is abandoned',
    file: 'src/ledger/root-owners.ts',
    find: 'if (root === undefined || root.id !== from) {',
    replace: 'if (root !== undefined && root.id !== from) {',
    test: ways('abandons a copy of a root that it has'),
  },
  {
    promise: 'nobody changes the visibility of records of others',
    file: 'src/catalogue/sqlite/owner-change.ts',
    find: 'row === undefined || row.accountId !== accountId ||',
    replace: 'row === undefined || accountId === row.id ||',
    test: rules('gives no owner to records of others'),
  },
  {
    promise: 'nobody changes the visibility of records of others in PostgreSQL',
    file: 'adapters/postgres/record-owner.ts',
    find: 'record === undefined || record.accountId !== accountId',
    replace: 'record === undefined || record.accountId === record.id',
    test: postgres('gives no owner to records of others'),
  },
  {
    promise: 'open responses end when their content becomes private',
    file: 'src/wiring/gateway-module.ts',
    find: '    revisions.publish()\n    await revisions.pending(revisions.number)\n',
    replace: '',
    test: changes('ends responses to strangers that have'),
  },
  {
    promise: 'an account reads its own private content',
    file: 'src/gateway/source/root-opener.ts',
    find: 'const own = [this.#own.withOwn(owner), ...this.#pinned.slice(1)]',
    replace: 'const own = [this.#own.withOwn(owner - owner), ...this.#pinned.slice(1)]',
    test: changes('reads its private content, and nobody else'),
  },
  {
    promise: 'a takedown applies to the account that has the content, too',
    file: 'src/ledger/open-blocks.ts',
    find: 'AND way IN (0, ${PRIVATE_WAY}) LIMIT ?',
    replace: 'AND way >= 0 LIMIT ?',
    test: ways('keeps takedowns in the way'),
  },
  {
    promise: 'a record that names no visibility has the default of its account',
    file: 'src/pins/pin-targets.ts',
    find: 'asked ? checkedVisibility(asked) : account.defaultVisibility',
    replace: "asked ? checkedVisibility(asked) : 'public'",
    test: changes('has a default visibility for records'),
  },
]
