import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { blocksOf } from '../support/guide.ts'
import { needs } from '../support/needs.ts'
import { hasNext, SETTINGS, type SourceFile, typeProblems } from '../support/type-check.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGES = globSync(['README.md', 'docs/{start,guides,reference}/*.md'], { cwd: ROOT })
const USES_PACKAGE = / from '(holdfast[/'].*|\.\/engine\.js')/
/** Interfaces of an engine, whose methods have an example each. */
const INTERFACES: Readonly<Record<string, readonly string[]>> = {
  'src/api.ts': ['ClusterRegistry', 'TakedownList', 'Border', 'Engine'],
  'src/pins/public-pin-service.ts': ['PinService'],
  'src/features/bulk/bulk-jobs.ts': ['BulkJobs'],
  'src/gateway/reader/content-request.ts': ['Content'],
  'src/access/accounts/accounts.ts': ['Accounts'],
  'src/access/keys/keys.ts': ['Keys'],
  'src/pins/events.ts': ['Events'],
}
/** Classes of the client, whose methods have an example each. */
const CLASSES: Readonly<Record<string, readonly string[]>> = {
  'adapters/client/client.ts': ['HoldfastClient'],
  'adapters/client/files.ts': ['Files'],
  'adapters/client/pins.ts': ['Pins'],
  'adapters/client/bulk.ts': ['Jobs'], // feature: bulk
  'adapters/client/content.ts': ['Content'],
  'adapters/client/account.ts': ['Account', 'Keys'],
  'adapters/client/sessions.ts': ['Sessions'],
  'adapters/client/second-factor.ts': ['SecondFactor'],
  'adapters/client/webhooks.ts': ['Webhooks'], // feature: webhooks
  'adapters/client/owner.ts': ['Owner'],
}
/** Sources of the functions and adapters of each entry. */
const FUNCTIONS: Readonly<Record<string, readonly string[]>> = {
  holdfast: [
    'src/engine.ts',
    'src/concurrency/work.ts',
    'src/config/{config,config-json-schema}.ts',
    'src/content/car/car-reader.ts',
    'src/content/disk-reserve.ts',
    'src/domain/errors.ts',
    'src/http/proxies.ts',
    'src/storage/{compact-database,rehearse-upgrade,schema-version}.ts',
    'src/wiring/{check-config,directory-calls,later-reading,open-accounts}.ts',
  ],
  'holdfast/console': ['adapters/console/console-handler.ts'],
  'holdfast/fastify': ['adapters/fastify/plugin.ts'],
  'holdfast/fetch': ['adapters/fetch/fetch-handler.ts'],
  'holdfast/holdfast': ['adapters/holdfast/index.ts'],
  'holdfast/ipfs-cluster': ['adapters/ipfs-cluster/index.ts'],
  'holdfast/kubo': ['adapters/kubo/index.ts'],
  'holdfast/node-http': [
    'adapters/node-http/{drain,graceful-stop,http-server,loop-watch,metrics-endpoint,node-handler,readers,server}.ts',
  ],
  'holdfast/opentelemetry': ['adapters/opentelemetry/index.ts'],
  'holdfast/postgres': ['adapters/postgres/index.ts'],
  'holdfast/testing': ['src/testing/test-engine.ts', 'src/testing/settled.ts'],
}
/** Values that a program passes to an engine or a framework. */
const ADAPTERS = ['holdfast', 'ipfsCluster', 'kubo', 'postgres']
/** Functions without an example: numbers of the server's limits, whose callers need no sample. */
const PLAIN = ['connectionsOfEach', 'descriptorLimit']
/** Declarations that every example of a function may use. */
const FUNCTION_CONTEXT = `
import { createReadStream } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import http from 'node:http'
import { fastify } from 'fastify'
import { type ApiRequest, createEngine, type Engine, type Logger, type SharedReading } from 'holdfast'
import { createServer, PrometheusMetrics, type Readers } from 'holdfast/node-http'
import { postgres } from 'holdfast/postgres'
declare const engine: Engine, logger: Logger, server: http.Server, error: unknown, apiRequest: ApiRequest
declare const workerData: SharedReading, database: string, readers: Readers
void [createReadStream, readFile, writeFile, http, fastify, createEngine, createServer, PrometheusMetrics, postgres]
void [engine, logger, server, error, apiRequest, workerData, database, readers]
`
/** Declarations that every example may use. */
const CONTEXT = `
import { createReadStream, createWriteStream, openAsBlob } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { Engine, Principal } from 'holdfast'
import type { HoldfastClient } from 'holdfast/client'
declare const client: HoldfastClient, location: { search: string }
declare const id: string, secret: string, temporaryToken: string, tokenOfTheLink: string
void [client, location, id, secret, temporaryToken, tokenOfTheLink, openAsBlob]
declare const engine: Engine, principal: Principal, request: Request
declare const account: string, cid: string, uploadId: string, jobId: string, password: string, secretOfTheOperator: string
void [createReadStream, createWriteStream, pipeline, engine, principal, request, account, cid, uploadId, jobId, password]
void secretOfTheOperator
`

