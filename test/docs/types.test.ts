import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { blocksOf } from '../support/guide.ts'
import { RESOLUTIONS, type SourceFile, typeProblems } from '../support/type-check.ts'

const ROOT = join(import.meta.dirname, '../..')
const PAGES = globSync(['README.md', 'docs/{start,guides,reference}/*.md'], { cwd: ROOT })
const USES_PACKAGE = / from '(holdfast[/'].*|\.\/engine\.js')/
/** Interfaces of an engine, whose methods have an example each. */
const INTERFACES: Readonly<Record<string, readonly string[]>> = {
  'src/api.ts': ['ClusterRegistry', 'TakedownList', 'Border', 'Engine'],
  'src/pins/public-pin-service.ts': ['PinService'],
  'src/pins/bulk/bulk-jobs.ts': ['BulkJobs'],
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
  'adapters/client/jobs.ts': ['Jobs'],
  'adapters/client/content.ts': ['Content'],
  'adapters/client/account.ts': ['Account', 'Keys'],
  'adapters/client/sessions.ts': ['Sessions'],
  'adapters/client/second-factor.ts': ['SecondFactor'],
  'adapters/client/webhooks.ts': ['Webhooks'],
  'adapters/client/owner.ts': ['Owner'],
}
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

test.each(RESOLUTIONS)(
  'blocks of documents and examples of methods compile under strict, by %s',
  { timeout: 90_000 },
  resolution => {
    const [blocks, examples] = [blocksOfPages(), exampleFiles()]
    expect(blocks.length).toBeGreaterThan(20)
    expect(examples.length).toBeGreaterThan(120)
    expect(typeProblems([...blocks, ...examples], resolution)).toBe('')
  },
)

test('a block with a wrong type is refused', { timeout: 90_000 }, () => {
  const text =
    "import { createEngine } from 'holdfast'\nexport const engine: string = await createEngine({ dataDir: 1 })"
  expect(typeProblems([{ name: 'wrong.ts', text }], 'nodenext')).toContain('wrong.ts')
})
