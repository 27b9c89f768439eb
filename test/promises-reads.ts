import type { KeptPromise } from './promises.ts'

const remembered = 'test/contract/remembered-answers.test.ts'
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
    file: 'src/storage/database.ts',
    find: 'return `${this.#changes.get()?.count} ${this.dataVersion()}`',
    replace: 'return `${this.#changes.get()?.count}`',
    test: { file: remembered, name: 'follows writes of another process, and stays' },
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
