// Writes docs/reference/routes.md: runs the examples against an engine and shows each request with its answer.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { serverAdapters } from '../adapters/cli/server-adapters.ts'
import { toFetch } from '../adapters/fetch/index.ts'
import { allRoutes } from '../src/features/all-routes.ts'
import { createEngine, type Identity, type IdentityProvider, SCOPES } from '../src/index.ts'
import { CID, EXAMPLES, type Example, type Known } from './route-examples.ts'
import { NOW } from './totp.ts'

const PAGE = join(import.meta.dirname, '../docs/reference/routes.md')
const VARYING =
  /^(id|uploadId|requestId|requestid|token|key|secret|otpauthUrl|qrCode|ids|backupCodes|recoveryCodes|temporaryToken|account|accountId|credentialId|parent|lastUsedAt|uptimeSeconds|ms|seconds|path|directory|bytes|dagSize|files|(?:sent|received|database|free|reserve)Bytes|delegates|peerId|addresses|version|memory|startedAt|prefix|session)$/
/** Saved values that appear in paths and differ between runs. */
const PATH_IDS = [
  'uploadId',
  'sessionId',
  'account',
  'job', // feature: bulk
  'requestid', // feature: psa
  'webhook', // feature: webhooks
]
/** Codes of a second factor, as opposed to error codes. */
const SECOND_FACTOR = /^\d{6}$|^\w{4}(-\w{4}){3}$/
/** Name of the key that keeps a sign-in at the console. */
const CONSOLE_KEY = /^console-[0-9a-f-]+$/
const JOB_ENDS = ['pin:removed', 'pin:created'] as const // feature: bulk
const LONGEST_TEXT = 90
const MOST_ITEMS = 2
const { groups } = await allRoutes()

export async function routePage(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-routes-'))
  try {
    return await pageFrom(directory)
  } finally {
    await rm(directory, { recursive: true })
  }
}

async function pageFrom(directory: string): Promise<string> {
  const backups = join(directory, 'backups')
  await mkdir(join(directory, 'data/import/photos'), { recursive: true })
  await writeFile(join(directory, 'data/import/photos/cat.txt'), 'a cat')
  await mkdir(backups)
  let now = NOW
  await using engine = await createEngine({
    ...serverAdapters,
    dataDir: join(directory, 'data'),
    clock: { now: () => now, after: () => () => {} },
    signup: { enabled: true, plan: 'free' },
    passwordCost: 1_024,
    backupRoots: [backups],
    network: { enabled: true },
    oidc: { issuer: 'https://id.example.org', clientId: 'holdfast', redirectUri: 'https://pins.example.org/console/' },
    signIn: async () => agreeing,
  })
  await engine.setPublicUrl('https://pins.example.org', 'https://content.example.org')
  const answer = toFetch(engine)
  const { account: owner } = await engine.accounts.ensureOwner()
  const ada = await engine.accounts.create({ email: 'ada@example.org', plan: 'premium' })
  const known: Known = {
    backups,
    owner: (await engine.keys.create(owner.id, { name: 'owner', scopes: SCOPES })).secret,
    key: (await engine.keys.create(ada.id, { name: 'default', scopes: SCOPES })).secret,
  }
  const shown: string[] = []
  for (const example of EXAMPLES) {
    // Lists are sorted by time, so each example needs its own.
    now += 1
    const request = await requestOf(example, known, answer)
    let changed: Promise<unknown> | null = null
    // feature: bulk
    // A deletion and its undo end with the event of their only record. The next answers must not depend on when that is.
    const isJob = /^POST \/api\/v3\/jobs(?!\/edits)/.test(example.route)
    if (isJob) changed = new Promise(resolve => JOB_ENDS.map(event => engine.events.on(event, resolve)))
    // end
    const response = await answer(request.asked)
    const body = await bodyOf(response, example, known)
    await changed
    if (example.isHidden !== true) shown.push(section(example, request.shown, response.status, body, backups))
  }
  return [HEAD, ...shown].join('\n')
}

const HEAD = `# Routes with examples

One request for each route, and its answer. Tests run every request against an engine and compare the answers.

\`…\` stands for a value that differs from run to run, or for more of the same. [The HTTP API](http-api.md) lists the routes with their scopes.

The examples send \`X-API-Key\` with a key of the account, or with a key of the owner below \`/admin/v1\`. Routes for people send
\`Authorization: Bearer\` with the token of a session.
`

const edsger: Identity = {
  issuer: 'https://id.example.org',
  subject: 'edsger',
  email: 'edsger@example.org',
  name: 'Edsger',
  groups: [],
  refreshToken: null,
}

/** A sign-in provider that vouches for everyone. */
const agreeing: IdentityProvider = {
  start: async () => ({ url: 'https://id.example.org/authorize?client_id=holdfast&state=…', secret: '…' }),
  finish: async () => edsger,
  refresh: async () => edsger,
}

