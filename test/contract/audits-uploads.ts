import assert from 'node:assert/strict'
import {
  type Actor,
  type Answer,
  type Audit,
  assertError,
  assertNothingKept,
  BASE,
  cidOf,
  DAY_MS,
  expectStatus,
  FORM_TYPE,
  fileForm,
  form,
  type RequestOptions,
} from './world.ts'

function upload(account: Actor, options: RequestOptions, path = '/files'): Promise<Answer> {
  return account.request('POST', BASE + path, options)
}

/** Waits until the space of expired records is free again, shortly after their expiry. */
async function swept(account: Actor): Promise<void> {
  for (let tries = 0; tries < 1_000; tries++) {
    const { usage } = (await account.request('GET', `${BASE}/users/me`)).json
    if (usage.storedBytes === 0) return
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

/** POST /files. */
export const uploadAudits: readonly Audit[] = [
  {
    id: 'upload.created',
    name: 'MUST answer 201 with cid, clusterId, expiresAt and the fields clients read',
    async run({ actor, now }) {
      const account = await actor()
      const { json: made } = await expectStatus(
        upload(account, fileForm('first content', {}, 'dir/né %22a%22.txt')),
        201,
      )
      assert.equal(made.cid, await cidOf('first content'))
      assert.equal(made.clusterId, 'cl0-global')
      assert.equal(made.expiresAt, null)
      assert.equal(made.createdAt, new Date(now()).toISOString())
      assert.equal(made.status, 'pinned')
      assert.equal(made.name, 'dir/né "a".txt')
      assert.equal(made.size, 13)
      assert.match(made.uploadId, /^[\w~.-]+$/)
      assert.match(made.url, new RegExp(`^https?://.+/ipfs/${made.cid}$`))
    },
  },
  {
    id: 'upload.repeat',
    name: 'MUST answer 200 with the same record to a repeat, else 201',
    async run({ actor, now }) {
      const account = await actor()
      const { json: made } = await expectStatus(upload(account, fileForm('again')), 201)
      const { json: same } = await expectStatus(upload(account, fileForm('again')), 200)
      assert.deepEqual(same, made)
      const timelock = new Date(now() + DAY_MS).toISOString()
      const others = [
        upload(account, fileForm('again', { timelock })),
        upload(account, fileForm('again', { cl: 'cl1-eu' })),
        upload(account, fileForm('again', {}, 'another name.txt')),
        upload(await actor(), fileForm('again')),
      ]
      for (const other of others) assert.notEqual((await expectStatus(other, 201)).json.uploadId, made.uploadId)
    },
  },
  {
    id: 'upload.trailing-slash',
    name: 'MUST route a trailing slash equally',
    async run({ actor }) {
      await expectStatus(upload(await actor(), fileForm('slash'), '/files/'), 201)
    },
  },
  {
    id: 'upload.chunked',
    name: 'MUST accept a body without Content-Length',
    async run({ actor }) {
      const content = 'chunked '.repeat(20_000)
      const { json: made } = await expectStatus(upload(await actor(), { ...fileForm(content), chunked: true }), 201)
      assert.equal(made.cid, await cidOf(content))
    },
  },
  {
    id: 'upload.served',
    name: 'MUST serve uploaded content at the gateway at once',
    async run({ client, actor }) {
      const { json: made } = await expectStatus(upload(await actor(), fileForm('to be served')), 201)
      const answer = await expectStatus(client.request('GET', `/ipfs/${made.cid}`), 200)
      assert.equal(answer.body.toString(), 'to be served')
    },
  },
  {
    id: 'upload.fields',
    name: 'MUST accept cl and timelock before or after the file, ignoring others',
    async run({ actor, now }) {
      const account = await actor()
      const timelock = new Date(now() + DAY_MS).toISOString()
      const file = { name: 'file', filename: 'f', content: 'with fields' }
      const fields = [
        { name: 'cl', content: 'cl2-es' },
        { name: 'unknown', content: 'x'.repeat(10_000) },
        { name: 'timelock', content: timelock },
      ]
      const { json: made } = await expectStatus(upload(account, form([file, ...fields])), 201)
      assert.equal(made.clusterId, 'cl2-es')
      assert.equal(made.expiresAt, timelock)
      const { json: same } = await expectStatus(upload(account, form([...fields, file])), 200)
      assert.equal(same.uploadId, made.uploadId)
    },
  },
  {
    id: 'upload.cluster-precedence',
    name: "MUST prefer X-Cluster to the form's cl, and that to the query",
    async run({ actor }) {
      const account = await actor()
      const cases: [
        header: string | undefined,
        body: string | undefined,
        query: string | undefined,
        expected: string,
      ][] = [
        [undefined, undefined, undefined, 'cl0-global'],
        [undefined, undefined, 'cl1-eu', 'cl1-eu'],
        [undefined, 'cl1-na', 'cl1-eu', 'cl1-na'],
        ['cl2-de', 'cl1-na', 'cl1-eu', 'cl2-de'],
        ['', '', '', 'cl0-global'],
        ['', '', 'cl1-eu', 'cl1-eu'],
        ['', 'cl1-na', '', 'cl1-na'],
      ]
      for (const [index, [header, body, query, expected]] of cases.entries()) {
        const options = fileForm(`precedence ${index}`, body === undefined ? {} : { cl: body })
        const headers = { ...options.headers, ...(header === undefined ? {} : { 'x-cluster': header }) }
        const path = query === undefined ? '/files' : `/files?cl=${query}`
        const { json: made } = await expectStatus(upload(account, { ...options, headers }, path), 201)
        assert.equal(made.clusterId, expected, `case ${index}`)
      }
    },
  },
  {
    id: 'upload.cluster-refused',
    name: 'MUST refuse unknown and forbidden clusters with the same 403, storing nothing',
    async run({ client, actor }) {
      const account = await actor('free')
      const messages = new Set<unknown>()
      for (const cl of ['cl1-eu', 'no-such-cluster']) {
        const inForm = fileForm(`refused ${cl}`, { cl })
        const inHeader = fileForm('refused')
        inHeader.headers['x-cluster'] = cl
        for (const answer of [
          await upload(account, inForm),
          await upload(account, inHeader),
          await upload(account, fileForm('refused'), `/files?cl=${cl}`),
        ]) {
          messages.add(assertError(answer, 403, 'CLUSTER_NOT_ALLOWED').message)
        }
        const gone = await client.request('GET', `/ipfs/${await cidOf(`refused ${cl}`)}`)
        assert.equal(gone.status, 404)
      }
      assert.equal(messages.size, 1)
      await assertNothingKept(account)
    },
  },
  {
    id: 'upload.timelock',
    name: 'MUST parse timelocks by RFC 3339 and print UTC with milliseconds',
    async run({ actor }) {
      const account = await actor('premium')
      const cases = [
        ['2031-05-06T07:08:09Z', '2031-05-06T07:08:09.000Z'],
        ['2031-05-06T07:08:09', '2031-05-06T07:08:09.000Z'],
        ['2031-05-06T07:08:09.5+02:00', '2031-05-06T05:08:09.500Z'],
        ['', null],
      ] as const
      for (const [timelock, expected] of cases) {
        const { json: made } = await expectStatus(upload(account, fileForm(`timelock ${timelock}`, { timelock })), 201)
        assert.equal(made.expiresAt, expected)
      }
    },
  },
  {
    id: 'upload.timelock-invalid',
    name: 'MUST refuse an invalid timelock with 400, one outside the plan with 403',
    async run({ actor, now }) {
      const invalid = [
        '2031-05-06',
        'tomorrow',
        '2031-02-30T00:00:00Z',
        '2031-05-06T25:00:00Z',
        new Date(now()).toISOString(),
        '2001-01-01T00:00:00Z',
        '2199-01-01T00:00:00Z',
      ]
      for (const plan of ['premium', 'free']) {
        const account = await actor(plan)
        for (const timelock of invalid) {
          assertError(await upload(account, fileForm('invalid', { timelock })), 400, 'INVALID_TIMELOCK', 'timelock')
        }
        if (plan === 'free') {
          const timelock = new Date(now() + DAY_MS).toISOString()
          assertError(await upload(account, fileForm('free', { timelock })), 403, 'TIMELOCK_NOT_ALLOWED', 'timelock')
        }
        await assertNothingKept(account)
      }
    },
  },
  {
    id: 'upload.expiry',
    name: 'MUST hide a timelocked upload from list and gateway at its expiry',
    async run({ client, actor, advance, now }) {
      const account = await actor()
      const timelock = new Date(now() + 60_000).toISOString()
      const { json: made } = await expectStatus(upload(account, fileForm('soon gone', { timelock })), 201)
      await advance(59_999)
      assert.equal((await account.request('GET', `${BASE}/users/me/uploads`)).json.total, 1)
      await expectStatus(client.request('GET', `/ipfs/${made.cid}`), 200)
      await advance(1)
      assert.equal((await client.request('GET', `/ipfs/${made.cid}`)).status, 404)
      assert.equal((await account.request('GET', `${BASE}/users/me/uploads`)).json.total, 0)
      await swept(account)
      await assertNothingKept(account)
      assertError(await account.request('DELETE', `${BASE}/files/remove/${made.cid}`), 404, 'PIN_NOT_FOUND')
    },
  },
  {
    id: 'upload.empty-file',
    name: 'MUST accept an empty file, and one without a name',
    async run({ actor }) {
      const account = await actor()
      const { json: made } = await expectStatus(upload(account, fileForm('', {}, 'empty')), 201)
      assert.equal(made.cid, await cidOf(''))
      assert.equal(made.size, 0)
      const { json: nameless } = await expectStatus(upload(account, fileForm('nameless', {}, '')), 201)
      assert.equal(nameless.name, nameless.cid)
    },
  },
  {
    id: 'upload.one-file',
    name: 'MUST refuse a form without exactly one file with 400, storing nothing',
    async run({ actor }) {
      const account = await actor()
      const file = { name: 'file', filename: 'f', content: 'one' }
      const forms = [
        form([]),
        form([{ name: 'cl', content: 'cl0-global' }]),
        form([{ name: 'file', content: 'a text field' }]),
        form([file, file]),
        form([file, { name: 'cl', content: 'cl0-global' }, { ...file, content: 'two' }]),
        form([{ name: 'upload', filename: 'f', content: 'x' }]),
      ]
      for (const options of forms) assertError(await upload(account, options), 400, 'VALIDATION', 'file')
      await assertNothingKept(account)
    },
  },
  {
    id: 'upload.malformed',
    name: 'MUST refuse a malformed or truncated form with 400, storing nothing',
    async run({ actor }) {
      const account = await actor()
      const whole = fileForm('malformed').body
      const bodies = [
        whole.subarray(0, whole.length - 10),
        whole.subarray(0, 90),
        Buffer.from('no form at all'),
        Buffer.alloc(0),
        Buffer.from(whole.toString().replace('Content-Disposition', 'Content-Nothing')),
      ]
      for (const body of bodies) {
        assertError(await upload(account, { headers: { 'content-type': FORM_TYPE }, body }), 400, 'VALIDATION')
      }
      const noBoundary = { headers: { 'content-type': 'multipart/form-data' }, body: whole }
      assertError(await upload(account, noBoundary), 400, 'VALIDATION', 'boundary')
      await assertNothingKept(account)
    },
  },
  {
    id: 'upload.large-field',
    name: 'MUST refuse a text field of a megabyte with 400, naming it',
    async run({ actor }) {
      const account = await actor()
      const options = fileForm('large field', { timelock: 'x'.repeat(1_000_000) })
      assertError(await upload(account, options), 400, 'VALIDATION', 'timelock')
      await assertNothingKept(account)
    },
  },
]