/** Sources and streams that a program for the web passes between its framework and Holdfast. */
const SOURCES_AND_STREAMS: SourceFile = {
  name: 'sources-and-streams.ts',
  text: `
import type { Engine } from 'holdfast'
import type { HoldfastClient } from 'holdfast/client'
declare const client: HoldfastClient, engine: Engine, request: Request, file: File, blob: Blob
for (const source of [file, blob, file.stream()]) {
  await client.files.upload(source)
  await engine.pins.upload(source)
}
if (request.body !== null) await client.files.upload(request.body)
if (request.body !== null) await engine.pins.upload(request.body)
await engine.pins.upload(request)
await client.files.uploadDirectory([{ path: 'a', content: file }])
const files = [await client.content.file('a'), await engine.content.read({ cid: 'a' })]
for (const { stream } of files) {
  for await (const piece of stream) console.log(piece.length)
  console.log(new Response(stream))
}
console.log(new Response(await client.content.archive('a', 'car')))
`,
}

/** Returns the methods of an interface or class by name, each with its examples. */
function examplesOf(path: string, name: string): Map<string, string[]> {
  const [, body = ''] =
    readFileSync(join(ROOT, path), 'utf8').match(
      new RegExp(`^export (?:interface|class) ${name} [\\s\\S]*?\\{\\n([\\s\\S]*?)^\\}$`, 'm'),
    ) ?? []
  const methods = new Map<string, string[]>()
  for (const [, comment = '', method = ''] of body.matchAll(
    /(?:^ {2}\/\*\*([\s\S]*?)\*\/\n)?^ {2}(?:async )?\*?(\w+)[(<]/gm,
  )) {
    if (method === 'constructor') continue
    const examples = [...comment.matchAll(/@example\s+(.+)$/gm)].map(([, code = '']) => code.trim())
    methods.set(method, [...(methods.get(method) ?? []), ...examples])
  }
  return methods
}

/** Returns the examples of the functions and adapters of each entry. */
function functionFiles(): SourceFile[] {
  const found = Object.entries(FUNCTIONS).flatMap(([entry, patterns]) =>
    globSync([...patterns], { cwd: ROOT }).flatMap(path =>
      [
        ...readFileSync(join(ROOT, path), 'utf8').matchAll(
          /^ \* @example\s+((?:(?!\*\/)[\s\S])+?)\n \*\/\nexport (?:async )?(?:function|const) (\w+)/gm,
        ),
      ].map(([, code = '', name = '']) => ({ entry, name, code: code.replace(/^ ?\* /gm, '') })),
    ),
  )
  const reports = Object.keys(FUNCTIONS).map(entry => join(ROOT, `docs/api/${entry.replace('/', '-')}.api.md`))
  const named = reports.flatMap(report => [...readFileSync(report, 'utf8').matchAll(/^export function (\w+)/gm)])
  expect(named.map(([, name]) => name).toSorted()).toEqual(
    [...PLAIN, ...found.map(({ name }) => name)].filter(name => !ADAPTERS.includes(name)).toSorted(),
  )
  return found.map(({ entry, name, code }) => ({
    name: `functions/${entry}/${name}.ts`,
    text: `${FUNCTION_CONTEXT}import * as entry from '${entry}'\n{\nconst { ${name} } = entry\n${code}\n}`,
  }))
}

function blocksOfPages(): SourceFile[] {
  return PAGES.flatMap(page =>
    blocksOf(join(ROOT, page))
      .filter(({ language, text }) => /^tsx?$/.test(language) || (language === 'js' && USES_PACKAGE.test(text)))
      .map(({ language, name, text }, place) => ({
        name: join(page.replace('.md', ''), name === '' ? `block-${place}.${language}` : name),
        // A reader may copy a block of JavaScript into TypeScript.
        text: language === 'js' ? `// @ts-check\n${text}` : text,
      })),
  )
}

function exampleFiles(): SourceFile[] {
  const methods = Object.entries({ ...INTERFACES, ...CLASSES }).flatMap(([path, names]) =>
    names.flatMap(name => [...examplesOf(path, name)].map(([method, examples]) => ({ path, name, method, examples }))),
  )
  expect(methods.filter(({ examples }) => examples.length === 0)).toEqual([])
  return methods.flatMap(({ path, name, method, examples }) =>
    examples.map((code, i) => ({
      name: `${path.replace('.ts', '')}/${name}/${method}-${i}.ts`,
      text: `${CONTEXT}{\n${code}\n}`,
    })),
  )
}

for (const [name, settings] of Object.entries(SETTINGS)) {
  const isThere = settings.compiler === undefined || hasNext
  const options = { timeout: 600_000, ...needs(isThere, 'there is no Next.js: npm ci --prefix tools/next') }
  test(`blocks of documents and examples of methods compile under strict, by ${name}`, options, () => {
    const [blocks, examples] = [blocksOfPages(), [...exampleFiles(), ...functionFiles()]]
    expect(blocks.length).toBeGreaterThan(20)
    expect(examples.length).toBeGreaterThan(150)
    expect(typeProblems([...blocks, ...examples, SOURCES_AND_STREAMS], settings)).toBe('')
  })
}

test('a block with a wrong type is refused', { timeout: 300_000 }, () => {
  const text =
    "import { createEngine } from 'holdfast'\nexport const engine: string = await createEngine({ dataDir: 1 })"
  expect(typeProblems([{ name: 'wrong.ts', text }], SETTINGS.nodenext ?? { options: {} })).toContain('wrong.ts')
})
