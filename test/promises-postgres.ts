import type { KeptPromise } from './promises.ts'
import { hasPostgres } from './support/postgres-server.ts'

const test = (name: string) => ({ file: 'test/catalogue/postgres/bad-days.test.ts', name })
const moved = (name: string) => ({ file: 'test/wiring/move-catalogue.test.ts', name })
const signIn = (name: string) => ({ file: 'test/catalogue/postgres/sign-in.test.ts', name })

const past = (name: string) => ({ file: 'test/wiring/catalogue-past.test.ts', name })

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
  {
    promise: 'a node that stands still in a transaction keeps nothing from others',
    file: 'src/catalogue/postgres/postgres.ts',
    find: '      idle_in_transaction_session_timeout: silentMs,\n',
    replace: '',
    test: test('a node that stands still in the middle'),
  },
  {
    promise: 'what a node has begun when it ended is given up, whether its ledger had it or not',
    file: 'src/catalogue/postgres/reconciliation.ts',
    find: '      await holds.voidLate()\n',
    replace: '',
    test: test('what a node has begun and its ledger never had'),
  },
  {
    promise:
      'content whose record a database has lost, which was set back, is not let go of before somebody has looked',
    file: 'src/catalogue/postgres/database-past.ts',
    find: '    if (isBehind) return ',
    replace: '    if (rows.length < 0) return ',
    test: past('as it was set back to an earlier point'),
  },
  {
    promise: 'no number of a hold is given twice by a database that was set back',
    file: 'src/catalogue/postgres/database-past.ts',
    find: '    if (isBehind) {\n',
    replace: '    if (rows.length < 0) {\n',
    test: past('as it was set back to an earlier point'),
  },
  {
    promise: 'a standby that has taken over stops what lets go of content',
    file: 'src/catalogue/postgres/database-past.ts',
    find: '    if (past.timeline === known.timeline) return null\n',
    replace: "    if (past.timeline !== '') return null\n",
    test: past('as a standby that took over'),
  },
  {
    promise: 'failed logins are counted by all nodes together',
    file: 'src/catalogue/postgres/sign-in.ts',
    find: 'WHERE a.used < $3 OR ',
    replace: 'WHERE a.used < 2 * $3 OR ',
    test: signIn('are counted by all together'),
  },
  {
    promise: 'nodes together let no more requests pass than a limit says',
    file: 'src/catalogue/postgres/request-windows.ts',
    find: 'ELSE w.used + ${OF_LEFT} END',
    replace: 'ELSE w.used END',
    test: signIn('never pass more, however many'),
  },
  {
    promise: 'nodes sign sessions with one key, however many make it',
    file: 'src/catalogue/postgres/signing-keys.ts',
    find: '      if ((there[0]?.kid ?? null) !== newest) return there\n',
    replace: '',
    test: signIn('are signed with one key'),
  },
  {
    promise: 'a session token is taken by nodes that did not know its key',
    file: 'src/access/signing-keys.ts',
    find: '    if (this.#known(kid) === undefined) await this.#load()\n',
    replace: '',
    test: signIn('that one node signs another takes'),
  },
  {
    promise: 'signing keys that nodes share are sealed',
    file: 'src/catalogue/postgres/signing-keys.ts',
    find: "this.#sealing.seal(Buffer.from(secret, 'base64url'), contextOf(kid))",
    replace: "Buffer.from(secret, 'base64url')",
    test: signIn('keys lie there sealed'),
  },
  {
    promise: 'a node whose clock is wrong says that it is not ready',
    file: 'src/catalogue/postgres/database-health.ts',
    find: '- this.#skew.within > MOST_SKEW_MS',
    replace: '- this.#skew.within > 60 * MOST_SKEW_MS',
    test: { file: 'test/catalogue/postgres/database-health.test.ts', name: 'ms apart' },
  },
  {
    promise: 'slow answers of a database make no clock wrong',
    file: 'src/catalogue/postgres/database-health.ts',
    find: 'Math.abs(this.#skew.ms) - this.#skew.within >',
    replace: 'Math.abs(this.#skew.ms) >',
    test: { file: 'test/catalogue/postgres/database-health.test.ts', name: 'makes no clock wrong that is right' },
  },
  {
    promise: 'a server that is told to end says so before it takes nothing more',
    file: 'adapters/cli/serve.ts',
    find: '    await engine.announceStop()\n',
    replace: '',
    test: { file: 'test/adapters/cli/ready.test.ts', name: 'says first that it ends' },
  },
  {
    promise: 'what is copied for a data directory is nobody else’s until that uses it',
    file: 'src/catalogue/postgres/shared-database.ts',
    find: "if ((await sql.first('SELECT 1 FROM moves LIMIT 1')) !== undefined) {",
    replace: 'if (sql === null) {',
    test: moved('takes up again what was copied for it and never used'),
  },
  {
    promise: 'nothing that was changed while a catalogue was copied is left behind',
    file: 'src/wiring/move-catalogue.ts',
    find: 'if (database.dataVersion() !== version) {',
    replace: 'if (version < 0) {',
    test: moved('takes up again what was copied for it and never used'),
  },
  {
    promise: 'a move that was cut short after the directory was switched is taken up by its start',
    file: 'src/catalogue/postgres/shared-database.ts',
    find: '    if (name.known !== null) await takeUp(database, name.known)\n',
    replace: '',
    test: moved('killed at any step, is where it was or where it goes'),
  },
  {
    promise: 'what a moved ledger holds is held in the catalogue under the same ids',
    file: 'src/catalogue/postgres/move-in.ts',
    find: '        await hold(sql, table, batch, node)\n',
    replace: '',
    test: moved('is there as it was'),
  },
  {
    promise: 'nodes that start at once bring the schema up once',
    file: 'src/catalogue/postgres/migrate.ts',
    find: "    await sql.run('SELECT pg_advisory_xact_lock($1)', [LOCK])\n",
    replace: '',
    test: test('nodes that start at once bring it up once'),
  },
  {
    promise: 'a schema that is newer by a version that nobody may miss is refused',
    file: 'src/catalogue/postgres/migrate.ts',
    find: '|| beyond.some(({ tolerated }) => !tolerated)',
    replace: '',
    test: test('nodes that start at once bring it up once'),
  },
  {
    promise: 'threads that read tell of what is being fetched, wherever that is known',
    file: 'src/wiring/reading.ts',
    find: 'if (hasFetches && !isFetched',
    replace: 'if (!isFetched',
    test: { file: 'test/adapters/node-http/readers.test.ts', name: 'where the catalogue is in PostgreSQL' },
  },
  {
    promise: 'what a node keeps that is not there is unavailable through the others, and not gone',
    file: 'src/wiring/nodes.ts',
    find: ' ?? others[0]\n',
    replace: '\n',
    test: { file: 'test/nodes/two-nodes.test.ts', name: 'what a node keeps that is not there' },
  },
  {
    promise: 'a node that stands still is not waited for longer than it is taken to be there',
    file: 'src/nodes/node-sender.ts',
    find: '      if (!isGone) return next()\n',
    replace: '      if (!isGone || isGone) return next()\n',
    test: { file: 'test/nodes/node-sender.test.ts', name: 'a node that stands still' },
  },
  {
    promise: 'only a node of the fleet is believed what it says of a request that it passes on',
    file: 'src/http/passed-on.ts',
    find: '  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null\n',
    replace: '  if (given.length !== expected.length) return null\n',
    test: { file: 'test/http/passed-on.test.ts', name: 'is believed, and of nobody else' },
  },
  {
    promise: 'what a node says of a request that it passes on is good for a minute',
    file: 'src/http/passed-on.ts',
    find: 'Math.abs(request.now - at) <= GOOD_FOR_MS ? passed : null',
    replace: 'at > 0 ? passed : null',
    test: { file: 'test/http/passed-on.test.ts', name: 'it is good for that request alone' },
  },
  {
    promise: 'content of two nodes is told apart, whatever number each gives its backend',
    file: 'src/catalogue/postgres/backends.ts',
    find: 'node * BACKENDS + backendId',
    replace: 'node * 0 + backendId',
    test: { file: 'test/nodes/two-nodes.test.ts', name: 'each takes an upload for either' },
  },
  {
    promise: 'a request goes to the node of the cluster that its form names',
    file: 'src/nodes/other-nodes.ts',
    find: 'fixed ?? meant.cluster ?? principal',
    replace: 'fixed ?? principal',
    test: { file: 'test/nodes/two-nodes.test.ts', name: 'each takes an upload for either' },
  },
  {
    promise: 'what another node lets go of is told at once to a cluster that is kept elsewhere',
    file: 'src/wiring/nodes.ts',
    find: '    here.placements()\n',
    replace: '',
    test: { file: 'test/clusters/remote-cluster.test.ts', name: 'is told by the node of a fleet' },
  },
]

/** What a catalogue in PostgreSQL promises, where there is a server to try it on. */
export const postgresPromises: readonly KeptPromise[] = hasPostgres ? promises : []
