import type { KeptPromise } from './promises.ts'

const reconcile = 'test/upkeep/reconcile.test.ts'
const verification = 'test/upkeep/scheduled-verification.test.ts'

/** Promises of reconciliation and of verification by itself. */
export const upkeepPromises: readonly KeptPromise[] = [
  {
    promise: 'much is not let go of without asking',
    file: 'src/upkeep/reconciler.ts',
    find: '          checkReleases(looked.outcome)\n',
    replace: '',
    test: { file: reconcile, name: 'asks before it lets go of much' },
  },
  {
    promise: 'holds that are no pin’s and no fetch’s are left alone',
    file: 'src/catalogue/sqlite/sqlite-reconciliation.ts',
    find: 'return fetchId !== undefined && this.#tables.fetches.get(Number(fetchId)) === undefined',
    replace: 'return fetchId === undefined || this.#tables.fetches.get(Number(fetchId)) === undefined',
    test: { file: reconcile, name: 'lets go of one in a hundred without asking' },
  },
  {
    promise: 'what a record wants is held again before anything is given up',
    file: 'src/upkeep/reconciler.ts',
    find: '        await pass.records()\n',
    replace: '',
    test: { file: reconcile, name: 'holds again what a record wants' },
  },
  {
    promise: 'a lost block is written anew when it comes again',
    file: 'src/ledger/claims.ts',
    find: "          this.setState(id, 'writing')\n",
    replace: '',
    test: { file: reconcile, name: 'comes back from the network' },
  },
  {
    promise: 'a lost block is told of by verify until it is back',
    file: 'src/ledger/block-table.ts',
    find: "(b.state = 'durable' OR (b.state = 'writing' AND EXISTS (",
    replace: "(b.state = 'durable' OR (b.state = 'deleting' AND EXISTS (",
    test: { file: reconcile, name: 'finds a file that is missing' },
  },
  {
    promise: 'a block whose file only has something after it is not lost',
    file: 'src/content/block-audit.ts',
    find: '    if (whole.length > 0) await this.#ledger.claims.markDurable(whole)\n',
    replace: '',
    test: { file: reconcile, name: 'cuts off what stands after a block' },
  },
  {
    promise: 'what changes while an account is counted anew is counted in',
    file: 'src/catalogue/sqlite/record-table.ts',
    find: '    this.#recount.changed(record, { pins, expiringPins, storedBytes })\n',
    replace: '',
    test: { file: 'test/catalogue/account-recount.test.ts', name: 'what an account has is counted as it is' },
  },
  {
    promise: 'what accounts have is put right where it was counted wrong',
    file: 'src/catalogue/sqlite/record-table.ts',
    find: '    if (mend)\n',
    replace: '    if (!mend)\n',
    test: { file: reconcile, name: 'counts anew what accounts have' },
  },
  {
    promise: 'a datastore without the name of its list is not begun anew',
    file: 'src/disk/level-files.ts',
    find: 'createIfMissing: !this.#lacksList()',
    replace: 'createIfMissing: true',
    test: { file: 'test/disk/level-files.test.ts', name: 'the name of the list is gone' },
  },
  {
    promise: 'verification goes on where it was',
    file: 'src/upkeep/scheduled-verification.ts',
    find: '    await table.set(next)\n',
    replace: '',
    test: { file: verification, name: 'reads no faster than it may' },
  },
  {
    promise: 'verification reads no faster than it may',
    file: 'src/upkeep/scheduled-verification.ts',
    find: 'return (bytes / this.#options.bytesPerSecond) * 1_000',
    replace: 'return bytes - bytes',
    test: { file: verification, name: 'reads no faster than it may' },
  },
  {
    promise: 'the quarantine is bounded',
    file: 'src/content/quarantine.ts',
    find: '(await this.#files.list(this.#dir)).length >= MOST_QUARANTINED',
    replace: '(await this.#files.list(this.#dir)).length < 0',
    test: { file: verification, name: 'keeps damaged rows aside' },
  },
  {
    promise: 'damage heals from another cluster',
    file: 'src/upkeep/lost-blocks.ts',
    find: '    if (await this.#heal(block, options.signal)) return\n',
    replace: '',
    test: { file: verification, name: 'heals from another cluster' },
  },
  {
    promise: 'a node that is started anew every day looks at what clusters elsewhere have',
    file: 'src/upkeep/scheduled-reconciliation.ts',
    find: 'Math.min(this.#everyMs, FIRST_MS)',
    replace: 'Math.max(this.#everyMs, FIRST_MS)',
    test: {
      file: 'test/upkeep/scheduled-reconciliation.test.ts',
      name: 'a node looks an hour after its start, however seldom it is to look, so that one started anew every day looks',
    },
  },
]