type Answer = (request: Request) => Promise<Response>

async function requestOf(example: Example, known: Known, answer: Answer): Promise<{ asked: Request; shown: string }> {
  const [method = '', pattern = ''] = example.route.split(' ')
  const path = example.path?.(known) ?? pattern
  const [credential, header] = credentialOf(example, known)
  const headers = new Headers(credential)
  const ids = PATH_IDS.flatMap(name => known[name] ?? [])
  const lines = [`${method} ${ids.reduce((text, id) => text.replace(id, '…'), path)}`, ...header]
  let body: string | FormData | Uint8Array<ArrayBuffer> | null = null
  if (example.json !== undefined) {
    const json = example.json(known)
    body = JSON.stringify(json)
    headers.set('content-type', 'application/json')
    lines.push('Content-Type: application/json', '', JSON.stringify(withoutVarying(json), null, 2))
  } else if (example.form !== undefined) {
    body = formOf(example.form)
    lines.push(
      'Content-Type: multipart/form-data',
      '',
      ...Object.entries(example.form).map(([name, text]) => `${name}: ${text}`),
    )
  } else if (example.car === true) {
    const car = await answer(new Request(`http://localhost/ipfs/${CID}?format=car`))
    body = new Uint8Array(await car.arrayBuffer())
    headers.set('content-type', 'application/vnd.ipld.car')
    lines.push('Content-Type: application/vnd.ipld.car', '', '(the bytes of a CAR file)')
  }
  return { asked: new Request(`http://localhost${path}`, { method, headers, body }), shown: lines.join('\n') }
}

function credentialOf({ as }: Example, known: Known): [Record<string, string>, string[]] {
  if (as === 'nobody') return [{}, []]
  if (as === 'session') return [{ authorization: `Bearer ${known.session}` }, ['Authorization: Bearer …']]
  const key = (as === 'owner' ? known.owner : known.key) ?? ''
  return [{ 'x-api-key': key, authorization: `Bearer ${key}` }, ['X-API-Key: hf_…']]
}

function formOf(fields: Record<string, string>): FormData {
  const form = new FormData()
  for (const [name, text] of Object.entries(fields)) {
    if (name === 'file') form.append(name, new Blob([text]), 'hello.txt')
    else if (name === 'files') form.append(name, new Blob([text]), 'index.html')
    else form.append(name, text)
  }
  return form
}

/** Returns a body as the page shows it, and saves the values for later examples. */
async function bodyOf(response: Response, { keep = {} }: Example, known: Known): Promise<string> {
  const text = await response.text()
  if (response.headers.get('content-type')?.includes('html')) return '(a page)'
  if (text.trim() === '') return ''
  const values = text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as object)
  const [first = {}] = values
  for (const [name, field] of Object.entries(keep)) known[name] = String(at(first, field.split('.')))
  return values.map(value => JSON.stringify(withoutVarying(value), null, 2)).join('\n')
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce((part, field) => (part as Record<string, unknown> | undefined)?.[field], value)
}

/** Returns a value with `…` in place of varying and long parts. */
function withoutVarying(value: unknown, field = ''): unknown {
  if (Array.isArray(value)) {
    if (VARYING.test(field) && value.length > 0) return ['…']
    const items = value.slice(0, MOST_ITEMS).map(item => withoutVarying(item))
    return value.length > MOST_ITEMS ? [...items, '…'] : items
  }
  if (typeof value === 'object' && value !== null) {
    if ('openapi' in value) return { openapi: value.openapi, '…': '…' }
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withoutVarying(part, name)]))
  }
  if (value !== null && VARYING.test(field)) return '…'
  if (typeof value === 'string' && CONSOLE_KEY.test(value)) return 'console-…'
  if (field === 'code' && typeof value === 'string' && SECOND_FACTOR.test(value)) return '…'
  return typeof value === 'string' && value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT)}…` : value
}

function section(example: Example, request: string, status: number, body: string, backups: string): string {
  const [method = '', path = ''] = example.route.split(' ')
  const group = groups.find(({ base, routes }) =>
    routes.some(route => route.method === method && `${base}${route.path}` === path),
  )
  const route = group?.routes.find(each => each.method === method && `${group.base}${each.path}` === path)
  const title = `## ${method} ${path.replace(/[:*](\w+)/g, '{$1}')}`
  const answer = body === '' ? `${status}` : `${status}\n${body}`
  return `${title}\n\n${route?.summary ?? 'State of the node'}.\n\n\`\`\`http\n${request}\n\`\`\`\n\n\`\`\`json\n${answer}\n\`\`\`\n`.replaceAll(
    backups,
    '/mnt/backups',
  )
}

if (process.argv[1] === import.meta.filename) await writeFile(PAGE, await routePage())
