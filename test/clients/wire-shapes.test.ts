import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { caller, curl, go, php, python } from './dialects.ts'
import { type FormPart, goFieldForm } from './forms.ts'
import { type Customer, openService, type Service } from './service.ts'
import { exchange } from './wire.ts'

let service: Service
let customer: Customer

beforeAll(async () => {
  service = await openService()
  customer = await service.customer()
})
afterAll(() => service.close())

function callAs(dialect: typeof python): ReturnType<typeof caller> {
  return caller(dialect, service.port, customer.secret)
}

function file(name: string, filename: string, content: string): FormPart {
  return { name, filename, content }
}

/** Returns the content of each path below a directory, from the gateway. */
async function contents(cid: string, paths: readonly string[]): Promise<string[]> {
  return Promise.all(paths.map(async path => (await fetch(`${service.gateway}${cid}/${path}`)).text()))
}

describe('directories', () => {
  test('files with paths as names: Python, PHP and Go today', async () => {
    const fields = [
      { name: 'dirName', content: 'tree' },
      { name: 'cl', content: 'cl1-eu' },
    ]
    const flat = [file('files', 'a.txt', 'a'), file('files', 'b.txt', 'b')]
    const deep = [file('files', 'a.txt', 'a'), file('files', 'sub/b.txt', 'b')]
    const cids = new Set<string>()
    for (const dialect of [python, go]) {
      const { status, json } = await callAs(dialect)('POST', '/files/directory-dag', { form: [...fields, ...deep] })
      expect([200, 201]).toContain(status)
      expect(json).toMatchObject({ filename: 'tree', clusterId: 'cl1-eu', total_files: 2, total_size: 2 })
      expect(await contents(json.cid, ['a.txt', 'sub/b.txt'])).toEqual(['a', 'b'])
      cids.add(json.cid)
    }
    expect(cids.size).toBe(1)
    const { json } = await callAs(php)('POST', '/files/directory-dag', { form: [...fields, ...flat] })
    expect(await contents(json.cid, ['a.txt', 'b.txt'])).toEqual(['a', 'b'])
  })

  test('Guzzle sends base names only, so two equal ones are refused', async () => {
    const form = [file('files', 'one/index.html', 'first'), file('files', 'two/index.html', 'second')]
    const answer = await callAs(php)('POST', '/files/directory-dag', { form })
    expect([answer.status, answer.json.code]).toEqual([400, 'INVALID_PATH'])
    expect(answer.json.message).toContain('index.html')
  })

  test('files[] of the samples, with fields after the files', async () => {
    const form = [file('files[]', 'x.txt', 'x'), file('files[]', 'y.txt', 'y'), { name: 'timelock', content: '' }]
    const { json } = await callAs(curl)('POST', '/files/directory-dag', { form })
    expect(json).toMatchObject({ expiresAt: null, clusterId: 'cl0-global' })
    expect(await contents(json.cid, ['x.txt', 'y.txt'])).toEqual(['x', 'y'])
  })

  test('Python 3.0: the path is a file part named like its field', async () => {
    const form = [
      file('files[0][path]', 'files[0][path]', 'docs/read me.txt'),
      file('files[0][content]', 'files[0][content]', 'content'),
      file('files[1][path]', 'files[1][path]', 'top.txt'),
      file('files[1][content]', 'files[1][content]', 'more'),
    ]
    const { status, json } = await callAs(python)('POST', '/files/directory-dag', { form })
    expect(status).toBe(201)
    expect(json.files.map(({ path }: { path: string }) => path).toSorted()).toEqual(['docs/read me.txt', 'top.txt'])
    expect(await contents(json.cid, ['docs/read%20me.txt', 'top.txt'])).toEqual(['content', 'more'])
  })

  test('Go 2: content without a file name', async () => {
    const { contentType, body } = goFieldForm([
      { name: 'files[0][path]', content: 'deep/er/a.txt' },
      { name: 'files[0][content]', content: 'no file part' },
    ])
    const head = [
      'POST /api/v3/files/directory-dag HTTP/1.1',
      `Host: 127.0.0.1:${service.port}`,
      'User-Agent: Go-http-client/1.1',
      `Content-Length: ${body.length}`,
      `Authorization: Bearer ${customer.secret}`,
      `Content-Type: ${contentType}`,
      'Accept-Encoding: gzip',
    ]
    const { status, json } = await exchange(service.port, { head, body })
    expect(status).toBe(201)
    expect(await contents(json.cid, ['deep/er/a.txt'])).toEqual(['no file part'])
  })
})

