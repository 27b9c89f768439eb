import assert from 'node:assert/strict'
import { type Audit, BASE, FORM_TYPE, fileForm, form, json } from './world.ts'

/** Variations that clients send: which are accepted, and which are refused rather than guessed. */
export const dialectAudits: Audit[] = [
  {
    id: 'dialects-empty-json',
    name: 'MUST treat a JSON body of null or [] as empty',
    run: async world => {
      const actor = await world.actor()
      const { cid } = (await actor.request('POST', `${BASE}/files`, fileForm('dialects'))).json
      for (const body of ['null', '[]', ' [ ] ']) {
        const answer = await actor.request('POST', `${BASE}/files/pin/${cid}`, { ...json({}), body })
        assert.equal(answer.status, 201, body)
        await actor.request('DELETE', `${BASE}/files/remove/${cid}`)
        await actor.request('POST', `${BASE}/files`, fileForm('dialects'))
      }
      assert.equal((await actor.request('POST', `${BASE}/files/pin/${cid}`, json([1]))).status, 400)
    },
  },
  {
    id: 'dialects-long-fields',
    name: 'MUST refuse overlong fields and name them',
    run: async world => {
      const actor = await world.actor()
      const cid = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
      const bodies = {
        customName: { customName: 'x'.repeat(5_000) },
        'origins.0': { origins: ['https://a.example/'.padEnd(2_000, '/')] },
        origins: { origins: Array.from({ length: 33 }, () => 'https://a.example') },
        'origins must not have more than 32': { origins: Array.from({ length: 9_000 }, () => 1) },
      }
      for (const [field, body] of Object.entries(bodies)) {
        const answer = await actor.request('POST', `${BASE}/files/pin/${cid}`, json(body))
        assert.equal(answer.status, 400, field)
        assert.equal(answer.json.code, 'VALIDATION')
        assert.ok(answer.json.message.startsWith(`${field} `), answer.json.message)
      }
    },
  },
  {
    id: 'dialects-empty-file',
    name: 'MUST ignore a file part without name and content',
    run: async world => {
      const actor = await world.actor()
      const chosen = (filename: string, content: string) => ({ name: 'file', filename, content })
      const upload = (...parts: ReturnType<typeof chosen>[]) => actor.request('POST', `${BASE}/files`, form(parts))
      assert.equal((await upload(chosen('', ''))).status, 400)
      assert.equal((await upload(chosen('', 'bytes'))).status, 201)
      assert.equal((await upload(chosen('empty', ''))).status, 201)
      assert.equal((await upload(chosen('', ''), chosen('a', 'a'), chosen('', ''))).status, 201)
      const { uploads } = (await actor.request('GET', `${BASE}/users/me/uploads`)).json
      assert.equal(uploads.length, 3)
    },
  },
  {
    id: 'dialects-encoded-body',
    name: 'MUST refuse a Content-Encoding on bodies and a Content-Transfer-Encoding on parts',
    run: async world => {
      const actor = await world.actor()
      const { headers, body } = fileForm('x')
      for (const [encoding, status] of [
        ['gzip', 415],
        ['identity', 201],
      ] as const) {
        const answer = await actor.request('POST', `${BASE}/files`, {
          headers: { ...headers, 'content-encoding': encoding },
          body,
        })
        assert.equal(answer.status, status, encoding)
      }
      const bodyless = await actor.request('GET', `${BASE}/users/me`, { headers: { 'content-encoding': 'gzip' } })
      assert.equal(bodyless.status, 200)
      const boundary = FORM_TYPE.slice(FORM_TYPE.indexOf('=') + 1)
      const encoded = (encoding: string) =>
        [
          `--${boundary}`,
          'Content-Disposition: form-data; name="file"; filename="f"',
          `Content-Transfer-Encoding: ${encoding}`,
          '',
          'eA==',
          `--${boundary}--`,
          '',
        ].join('\r\n')
      for (const [encoding, status] of [
        ['base64', 400],
        ['quoted-printable', 400],
        ['Binary', 201],
        ['8bit', 200],
      ] as const) {
        const answer = await actor.request('POST', `${BASE}/files`, {
          headers: { 'content-type': FORM_TYPE },
          body: encoded(encoding),
        })
        assert.equal(answer.status, status, encoding)
      }
    },
  },
  {
    id: 'dialects-queries',
    name: 'MUST ignore unknown query parameters and refuse repeated known ones',
    run: async world => {
      const actor = await world.actor()
      assert.equal((await actor.request('GET', `${BASE}/users/me/uploads?color=red&color=blue&limit=1`)).status, 200)
      const twice = await actor.request('GET', `${BASE}/users/me/uploads?limit=1&limit=1`)
      assert.equal(twice.status, 400)
      assert.equal(twice.json.code, 'VALIDATION')
      assert.ok(twice.json.message.startsWith('limit '), twice.json.message)
    },
  },
  {
    id: 'dialects-nosniff',
    name: 'MUST send X-Content-Type-Options: nosniff with every answer',
    run: async world => {
      const actor = await world.actor()
      for (const path of ['', '/users/me', '/nothing', '/docs', '/openapi.json']) {
        const answer = await actor.request('GET', `${BASE}${path}`)
        assert.equal(answer.header('x-content-type-options'), 'nosniff', path)
      }
    },
  },
]
