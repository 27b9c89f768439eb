import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { ServerProcess } from '../../support/server-process.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const PACKAGE = join(import.meta.dirname, '../../../package.json')
/** Writes a line for each load of the package, and for each span that the server ends. */
const SDK = `
import { createRequire, registerHooks } from 'node:module'
import { isMainThread } from 'node:worker_threads'
const say = line => process.stderr.write(line + '\\n')
if (process.env.WITHOUT_PACKAGE === undefined) {
  const require = createRequire(${JSON.stringify(PACKAGE)})
  const { trace } = require('@opentelemetry/api')
  const { TracerProvider } = require('@opentelemetry/sdk-trace')
  const processor = { onStart() {}, onEnd: span => say('span ' + span.name), shutdown: async () => {}, forceFlush: async () => {} }
  if (isMainThread) trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [processor] }))
}
registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@opentelemetry/api') {
      say('loaded')
      if (process.env.WITHOUT_PACKAGE !== undefined) throw new Error('no such package')
    }
    return next(specifier, context)
  },
})
`

afterEach(() => ServerProcess.killAll())

/** Runs a server with or without `tracing`. Returns what the SDK wrote during a request. */
function started(tracing: boolean, env: Record<string, string> = {}): Promise<string> {
  return withTempDir(async directory => {
    const sdk = join(directory, 'sdk.mjs')
    writeFileSync(sdk, SDK)
    const config = join(directory, 'config.json')
    writeFileSync(config, JSON.stringify({ tracing }))
    const nodeArgs = ['--import', pathToFileURL(sdk).href]
    const server = await ServerProcess.start(join(directory, 'data'), ['--config', config], env, undefined, nodeArgs)
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    expect(await server.stop()).toBe(0)
    return server.stderr
  })
}

test('a server with tracing sends spans to the SDK of its process', async () => {
  expect(await started(true)).toBe('loaded\nspan GET /health\n')
})

test('a server without tracing loads no package for it', async () => {
  expect(await started(false)).toBe('')
})

test('tracing without its package stops the start, and names the remedy', async () => {
  await expect(started(true, { WITHOUT_PACKAGE: '1' })).rejects.toThrow(/npm install @opentelemetry\/api/)
})
