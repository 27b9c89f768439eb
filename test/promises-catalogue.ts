import type { KeptPromise } from './promises.ts'

const content = 'test/catalogue/content.test.ts'
const access = (name: string) => ({ file: 'test/catalogue/access.test.ts', name })
const statement = (name: string) => ({ file: 'test/catalogue/rules/statement.test.ts', name })

/** What records, lists and fetches promise, however many there are. */
export const cataloguePromises: readonly KeptPromise[] = [
  {
    promise: 'a rule that SQLite undoes with others begins again from its start',
    file: 'src/catalogue/sqlite/sqlite-driver.ts',
    find: '    return this.#writes.run(() => this.#statements.carryOut(make()), {',
    replace: '    const rule = make()\n    return this.#writes.run(() => this.#statements.carryOut(rule), {',
    test: access('a live name is taken, however many'),
  },
  {
    promise: 'both catalogues refuse text that PostgreSQL cannot store',
    file: 'src/catalogue/rules/driver.ts',
    find: '  if (has && stores) throw',
    replace: '  if (has && !stores) throw',
    test: access('text with U+0000 is found nowhere'),
  },
  {
    promise: 'an id that is taken is the same error in both catalogues',
    file: 'src/catalogue/sqlite/sqlite-driver.ts',
    find: "startsWith('SQLITE_CONSTRAINT')",
    replace: "startsWith('SQLITE_BUSY')",
    test: access('an id that is taken'),
  },
  {
    promise: 'a statement without one of its parameters is refused, and stores no null',
    file: 'src/catalogue/rules/driver.ts',
    find: '  if (value === undefined) throw',
    replace: '  if (value === null) throw',
    test: statement('refuses a statement without one of its parameters'),
  },
  {
    promise: 'a parameter that occurs twice is the same one in PostgreSQL',
    file: 'src/catalogue/rules/statement.ts',
    find: 'if (!isShared || !names.includes(name)) names.push(name)',
    replace: 'names.push(name)',
    test: statement('renders parameters by place'),
  },
  {
    promise: 'an enabled second factor keeps its secret',
    file: 'src/catalogue/rules/second-factor-rules.ts',
    find: '  WHERE second_factors.enabled_at IS NULL`\n',
    replace: '`\n',
    test: access('a second factor counts once enabled'),
  },
  {
    promise: 'a delivery that has ended is not retried',
    file: 'src/catalogue/rules/delivery-rules.ts',
    find: '= :at WHERE id = :id AND NOT ended`\n',
    replace: '= :at WHERE id = :id`\n',
    test: { file: 'test/catalogue/content-rules.test.ts', name: 'a delivery is due until it has ended' },
  },
  {
    promise: 'a removal of many records that a crash interrupts is finished at the next start',
    file: 'src/catalogue/rules/removal-rules.ts',
    find: 'isMore ? yield* first(NOTE, of) : null',
    replace: 'isMore && of.createdBy < 0 ? yield* first(NOTE, of) : null',
    test: { file: content, name: 'that ends after 2 transactions is finished at the next start' },
  },
  {
    promise: 'a record that goes lets go of its content',
    file: 'src/catalogue/sqlite/sqlite-records.ts',
    find: 'for (const { id } of records) holds.release(id)',
    replace: '',
    test: { file: content, name: 'is many short transactions, each of a few records' },
  },
  {
    promise: 'places of a list are kept true as records go',
    file: 'src/catalogue/sqlite/record-pages.ts',
    find: '    this.#shift(record, -1)\n',
    replace: '',
    test: { file: content, name: 'any page of a long list is what it is to be' },
  },
  {
    promise: 'what a fetch has brought stays until the last who waits has it',
    file: 'src/catalogue/sqlite/sqlite-fetches.ts',
    find: '        yield* run(SET_WHOLE, { fetchId, rootId })\n',
    replace: '        yield* run(SET_WHOLE, { fetchId, rootId })\n        holds.release(fetchHold(fetchId))\n',
    test: { file: content, name: 'that many records wait for are delivered in steps' },
  },
  {
    promise: 'no account has more pins waiting than its plan allows',
    file: 'src/catalogue/rules/fetch-requests.ts',
    find: '  yield* records.checkQueued(record.accountId, limits)\n',
    replace: '',
    test: { file: content, name: 'are as many as the plan allows to wait' },
  },
  {
    promise: 'what others have named costs a search nothing',
    file: 'src/domain/search-words.ts',
    find: '  return `',
    replace: '  list = 0\n  return `',
    test: { file: 'test/domain/search-words.test.ts', name: 'no two lists share a word of the index' },
  },
  {
    promise: 'a search finds what was recorded the moment before',
    file: 'src/catalogue/sqlite/sqlite-records.ts',
    find: '      await searchIndex.bringIn(filter.accountId)\n      return searches.page(',
    replace: '      return searches.page(',
    test: {
      file: 'test/storage/search-migration.test.ts',
      name: 'a migration indexes records in creation order, new ones last',
    },
  },
  {
    promise: 'a change is told once, also where the write had to be done again',
    file: 'src/catalogue/sqlite/sqlite-reconciliation.ts',
    find: '          return [this.#wait(record, backendId, reason, now)]\n',
    replace: '          changes.push(this.#wait(record, backendId, reason, now))\n          return []\n',
    test: { file: 'test/catalogue/content-rules.test.ts', name: 'content in SQLite, each write done again' },
  },
  {
    promise: 'a recount trusts nothing that it has counted while another was begun and undone',
    file: 'src/catalogue/sqlite/account-recount.ts',
    find: '    this.#count++\n',
    replace: '',
    test: {
      file: 'test/catalogue/account-recount.test.ts',
      name: 'a count whose successor was undone is not gone on with',
    },
  },
  {
    promise: 'an engine whose database has no adapter does not start with a catalogue on its disk',
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
    promise: 'an adapter that is passed loads nothing before a configuration names a database',
    file: 'adapters/postgres/index.ts',
    find: 'import type { CatalogueAdapter }',
    replace: "import './postgres-system.ts'\nimport type { CatalogueAdapter }",
    test: { file: 'test/architecture.test.ts', name: 'the PostgreSQL adapter imports only its' },
  },
]
