import type { KeptPromise } from './promises.ts'

const remembered = 'test/contract/remembered-answers.test.ts'
const versions = 'test/storage/account-versions.test.ts'
const blockReads = 'test/content/block-reads.test.ts'

/** Promises about the work that a read costs. */
export const readPromises: readonly KeptPromise[] = [
  {
    promise: 'a repeated list shows what was written meanwhile',
    file: 'src/contract/remembered-answers.ts',
    find: 'known.version === version && ',
    replace: '',
    test: { file: remembered, name: 'reads no record, and follows each change at once' },
  },
  {
    promise: 'a repeated list shows what another process has written',
    file: 'src/contract/remembered-answers.ts',
    find: '${store.versionOf(accountId)} ${others.version}`',
    replace: '${store.versionOf(accountId)}`',
    test: { file: remembered, name: 'follows writes of another process, and stays' },
  },
  {
    promise: 'a request sees what another process wrote before it arrived',
    file: 'src/contract/remembered-answers.ts',
    find: 'if (arrived !== others.arrived) others',
    replace: 'if (others.arrived < 0) others',
    test: { file: remembered, name: 'follows writes of another process, and stays' },
  },
  {
    promise: 'answers on SQLite end with a new record',
    file: 'src/storage/account-triggers.ts',
    find: 'BEGIN SELECT account_changed(NEW.account_id); END;\n  CREATE TEMP TRIGGER record_changed',
    replace: 'BEGIN SELECT 1; END;\n  CREATE TEMP TRIGGER record_changed',
    test: { file: versions, name: 'each change raises the version of its account' },
  },
  {
    promise: 'answers on SQLite end with a change of a record',
    file: 'src/storage/account-triggers.ts',
    find: 'record_changed AFTER UPDATE ON',
    replace: 'record_changed AFTER UPDATE OF meta ON',
    test: { file: versions, name: 'each change raises the version of its account' },
  },
  {
    promise: 'answers on SQLite end with the removal of a record',
    file: 'src/storage/account-triggers.ts',
    find: 'account_changed(OLD.account_id)',
    replace: '1',
    test: { file: versions, name: 'each change raises the version of its account' },
  },
  {
    promise: 'answers on SQLite end with a change of the account',
    file: 'src/storage/account-triggers.ts',
    find: 'account_changed(NEW.id)',
    replace: '1',
    test: { file: versions, name: 'each change raises the version of its account' },
  },
  {
    promise: 'answers on SQLite end with an announcement',
    file: 'src/storage/account-triggers.ts',
    find: 'SELECT account_changed(account_id) FROM',
    replace: 'SELECT 1 FROM',
    test: { file: versions, name: 'each change raises the version of its account' },
  },
  {
    promise: 'answers on SQLite end with an announcement for many',
    file: 'src/storage/account-triggers.ts',
    find: 'SELECT account_changed(NULL) FROM',
    replace: 'SELECT 1 FROM',
    test: { file: versions, name: 'each change raises the version of its account' },
  },
  {
    promise: 'a write of one account keeps the answers of another',
    file: 'src/storage/database.ts',
    find: "typeof accountId === 'string' ? placeOf(accountId) : 0",
    replace: '0',
    test: { file: remembered, name: 'follows each change of its account at once' },
  },
  {
    promise: 'a repeated list omits expired records',
    file: 'src/contract/remembered-answers.ts',
    find: ' && now < known.until',
    replace: '',
    test: { file: remembered, name: 'is not reused after an expiry or a backwar' },
  },
  {
    promise: 'answers in memory have a bound',
    file: 'src/contract/remembered-answers.ts',
    find: 'maxSize: parts.mostBytes',
    replace: 'maxSize: 2 ** 40',
    test: { file: remembered, name: 'is evicted when others need its memory' },
  },
  {
    promise: 'a repeated list reads no record',
    file: 'src/contract/uploads/uploads.ts',
    find: '  isRemembered: true,\n',
    replace: '',
    test: { file: remembered, name: 'reads no record, and follows each change at once' },
  },
  {
    promise: 'blocks read for other nodes are hashed without a copy',
    file: 'src/content/stored-blocks.ts',
    find: 'return matchesHere(cid.multihash.bytes, bytes) ? bytes',
    replace: 'return (await matches(cid.multihash.bytes, bytes)) ? bytes',
    test: { file: blockReads, name: 'reads for others hash blocks in place, without a copy' },
  },
  {
    promise: 'every block read for other nodes is checked',
    file: 'src/content/stored-blocks.ts',
    find: 'return matchesHere(cid.multihash.bytes, bytes) ? bytes',
    replace: 'return bytes.length > 0 ? bytes',
    test: { file: blockReads, name: 'a block with other bytes is damaged' },
  },
  {
    promise: 'hashing blocks for other nodes yields the event loop',
    file: 'src/content/stored-blocks.ts',
    find: '    if (turnSpent()) await nextTurn()\n    return matchesHere',
    replace: '    return matchesHere',
    test: { file: blockReads, name: 'blocks that arrive together are hashed in turns' },
  },
  {
    promise: 'a statement is prepared once',
    file: 'src/storage/database.ts',
    find: "  return sql.replaceAll('?', '+?')\n",
    replace: '  return sql\n',
    test: { file: 'test/storage/prepared-once.test.ts', name: 'a statement with a limit' },
  },
]
