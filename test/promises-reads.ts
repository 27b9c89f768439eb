import type { KeptPromise } from './promises.ts'

/** What reading costs, in counts. */
export const readPromises: readonly KeptPromise[] = [
  {
    promise: 'a statement is prepared once',
    file: 'src/storage/database.ts',
    find: "  return sql.replaceAll('?', '+?')\n",
    replace: '  return sql\n',
    test: { file: 'test/storage/prepared-once.test.ts', name: 'a statement with a limit' },
  },
]
