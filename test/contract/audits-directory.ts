import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Actor,
  type Answer,
  type Audit,
  assertError,
  BASE,
  cidOf,
  directoryForm,
  expectStatus,
  form,
  json,
  type Part,
  type RequestOptions,
} from './world.ts'

const FILES: Record<string, string> = { 'a.txt': 'first', 'sub/b.txt': 'second', 'sub/deep/né "c".txt': 'third' }

function dag(account: Actor, options: RequestOptions): Promise<Answer> {
  return account.request('POST', `${BASE}/files/directory-dag`, options)
}

function fromServer(account: Actor, body: unknown): Promise<Answer> {
  return account.request('POST', `${BASE}/files/directory`, json(body))
}

/** Returns `FILES` in each of the form layouts that clients send. */
function shapes(): Record<string, readonly Part[]> {
  const entries = Object.entries(FILES)
  const escaped = (path: string): string => path.replaceAll('"', '%22')
  const indexed = (part: (path: string, content: string, index: number) => Part[]): Part[] =>
    entries.flatMap(([path, content], index) => part(path, content, index))
  const path = (index: number): string => `files[${index}][path]`
  const content = (index: number): string => `files[${index}][content]`
  return {
    files: entries.map(([path, content]) => ({ name: 'files', filename: escaped(path), content })),
    'files[]': entries.map(([path, content]) => ({ name: 'files[]', filename: escaped(path), content })),
    'path and content, content as a file': indexed((p, c, i) => [
      { name: path(i), content: p },
      { name: content(i), filename: 'blob', content: c },
    ]),
    'path and content, both as text': indexed((p, c, i) => [
      { name: path(i), content: p },
      { name: content(i), content: c },
    ]),
    'path and content, both as files': indexed((p, c, i) => [
      { name: path(i), filename: path(i), content: p },
      { name: content(i), filename: 'b.bin', content: c, type: 'application/octet-stream' },
    ]),
    'content before its path': indexed((p, c, i) => [
      { name: content(i), filename: 'blob', content: c },
      { name: path(i), content: p },
    ]),
    'all contents, then all paths': [
      ...indexed((_, c, i) => [{ name: content(i), filename: 'blob', content: c }]),
      ...indexed((p, _, i) => [{ name: path(i), content: p }]),
    ],
    'backslashes, dots and double slashes': entries.map(([path, content]) => ({
      name: 'files',
      filename: `./${escaped(path).replace('/', '\\').replace('/', '//./')}`,
      content,
    })),
    'any order': entries.toReversed().map(([path, content]) => ({ name: 'files', filename: escaped(path), content })),
  }
}

