import type { KeptPromise } from './promises.ts'

const searches = 'test/catalogue/searches.test.ts'
const content = 'test/catalogue/content.test.ts'
const access = (name: string) => ({ file: 'test/catalogue/access.test.ts', name })
const statement = (name: string) => ({ file: 'test/catalogue/rules/statement.test.ts', name })

/** Promises about records, lists and fetches of any number. */
export const cataloguePromises: readonly KeptPromise[] = [
  {
    promise: 'SQLite restarts a rule from its beginning after a rollback',
    file: 'src/catalogue/sqlite/sqlite-driver.ts',
    find: '    return this.#writes.run(() => this.#statements.carryOut(make()), {',
    replace: '    const rule = make()\n    return this.#writes.run(() => this.#statements.carryOut(rule), {',
    test: access('refuses the name of a live key, and'),
  },
  {
    promise: 'both catalogues refuse text that PostgreSQL cannot store',
    file: 'src/catalogue/rules/driver.ts',
    find: '  if (has && stores) throw',
    replace: '  if (has && !stores) throw',
    test: access('finds nothing for text with U+0000'),
  },
  {
    promise: 'a duplicate id is the same error in both catalogues',
    file: 'src/catalogue/sqlite/sqlite-driver.ts',
    find: "startsWith('SQLITE_CONSTRAINT')",
    replace: "startsWith('SQLITE_BUSY')",
    test: access('refuses a duplicate id as an internal'),
  },
  {
    promise: 'a statement with a missing parameter is refused instead of storing null',
    file: 'src/catalogue/rules/driver.ts',
    find: '  if (value === undefined) throw',
    replace: '  if (value === null) throw',
    test: statement('refuses a statement with a missing parameter'),
  },
  {
    promise: 'a repeated parameter has one number in PostgreSQL',
    file: 'src/catalogue/rules/statement.ts',
    find: 'if (!isShared || !names.includes(name)) names.push(name)',
    replace: 'names.push(name)',
    test: statement('numbers parameters, and repeated ones'),
  },
  {
    promise: 'an enabled second factor keeps its secret',
    file: 'src/catalogue/rules/second-factor-rules.ts',
    find: '  WHERE second_factors.enabled_at IS NULL`\n',
    replace: '`\n',
    test: access('enables a second factor only with the'),
  },
  {
    promise: 'a delivery that has ended is not retried',
    file: 'src/catalogue/rules/delivery-rules.ts',
    find: '= :at WHERE id = :id AND NOT ended`\n',
    replace: '= :at WHERE id = :id`\n',
    test: { file: 'test/catalogue/content-rules.test.ts', name: 'keeps a delivery due until it ends' },
  },
  {
    promise: 'a restart finishes an interrupted removal of many records',
    file: 'src/catalogue/rules/removal-rules.ts',
    find: 'isMore ? yield* first(NOTE, of) : null',
    replace: 'isMore && of.createdBy < 0 ? yield* first(NOTE, of) : null',
    test: { file: content, name: 'interrupted after 2 transactions is finished' },
  },
  {
    promise: 'removing a record releases its hold',
    file: 'src/catalogue/sqlite/sqlite-records.ts',
    find: '            holds.release(id)\n',
    replace: '',
    test: { file: content, name: 'takes many short transactions of a few' },
  },
  {
    promise: 'a removal updates the cached positions of lists',
    file: 'src/catalogue/sqlite/record-pages.ts',
    find: '    this.#shift(record, -1)\n',
    replace: '',
    test: { file: content, name: 'are correct at any offset while records' },
  },
  {
    promise: 'the blocks of a fetch stay until its last record has them',
    file: 'src/catalogue/sqlite/sqlite-fetches.ts',
    find: '        yield* run(SET_WHOLE, { fetchId, rootId })\n',
    replace: '        yield* run(SET_WHOLE, { fetchId, rootId })\n        holds.release(fetchHold(fetchId))\n',
    test: { file: content, name: 'are delivered in steps, and kept until' },
  },
  {
    promise: 'the plan limits the waiting pins of an account',
    file: 'src/catalogue/rules/fetch-requests.ts',
    find: '  yield* records.checkQueued(record.accountId, limits)\n',
    replace: '',
    test: { file: content, name: 'are limited by the plan until one has' },
  },
  {
    promise: 'a search reads no index entries of other accounts',
    file: 'src/domain/search-words.ts',
    find: '  return `',
    replace: '  list = 0\n  return `',
    test: { file: 'test/domain/search-words.test.ts', name: 'no two lists share a word of the index' },
  },
  {
    promise: 'a search finds records committed just before',
    file: 'src/catalogue/sqlite/record-searches.ts',
    find: '    await this.#index.update(filter.accountId, filter.now)\n    const question = questionOf(filter)\n    const enough',
    replace: '    const question = questionOf(filter)\n    const enough',
    test: {
      file: 'test/storage/search-migration.test.ts',
      name: 'a migration indexes records in creation order, new ones last',
    },
  },
  {
    promise: 'a search for a common word counts no further than needed',
    file: 'src/catalogue/sqlite/record-searches.ts',
    find: '        if (total > enough) return { rows, total, totalIsLowerBound: true }\n',
    replace: '',
    test: { file: searches, name: 'counts more than 10,000 matches only as far as the page' },
  },
  {
    promise: 'a search does not count records that expired',
    file: 'src/catalogue/sqlite/search-index.ts',
    find: '    while (this.#expired.isBehind(accountId, now)) {',
    replace: '    while (now < 0) {',
    test: { file: searches, name: 'finds what a scan finds, while records, names and clocks' },
  },
  {
    promise: 'a search between two instants finds records from before the clock was set back',
    file: 'src/catalogue/sqlite/list-order.ts',
    find: '    const starts = [whole.first, ...this.#runs.all(accountId).map(({ first }) => first)]',
    replace: '    const starts = [whole.first]',
    test: { file: searches, name: 'finds what a scan finds, while records, names and clocks' },
  },
  {
    promise: 'a remembered count ends with a change of its block',
    file: 'src/catalogue/sqlite/search-index.ts',
    find: '      this.counts.changed(Math.floor(id / BLOCK_RECORDS))\n',
    replace: '',
    test: { file: searches, name: 'finds what a scan finds, while records, names and clocks' },
  },
  {
    promise: 'a repeated write reports each change once',
    file: 'src/catalogue/sqlite/sqlite-reconciliation.ts',
    find: '          return [this.#wait(record, backendId, reason, now)]\n',
    replace: '          changes.push(this.#wait(record, backendId, reason, now))\n          return []\n',
    test: { file: 'test/catalogue/content-rules.test.ts', name: 'content in SQLite, with every write repeated' },
  },
  {
    promise: 'a recount ignores a count restored by a rollback',
    file: 'src/catalogue/sqlite/account-recount.ts',
    find: '    this.#count++\n',
    replace: '',
    test: {
      file: 'test/catalogue/account-recount.test.ts',
      name: 'starts a count again after the rollback of a later one',
    },
  },
  {
    promise: 'an engine with a database but no adapter does not start',
    file: 'src/wiring/setup.ts',
    find: 'catalogueDatabase: catalogueDatabase(config.database, catalogue)',
    replace: 'catalogueDatabase: null',
    test: { file: 'test/catalogue/catalogue-adapter.test.ts', name: 'is refused by createEngine' },
  },
  {
    promise: 'a move without an adapter touches no data directory',
    file: 'src/wiring/move-catalogue.ts',
    find: 'const adapter = neededAdapter(options.catalogue)',
    replace: 'const adapter = options.catalogue',
    test: { file: 'test/catalogue/catalogue-adapter.test.ts', name: 'is refused by moveCatalogue' },
  },
  {
    promise: 'an adapter loads nothing unless a database is configured',
    file: 'adapters/postgres/index.ts',
    find: 'import type { CatalogueAdapter }',
    replace: "import './postgres-system.ts'\nimport type { CatalogueAdapter }",
    test: { file: 'test/architecture.test.ts', name: 'the PostgreSQL adapter imports only its' },
  },
]
