import assert from 'node:assert/strict'
import {
  type Actor,
  type Answer,
  type Audit,
  assertError,
  assertNothingKept,
  BASE,
  directoryForm,
  expectStatus,
  fileForm,
  type RequestOptions,
} from './world.ts'

function upload(account: Actor, options: RequestOptions): Promise<Answer> {
  return account.request('POST', `${BASE}/files`, options)
}

function dag(account: Actor, options: RequestOptions): Promise<Answer> {
  return account.request('POST', `${BASE}/files/directory-dag`, options)
}

/** Limits of a plan: sizes, storage and number of pins. */
export const planAudits: readonly Audit[] = [
  {
    id: 'upload.too-large',
    name: 'MUST accept a file of exactly the limit, and answer 413 above it',
    async run({ actor }) {
      const account = await actor('audit-small')
      for (const [length, chunked] of [
        [100_001, false],
        [100_001, true],
        [500_000, false],
        [2_000_000, true],
      ] as const) {
        const options = { ...fileForm(new Uint8Array(length)), chunked }
        assertError(await upload(account, options), 413, 'FILE_TOO_LARGE')
      }
      await assertNothingKept(account)
      await expectStatus(upload(account, fileForm(new Uint8Array(100_000))), 201)
    },
  },
  {
    id: 'upload.quota',
    name: "MUST answer 403 QUOTA_EXCEEDED above the plan's storage, after checking the size",
    async run({ actor }) {
      const account = await actor('audit-small')
      await expectStatus(upload(account, fileForm(new Uint8Array(100_000).fill(1))), 201)
      // A second record of the same content needs no more storage.
      await expectStatus(upload(account, fileForm(new Uint8Array(100_000).fill(1), { cl: 'cl1-eu' })), 201)
      assert.deepEqual((await account.request('GET', `${BASE}/users/me`)).json.usage, {
        pins: 2,
        storedBytes: 100_000,
        keptBytes: 0,
      })
      await expectStatus(upload(account, fileForm(new Uint8Array(100_000).fill(2))), 201)
      for (const chunked of [false, true]) {
        const options = { ...fileForm(new Uint8Array(60_000).fill(3)), chunked }
        assertError(await upload(account, options), 403, 'QUOTA_EXCEEDED')
      }
      assertError(await upload(account, fileForm(new Uint8Array(500_000))), 413, 'FILE_TOO_LARGE')
      await expectStatus(upload(account, fileForm(new Uint8Array(50_000).fill(4))), 201)
    },
  },
  {
    id: 'upload.max-pins',
    name: "MUST answer 403 QUOTA_EXCEEDED above the plan's number of pins",
    async run({ actor }) {
      const account = await actor('audit-small')
      for (let made = 0; made < 4; made++) await expectStatus(upload(account, fileForm(`pin ${made}`)), 201)
      assertError(await upload(account, fileForm('one more')), 403, 'QUOTA_EXCEEDED')
      await expectStatus(upload(account, fileForm('pin 0')), 200)
    },
  },
  {
    id: 'directory-dag.limits',
    name: 'MUST answer 413 to a file or a directory above its limit',
    async run({ actor }) {
      const account = await actor('audit-small')
      const big = new Uint8Array(100_000)
      const cases: [Record<string, Uint8Array>, string][] = [
        [{ a: new Uint8Array(100_001) }, 'FILE_TOO_LARGE'],
        [{ a: big, b: big.slice().fill(1), c: new Uint8Array(1) }, 'DIRECTORY_TOO_LARGE'],
        [Object.fromEntries([1, 2, 3, 4, 5, 6].map(n => [`f${n}`, new Uint8Array(n)])), 'DIRECTORY_TOO_LARGE'],
      ]
      for (const [files, code] of cases) {
        for (const chunked of [false, true]) {
          assertError(await dag(account, { ...directoryForm(files), chunked }), 413, code)
        }
      }
      assert.equal((await account.request('GET', `${BASE}/users/me/uploads`)).json.total, 0)
      await expectStatus(dag(account, directoryForm({ a: big, b: new Uint8Array(10) })), 201)
    },
  },
]
