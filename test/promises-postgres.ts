import type { KeptPromise } from './promises.ts'
import { hasPostgres } from './support/postgres-server.ts'

const test = (name: string) => ({ file: 'test/catalogue/postgres/bad-days.test.ts', name })

const promises: readonly KeptPromise[] = [
  {
    promise: 'a hold that was made void is never used',
    file: 'src/catalogue/postgres/shared-holds.ts',
    find: "WHERE id = $1 AND state = 'placing'`",
    replace: 'WHERE id = $1`',
    test: test('what is begun and never used is let go of'),
  },
  {
    promise: 'a commit of which the answer was lost is never taken for refused',
    file: 'src/catalogue/postgres/postgres.ts',
    find: '      if (isCommitting && isBroken) throw outcomeUnknown(error)\n',
    replace: '',
    test: test('what cannot be looked up is unknown'),
  },
  {
    promise: 'a commit of which the answer was lost is looked up',
    file: 'src/catalogue/postgres/record-commits.ts',
    find: '        return isUsed\n',
    replace: '        return false\n',
    test: test('a commit whose answer is lost is looked up'),
  },
  {
    promise: 'quotas are exact, whoever else commits',
    file: 'src/catalogue/postgres/locked-accounts.ts',
    find: 'ORDER BY id FOR UPDATE',
    replace: 'ORDER BY id',
    test: test('quotas are exact, however many nodes'),
  },
]

/** What a catalogue in PostgreSQL promises, where there is a server to try it on. */
export const postgresPromises: readonly KeptPromise[] = hasPostgres ? promises : []
