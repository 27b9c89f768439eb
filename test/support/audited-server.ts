import { mkdtemp, rm } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadHandlers } from '../../src/wiring/loaded-handlers.ts'
import { audits } from '../contract/audits.ts'
import { AUDITS_BEGIN, AuditClock, auditEngine, hosts, worldOf } from '../contract/hosts.ts'
import { LOADED } from './loaded-files.ts'

/**
 * Loads an engine as the server does, then runs the contract's audits over HTTP. Prints, as JSON, the number of audits
 * and the files that the process loaded after the server was ready.
 */
const loaded: string[] = []
registerHooks({
  load: (url, context, next) => {
    if (LOADED.test(url)) loaded.push(url)
    return next(url, context)
  },
})

const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-audited-'))
const clock = new AuditClock(AUDITS_BEGIN)
const engine = await auditEngine(dataDir, clock)
await loadHandlers(engine.api, engine.gateway, engine.ownGateway)
const host = hosts.find(({ name }) => name === 'node:http')
if (host === undefined) throw new Error('no host serves over HTTP')
const { client, close } = await host.serve(engine)
loaded.length = 0
const world = worldOf(engine, client, clock)
for (const audit of audits) await audit.run(world)
// undici decides with its first connection which of its parsers it needs.
const after = loaded.filter(url => !url.includes('/undici/lib/llhttp/'))
await close()
await engine.stop()
await rm(dataDir, { recursive: true })
console.log(JSON.stringify({ audits: audits.length, after }))
