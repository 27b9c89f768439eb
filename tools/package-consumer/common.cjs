// The package from CommonJS, which reaches it by import().
const assert = require('node:assert/strict')
const { mkdtemp, rm } = require('node:fs/promises')
const { tmpdir } = require('node:os')
const { join } = require('node:path')

async function main() {
  const { createEngine } = await import('holdfast')
  const { createServer } = await import('holdfast/node-http')
  assert.equal(typeof createServer, 'function')
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-consumer-'))
  const engine = await createEngine({ dataDir })
  const account = await engine.accounts.create({ email: 'a@example.org', plan: 'free' })
  const { record } = await engine.pins.upload(Buffer.from('from CommonJS'), { account: account.id })
  assert.equal((await engine.pins.list({ account: account.id })).items[0].cid, record.cid)
  await engine.stop()
  await rm(dataDir, { recursive: true, force: true })
}

main().catch(error => {
  console.error(error)
  process.exitCode = 1
})