/** POST /files/directory-dag and POST /files/directory. */
export const directoryAudits: readonly Audit[] = [
  {
    id: 'directory-dag.shapes',
    name: 'MUST give the same root for the same files in every layout',
    async run({ client, actor }) {
      const roots = new Set<string>()
      for (const [shape, parts] of Object.entries(shapes())) {
        const { json: made } = await expectStatus(dag(await actor(), form(parts)), 201)
        assert.equal(made.total_files, 3, shape)
        roots.add(made.cid)
      }
      assert.equal(roots.size, 1)
      const [root] = roots
      for (const [path, content] of Object.entries(FILES)) {
        const answer = await expectStatus(client.request('GET', `/ipfs/${root}/${encodeURI(path)}`), 200)
        assert.equal(answer.body.toString(), content)
      }
    },
  },
  {
    id: 'directory-dag.bytes',
    name: 'MUST keep file names that are not UTF-8 as bytes',
    async run({ client, actor }) {
      const account = await actor()
      // The last name is the mark of a byte itself, as UTF-8.
      const names = ['caf\uefe8', 'caf\uefe9', 'caf\uefee\uefbf\uefa9']
      const parts = names.map(name => ({ name: 'files', filename: `d/${name}`, content: name }))
      const { json: made } = await expectStatus(dag(account, form(parts)), 201)
      const paths = (files: readonly { path: string }[]): string[] => files.map(({ path }) => path).toSorted()
      const expected = names.map(name => `d/${name}`)
      assert.deepEqual(paths(made.files), expected)
      const listed = await expectStatus(account.request('GET', `${BASE}/users/me/uploads?parentCid=${made.cid}`), 200)
      assert.deepEqual(paths(listed.json.uploads), expected)
      for (const [i, escaped] of ['caf%E8', 'caf%E9', 'caf%EE%BF%A9'].entries()) {
        const answer = await expectStatus(client.request('GET', `/ipfs/${made.cid}/d/${escaped}`), 200)
        assert.equal(answer.body.toString(), names[i])
      }
      const file = form([{ name: 'file', filename: 'caf\uefe9.txt', content: 'x' }])
      const { json: single } = await expectStatus(account.request('POST', `${BASE}/files`, file), 201)
      assert.equal(single.name, 'caf\uefe9.txt')
      const query = new URLSearchParams({ q: 'AF\uefe9' })
      const found = await expectStatus(account.request('GET', `${BASE}/users/me/uploads?${query}`), 200)
      assert.deepEqual(
        found.json.uploads.map(({ cid }: { cid: string }) => cid),
        [single.cid],
      )
      const other = [{ name: 'dirName', content: Buffer.from([0x63, 0xe9]) }, ...parts]
      assertError(await dag(account, form(other)), 400, 'VALIDATION', 'dirName')
    },
  },
  {
    id: 'directory-dag.attributes',
    name: 'MUST store mode and mtime of a part as Kubo does',
    async run({ actor }) {
      const account = await actor()
      const time = 'mtime=1604320500&mtime-nsecs='
      const folder = (filename: string, query: string, content = ''): Part => {
        return { name: `files?${query}`, filename, content, type: 'application/x-directory' }
      }
      const parts = [
        folder('.', `mode=0755&${time}55557`),
        folder('nothing', `mode=0750&${time}55556`),
        { name: `files[]?mode=755&${time}55555`, filename: 'sub/b.txt', content: 'b' },
        folder('sub', `mode=0750&${time}55556`),
        { name: `files?mode=0644&${time}55555`, filename: 'a.txt', content: 'a' },
      ]
      const { json: made } = await expectStatus(dag(account, form(parts)), 201)
      assert.equal(made.cid, 'bafybeia7kblm3xgqztc4ywjqerjvgzxq7gg5zt5tf6libni23kmjsj6v2u')
      const file = form([{ name: `file?mode=0644&${time}55555`, filename: 'hello', content: 'hello\n' }])
      const { json: single } = await expectStatus(account.request('POST', `${BASE}/files`, file), 201)
      assert.equal(single.cid, 'bafybeib4n6pdz4cupqucj5o3segmnxktj2zu3usieo3q66siemht5ltzna')
      const late = form([folder('.', 'mtime=9223372036854775808')])
      assertError(await dag(account, late), 400, 'VALIDATION', 'mtime')
      assertError(await dag(account, form([folder('.', 'mode=0755', 'x')])), 400, 'VALIDATION')
    },
  },
  {
    id: 'directory-dag.answer',
    name: 'MUST answer 201 with the fields clients read, 200 to a repeat',
    async run({ actor, now }) {
      const account = await actor()
      const options = directoryForm(FILES, { dirName: 'my tree', cl: 'cl1-eu' })
      const { json: made } = await expectStatus(dag(account, options), 201)
      assert.equal(typeof made.message, 'string')
      assert.equal(made.dagCid, made.cid)
      assert.equal(made.clusterId, 'cl1-eu')
      assert.equal(made.expiresAt, null)
      assert.equal(made.createdAt, new Date(now()).toISOString())
      assert.equal(made.status, 'pinned')
      assert.equal(made.type, 'directory')
      assert.equal(made.name, 'my tree')
      assert.equal(made.filename, 'my tree')
      assert.equal(made.size, 16)
      assert.equal(made.total_size, 16)
      assert.equal(made.total_files, 3)
      assert.deepEqual(
        made.files.toSorted((a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1)),
        [
          { cid: await cidOf('first'), filename: 'a.txt', size: 5, path: 'a.txt' },
          { cid: await cidOf('second'), filename: 'b.txt', size: 6, path: 'sub/b.txt' },
          { cid: await cidOf('third'), filename: 'né "c".txt', size: 5, path: 'sub/deep/né "c".txt' },
        ],
      )
      const { json: same } = await expectStatus(dag(account, options), 200)
      assert.equal(same.uploadId, made.uploadId)
    },
  },
  {
    id: 'directory-dag.dir-name',
    name: 'MUST NOT add dirName to paths; MUST accept fields after the files',
    async run({ actor }) {
      const account = await actor()
      const plain = await expectStatus(dag(account, directoryForm(FILES)), 201)
      const files = shapes().files ?? []
      const fields = [
        { name: 'dirName', content: 'wrapped?' },
        { name: 'cl', content: 'cl2-us' },
        { name: 'timelock', content: '2040-01-01T00:00:00Z' },
      ]
      const { json: named } = await expectStatus(dag(account, form([...files, ...fields])), 201)
      assert.equal(named.cid, plain.json.cid)
      assert.equal(named.name, 'wrapped?')
      assert.equal(named.clusterId, 'cl2-us')
      assert.equal(named.expiresAt, '2040-01-01T00:00:00.000Z')
    },
  },
  {
    id: 'directory-dag.invalid-paths',
    name: 'MUST refuse invalid, absolute, escaping and clashing paths with 400',
    async run({ actor }) {
      const account = await actor()
      const file = (filename: string): Part => ({ name: 'files', filename, content: 'x' })
      const cases: Part[][] = [
        [file('')],
        [file('./')],
        [file('/etc/passwd')],
        [file('\\windows')],
        [file('../up')],
        [file('a/../b')],
        [file('a\\..\\b')],
        [file('x'.repeat(256))],
        [file('a.txt'), file('a.txt')],
        [file('a.txt'), file('./a.txt')],
        [file('a'), file('a/b')],
        [file('a/b'), file('a')],
        [
          { name: 'files[0][path]', content: 'nul\0byte' },
          { name: 'files[0][content]', content: 'x' },
        ],
        [
          { name: 'files[0][path]', content: 'line\r\nbreak' },
          { name: 'files[0][content]', content: 'x' },
        ],
      ]
      for (const [index, parts] of cases.entries()) {
        const answer = await dag(account, form(parts))
        assertError(answer, 400, 'INVALID_PATH')
        assert.equal(answer.status, 400, `case ${index}`)
      }
      assert.equal((await account.request('GET', `${BASE}/users/me/uploads`)).json.total, 0)
    },
  },
  {
    id: 'directory-dag.invalid-forms',
    name: 'MUST refuse a form without complete files with 400, naming the field',
    async run({ actor }) {
      const account = await actor()
      const half = (name: string): Part => ({ name, content: 'x' })
      const cases: [Part[], string][] = [
        [[], 'files'],
        [[half('dirName')], 'files'],
        [[half('files')], 'files'],
        [[half('files[0][path]')], 'files[0][content]'],
        [[half('files[3][content]')], 'files[3][path]'],
        [[half('files[0][path]'), half('files[0][path]'), half('files[0][content]')], 'files[0][path]'],
        [[half('files[0][path]'), half('files[0][content]'), half('files[0][content]')], 'files[0][content]'],
        [[{ ...half('files[0][path]'), content: 'p'.repeat(5_000) }, half('files[0][content]')], 'files[0][path]'],
        [
          [
            { ...half('dirName'), filename: 'f' },
            { ...half('files'), filename: 'f' },
          ],
          'dirName',
        ],
      ]
      for (const [parts, field] of cases) assertError(await dag(account, form(parts)), 400, 'VALIDATION', field)
      assert.equal((await account.request('GET', `${BASE}/users/me/uploads`)).json.total, 0)
    },
  },
  {
    id: 'directory-dag.many',
    name: 'MUST accept ten thousand files, list 1,000 and count all',
    async run({ actor }) {
      const files = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`d${n % 100}/f${n}`, `${n % 7}`]))
      const { json: made } = await expectStatus(dag(await actor(), directoryForm(files)), 201)
      assert.equal(made.total_files, 10_000)
      assert.equal(made.total_size, 10_000)
      assert.equal(made.files.length, 1_000)
    },
  },
  {
    id: 'directory-dag.refused',
    name: 'MUST refuse cluster and timelock as for a file, and store nothing',
    async run({ actor }) {
      const account = await actor('free')
      const refuse = async (fields: Record<string, string>, status: number, code: string): Promise<void> => {
        assertError(await dag(account, directoryForm(FILES, fields)), status, code)
      }
      await refuse({ cl: 'cl1-eu' }, 403, 'CLUSTER_NOT_ALLOWED')
      await refuse({ timelock: '2040-01-01T00:00:00Z' }, 403, 'TIMELOCK_NOT_ALLOWED')
      await refuse({ timelock: 'never' }, 400, 'INVALID_TIMELOCK')
      assert.deepEqual((await account.request('GET', `${BASE}/users/me`)).json.usage, {
        pins: 0,
        storedBytes: 0,
        keptBytes: 0,
      })
    },
  },
  {
    id: 'directory.same-root',
    name: 'MUST give a server directory the same root as a form',
    async run({ actor, importRoot }) {
      for (const [path, content] of Object.entries(FILES)) {
        const target = join(importRoot, 'same-root', path)
        await mkdir(join(target, '..'), { recursive: true })
        await writeFile(target, content)
      }
      const account = await actor()
      const { json: sent } = await expectStatus(dag(account, directoryForm(FILES)), 201)
      for (const dirPath of ['same-root', './same-root/', join(importRoot, 'same-root')]) {
        const { json: made } = await expectStatus(fromServer(account, { dirPath }), 200, 201)
        assert.equal(made.cid, sent.cid)
        assert.equal(made.clusterId, 'cl0-global')
        assert.equal(made.expiresAt, null)
      }
      const options = { dirPath: 'same-root', cl: 'cl2-de', timelock: '2040-01-01T00:00:00Z' }
      const { json: elsewhere } = await expectStatus(fromServer(account, options), 201)
      assert.equal(elsewhere.clusterId, 'cl2-de')
      assert.equal(elsewhere.expiresAt, '2040-01-01T00:00:00.000Z')
    },
  },
  {
    id: 'directory.invalid-path',
    name: 'MUST answer missing, outside and non-directory paths with the same 400',
    async run({ actor, importRoot }) {
      const account = await actor()
      await writeFile(join(importRoot, 'plain-file'), 'x')
      await symlink(tmpdir(), join(importRoot, 'way-out'))
      const paths = ['missing', '..', '../..', '/etc', `${importRoot}-other`, 'plain-file', 'way-out', 'nul\0byte', '']
      const messages = new Set<unknown>()
      for (const dirPath of paths)
        messages.add(assertError(await fromServer(account, { dirPath }), 400, 'INVALID_PATH').message)
      assert.ok(messages.size <= 2, [...messages].join(' | '))
      assert.ok(![...messages].join().includes(importRoot))
    },
  },
  {
    id: 'directory.not-offered',
    name: 'MUST refuse imports by server path with 403 unless the plan offers them',
    async run({ actor, importRoot }) {
      const account = await actor('audit-remote')
      await mkdir(join(importRoot, 'not-offered'), { recursive: true })
      const messages = new Set<unknown>()
      for (const dirPath of ['not-offered', 'missing', '/etc', '..', '']) {
        messages.add(assertError(await fromServer(account, { dirPath }), 403, 'NOT_OFFERED').message)
      }
      assert.equal(messages.size, 1)
      assertError(await fromServer(account, { dirPath: 5 }), 400, 'VALIDATION', 'dirPath')
      const reader = await account.key({ name: 'reader', scopes: ['files:read'] })
      const options = { ...json({ dirPath: 5 }), headers: { ...json({}).headers, authorization: `Bearer ${reader}` } }
      assertError(await account.request('POST', `${BASE}/files/directory`, options), 403, 'missing_scope')
    },
  },
  {
    id: 'directory.invalid-body',
    name: 'MUST refuse a body without dirPath or with wrong types with 400',
    async run({ actor }) {
      const account = await actor()
      const cases = [
        [{}, 'dirPath'],
        [{ dirPath: 5 }, 'dirPath'],
        [{ dirPath: 'x', cl: ['cl0-global'] }, 'cl'],
        [{ dirPath: 'x', timelock: 1893456000 }, 'timelock'],
      ] as const
      for (const [body, field] of cases) assertError(await fromServer(account, body), 400, 'VALIDATION', field)
    },
  },
]
