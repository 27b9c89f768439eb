/**
 * A program that runs a real server, optionally on a disk that fails at random. Arguments: the data directory, the seed
 * of the failures or `none`.
 *
 * `TORTURE_OPTIONS` has engine options as JSON, `TORTURE_PORT` the port, `TORTURE_ACCOUNTS` the keys of further
 * accounts by email. `TORTURE_CLOCK_MS` is added to its clock.
 *
 * It prints `listening on URL` and stops at SIGTERM.
 */

import { serverAdapters } from '../../adapters/cli/server-adapters.ts'
import { createServer } from '../../adapters/node-http/index.ts'
import { systemClock } from '../../src/domain/clock.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { createEngine, type EngineConfig } from '../../src/index.ts'
import { failingFiles } from './failing-files.ts'

const [dataDir = '', faults = 'none'] = process.argv.slice(2)
const files = faults === 'none' ? null : failingFiles(Number(faults))
const error = (fields: object, message: string): void => console.error(message, fields)
const given = JSON.parse(process.env.TORTURE_OPTIONS ?? '{}') as EngineConfig
const aheadMs = Number(process.env.TORTURE_CLOCK_MS ?? 0)
const engine = await createEngine({
  ...serverAdapters,
  ...given,
  dataDir,
  environment: process.env,
  // On a healthy disk, with no outages of a database, an error is worth printing.
  logger: files === null && given.database === undefined ? { ...silentLogger, error } : silentLogger,
  clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
  gc: { intervalSeconds: 1, graceSeconds: 0 },
  ...(files === null ? {} : { fileSystem: files.fileSystem }),
})
const { account } = await engine.accounts.ensureOwner()
await engine.keys.adopt(account.id, 'torture', process.env.TORTURE_KEY ?? '')
const others = JSON.parse(process.env.TORTURE_ACCOUNTS ?? '{}') as Record<string, string>
for (const [email, key] of Object.entries(others)) {
  const { id } = (await engine.accounts.find(email)) ?? (await engine.accounts.create({ email, plan: 'unlimited' }))
  await engine.keys.adopt(id, 'torture', key)
}
const server = createServer(engine)
server.listen(Number(process.env.TORTURE_PORT ?? 0), '127.0.0.1', () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  files?.begin()
  process.stdout.write(`listening on http://127.0.0.1:${address.port}\n`)
})
process.once('SIGTERM', async () => {
  server.close()
  server.closeAllConnections()
  await engine.stop()
})