describe('names', () => {
  test('with quotes and percent signs arrive unchanged from all clients', async () => {
    for (const dialect of [python, php, go, curl]) {
      const form = [file('file', 'né "50 %" %20 .txt', `names of ${dialect.name}`)]
      expect((await callAs(dialect)('POST', '/files', { form })).json.name).toBe('né "50 %" %20 .txt')
    }
  })

  test('may be unencoded in requests of Python to revoke tokens', async () => {
    const call = callAs(python)
    await call('POST', '/tokens/generate', { json: { name: 'my tok', label: 'cli-access' } })
    expect((await call('DELETE', '/tokens/revoke/my%20tok')).status).toBe(200)
    // Names may have no slash or question mark, because an unencoded one changes the route.
    const other = await call('DELETE', '/tokens/revoke/my%20tok/1?x')
    expect([other.status, other.json.code]).toEqual([404, 'NOT_FOUND'])
    for (const name of ['a/b', 'a?b', 'a#b', 'a%b', 'a\\b', 'a\nb']) {
      expect((await call('POST', '/tokens/generate', { json: { name } })).json.code).toBe('VALIDATION')
    }
  })
})

describe('samples of the documentation', () => {
  test('curl waits for 100 Continue, and sends no body if refused', async () => {
    const form = [file('file', 'large.bin', 'x'.repeat(1_200_000))]
    expect((await callAs(curl)('POST', '/files', { form })).json.size).toBe(1_200_000)
    const limited = caller(curl, service.port, (await service.customer('one-request')).secret)
    const refused = await limited('POST', '/files', { form })
    expect([refused.status, refused.json.code]).toEqual([413, 'FILE_TOO_LARGE'])
  })

  test('X-Cluster wins over the field, the field over the query', async () => {
    const upload = (path: string, headers: string[], fields: FormPart[]) =>
      callAs(curl)('POST', path, { headers, form: [file('file', 'c.txt', 'where?'), ...fields] })
    const cl = { name: 'cl', content: 'cl1-eu' }
    expect((await upload('/files?cl=cl2-us', ['X-Cluster: cl2-de'], [cl])).json.clusterId).toBe('cl2-de')
    expect((await upload('/files?cl=cl2-us', [], [cl])).json.clusterId).toBe('cl1-eu')
    expect((await upload('/files?cl=cl2-us', [], [])).json.clusterId).toBe('cl2-us')
  })

  test('version 1: pin without a body, DELETE below uploads, revoke by POST', async () => {
    const call = callAs(curl)
    const { cid } = (await call('POST', '/files', { form: [file('file', 'v', 'of version 2')] })).json
    const pinned = await call('POST', `/files/pin/${cid}`)
    expect(pinned.json).toMatchObject({ cid, pinned: true })
    const empty = await call('POST', `/files/pin/${cid}`, {
      headers: ['Content-Type: application/json', 'Content-Length: 0'],
    })
    expect([empty.status, empty.json.uploadId]).toEqual([200, pinned.json.uploadId])
    expect((await call('DELETE', `/users/me/uploads/${cid}`)).json).toMatchObject({ cid, removed: true })
    await call('POST', '/tokens/generate', { json: { name: 'to-revoke' } })
    const revoked = await call('POST', '/tokens/revoke', { json: { name: 'to-revoke', totpCode: '000000' } })
    expect([revoked.status, revoked.json.name]).toEqual([200, 'to-revoke'])
  })

  test('a chunked form, as streaming clients send it', async () => {
    const boundary = 'streamed'
    const text = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="s.txt"\r\n\r\nstreamed\r\n--${boundary}--\r\n`
    const chunks = [text.slice(0, 20), text.slice(20, 77), text.slice(77)]
    const body = Buffer.from(`${chunks.map(chunk => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`)
    const head = [
      'POST /api/v3/files/ HTTP/1.1',
      `Host: 127.0.0.1:${service.port}`,
      'User-Agent: Go-http-client/1.1',
      'Transfer-Encoding: chunked',
      `Content-Type: multipart/form-data; boundary=${boundary}`,
      `X-Api-Key: ${customer.secret}`,
      'Accept-Encoding: gzip',
    ]
    const answer = await exchange(service.port, { head, body })
    expect([answer.status, answer.json.size]).toEqual([201, 8])
  })

  test('one valid credential of two suffices', async () => {
    const open = caller(curl, service.port, null)
    const [good, bad] = [customer.secret, 'wrong']
    for (const headers of [
      [`Authorization: Bearer ${good}`, `X-API-Key: ${bad}`],
      [`Authorization: Bearer ${bad}`, `X-API-Key: ${good}`],
      [`authorization: bearer ${good}`],
      [`x-api-key: ${good}`, 'X-Request-Source: web'],
    ]) {
      expect((await open('GET', '/users/me', { headers })).json.id).toBe(customer.id)
    }
  })
})
