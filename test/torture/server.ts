/**
 * A real server in a process of its own, whose disk fails now and then if it is told to. Arguments: data directory,
 * seed of the faults or `none`; `TORTURE_OPTIONS` has more options of the engine, `TORTURE_PORT` where it listens, and
 * `TORTURE_ACCOUNTS` keys of accounts beside the owner, by email.
 * Prints `listening on URL` once it does, and ends at SIGTERM.
 */

import { createServer } from '../../adapters/node-http/index.ts'
import { postgres } from '../../adapters/postgres/index.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { createEngine, type EngineConfig } from '../../src/index.ts'
import { failingFiles } from './failing-files.ts'

const [dataDir = '', faults = 'none'] = process.argv.slice(2)
const files = faults === 'none' ? null : failingFiles(Number(faults))
const error = (fields: object, message: string): void => console.error(message, fields)
const given = JSON.parse(process.env.TORTURE_OPTIONS ?? '{}') as EngineConfig
const engine = await createEngine({
  ...given,
  catalogue: postgres,
  dataDir,
  environment: process.env,
  // On a disk that works, whatever goes wrong is worth a word, unless what it needs is away now and then.
  logger: files === null && given.database === undefined ? { ...silentLogger, error } : silentLogger,
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
