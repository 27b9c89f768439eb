import assert from 'node:assert/strict'
import * as dagCbor from '@ipld/dag-cbor'
import { CID } from 'multiformats/cid'
import { CODEC } from '../../src/ipld/cid.ts'
import { carOf, headerOf, sectionOf, version2 } from '../content/car/support/cars.ts'
import { blockOf, directoryOf, identityBlock, joined, leaf, leaves, randomFile } from '../pins/fetches/support/dags.ts'
import { pseudoRandom } from '../support/bytes.ts'
import {
  type Actor,
  type Answer,
  type Audit,
  assertError,
  assertNothingKept,
  BASE,
  DAY_MS,
  expectStatus,
  form,
  type RequestOptions,
} from './world.ts'

const CAR_TYPE = 'application/vnd.ipld.car'

function send(account: Actor, car: Uint8Array, options: RequestOptions = {}, query = ''): Promise<Answer> {
  const headers = { 'content-type': `${CAR_TYPE}; version=1`, ...options.headers }
  return account.request('POST', `${BASE}/files/car${query}`, { ...options, headers, body: car })
}

function carForm(car: Uint8Array, fields: Record<string, string>, filename = 'backup.CAR'): RequestOptions {
  const texts = Object.entries(fields).map(([name, content]) => ({ name, content }))
  return form([{ name: 'file', filename, content: car, type: 'application/octet-stream' }, ...texts])
}

/** POST /files/car, beyond the frozen contract. */
export const carAudits: readonly Audit[] = [
  {
    id: 'car.created',
    name: "MUST answer 201 with the root's record, and 200 to a repeat",
    async run({ actor, client }) {
      const account = await actor()
      const words = leaf(Buffer.from('words in a CAR'))
      const dag = directoryOf({ words, more: randomFile(2, 30_000, 'car.created') })
      const car = await carOf([dag.root], dag.blocks)
      const { json: made } = await expectStatus(send(account, car), 201)
      const { roots, ...record } = made
      assert.equal(record.cid, dag.root.toString())
      assert.equal(record.clusterId, 'cl0-global')
      assert.equal(record.expiresAt, null)
      assert.equal(record.status, 'pinned')
      assert.equal(record.type, 'directory')
      assert.equal(record.size, dag.size)
      assert.deepEqual(roots, [{ ...record, missing: null }])
      const served = await client.request('GET', `/ipfs/${record.cid}/words`)
      assert.equal(served.body.toString(), 'words in a CAR')
      assert.deepEqual((await expectStatus(send(account, car), 200)).json, made)
      const listed = await account.request('GET', `${BASE}/users/me/uploads?parentCid=${record.cid}`)
      assert.deepEqual(listed.json.uploads.map(({ path }: { path: string }) => path).sort(), ['more', 'words'])
    },
  },
  {
    id: 'car.roots',
    name: 'MUST create a record for every root, also for CAR version 2',
    async run({ actor }) {
      const account = await actor()
      const dags = leaves(3, 1_000, 'car.roots')
      const roots = dags.map(({ root }) => root)
      const inner = await carOf(
        roots,
        dags.flatMap(({ blocks }) => blocks),
      )
      const { json: made } = await expectStatus(send(account, version2(inner), { chunked: true }), 201)
      assert.deepEqual(
        made.roots.map(({ cid }: { cid: string }) => cid),
        roots.map(root => root.toString()),
      )
      assert.equal((await account.request('GET', `${BASE}/users/me/uploads`)).json.total, 3)
    },
  },
  {
    id: 'car.form',
    name: 'MUST accept a form with fields after the file, named after it',
    async run({ actor, now }) {
      const account = await actor()
      const dag = randomFile(2, 30_000, 'car.form')
      const timelock = new Date(now() + DAY_MS).toISOString()
      const options = carForm(await carOf([dag.root], dag.blocks), { cl: 'cl1-eu', timelock })
      const { json: made } = await expectStatus(account.request('POST', `${BASE}/files/car`, options), 201)
      assert.equal(made.clusterId, 'cl1-eu')
      assert.equal(made.expiresAt, timelock)
      assert.equal(made.name, 'backup')
      assert.equal(made.type, 'file')
      assertError(await account.request('POST', `${BASE}/files/car`, form([])), 400, 'VALIDATION', 'file')
    },
  },
  {
    id: 'car.target',
    name: 'MUST read cluster and expiry from header and query',
    async run({ actor, now }) {
      const account = await actor()
      const dag = randomFile(2, 30_000, 'car.target')
      const car = await carOf([dag.root], dag.blocks)
      const timelock = new Date(now() + DAY_MS).toISOString()
      const query = `?cl=cl2-es&timelock=${encodeURIComponent(timelock)}`
      const { json: byQuery } = await expectStatus(send(account, car, {}, query), 201)
      assert.deepEqual([byQuery.clusterId, byQuery.expiresAt], ['cl2-es', timelock])
      const { json: byHeader } = await expectStatus(
        send(account, car, { headers: { 'x-cluster': 'cl2-us' } }, query),
        201,
      )
      assert.equal(byHeader.clusterId, 'cl2-us')
      assertError(await send(account, car, { headers: { 'x-cluster': 'nowhere' } }), 403, 'CLUSTER_NOT_ALLOWED')
      assertError(await send(account, car, {}, '?timelock=tomorrow'), 400, 'INVALID_TIMELOCK')
      const free = await actor('free')
      assertError(await send(free, car, {}, query.replace('cl=cl2-es&', '')), 403, 'TIMELOCK_NOT_ALLOWED')
    },
  },
  {
    id: 'car.damaged',
    name: 'MUST answer 400 to an invalid or damaged CAR and store nothing',
    async run({ actor }) {
      const account = await actor()
      const dag = randomFile(3, 30_000, 'car.damaged')
      const car = await carOf([dag.root], dag.blocks)
      const flipped = Buffer.from(car)
      flipped[car.length - 1_000] = (flipped[car.length - 1_000] ?? 0) ^ 1
      const foreign = CID.createV1(0x78, dag.root.multihash)
      const bad: Array<[body: Uint8Array, code: string, mentioning: string]> = [
        [new Uint8Array(0), 'VALIDATION', 'empty'],
        [Buffer.from('surely no CAR at all'), 'VALIDATION', 'CAR'],
        [headerOf({ version: 3, roots: [dag.root] }), 'VALIDATION', 'version'],
        [headerOf({ version: 1, roots: [] }), 'VALIDATION', 'root'],
        [headerOf({ version: 1 }), 'VALIDATION', 'root'],
        [headerOf({ version: 1, roots: [foreign] }), 'INVALID_CID', '0x78'],
        [car.subarray(0, 20), 'VALIDATION', 'header'],
        [car.subarray(0, car.length - 1), 'VALIDATION', 'ends within'],
        [flipped, 'VALIDATION', `${dag.blocks.at(-1)?.cid}`],
        [version2(car).subarray(0, car.length), 'VALIDATION', 'ends'],
        [Buffer.concat([car, sectionOf(Buffer.from('no CID'))]), 'VALIDATION', 'CID'],
      ]
      for (const [body, code, mentioning] of bad) assertError(await send(account, body), 400, code, mentioning)
      await assertNothingKept(account)
    },
  },
  {
    id: 'car.identity',
    name: 'MUST answer 400 INVALID_CID to identity CIDs above 128 bytes (IPIP-0512)',
    async run({ actor }) {
      const account = await actor()
      const whole = identityBlock(CODEC.raw, Buffer.alloc(128, 'whole'))
      const { cid, bytes } = identityBlock(CODEC.raw, Buffer.alloc(129, 'long'))
      const linkTo = (link: CID) => blockOf(CODEC.dagCbor, dagCbor.encode({ link }))
      const json = blockOf(CODEC.dagJson, Buffer.from(`{"link":{"/":"${cid}"}}`))
      const pb = directoryOf({ page: { root: cid, blocks: [], size: 129 } })
      const beside = leaf(Buffer.from('beside a long identity CID'))
      const fine = linkTo(whole.cid)
      await expectStatus(send(account, await carOf([fine.cid, whole.cid], [fine, whole])), 201)
      for (const car of [
        await carOf([cid], []),
        await carOf([beside.root], [...beside.blocks, { cid, bytes }]),
        ...(await Promise.all([linkTo(cid), json, ...pb.blocks].map(node => carOf([node.cid], [node])))),
      ]) {
        const refused = assertError(await send(account, car), 400, 'INVALID_CID')
        assert.match(String(refused.message), /129 bytes in itself, more than the 128 bytes/)
      }
      const { json: listed } = await account.request('GET', `${BASE}/users/me/uploads`)
      assert.equal(listed.total, 2)
    },
  },
  {
    id: 'car.incomplete',
    name: 'MUST answer 400 naming a missing block, and store nothing',
    async run({ actor }) {
      const account = await actor()
      const dag = randomFile(3, 30_000, 'car.incomplete')
      const [, ...rest] = dag.blocks
      const [missing, ...others] = rest
      const rootless = await carOf([dag.root], rest)
      assertError(await send(account, rootless), 400, 'VALIDATION', `root ${dag.root} is not in it`)
      const holed = await carOf([dag.root], [...dag.blocks.slice(0, 1), ...others])
      assertError(await send(account, holed), 400, 'VALIDATION', `${missing?.cid}`)
      const foreign = blockOf(0x55, Buffer.from('of a codec that is not known'))
      const link = CID.createV1(0x78, foreign.cid.multihash)
      const node = joined(blockOf(0x71, dagCbor.encode({ link })), [])
      const car = await carOf([node.root], [...node.blocks, { cid: link, bytes: foreign.bytes }])
      assertError(await send(account, car), 400, 'INVALID_CID', '0x78')
      await assertNothingKept(account)
    },
  },
  {
    id: 'car.partial',
    name: 'MUST store partial content only on request, unpinned, without a storage quota',
    async run({ actor, client }) {
      const account = await actor()
      const dag = randomFile(3, 30_000, 'car.partial')
      const [, missing] = dag.blocks
      const car = await carOf(
        [dag.root],
        dag.blocks.filter(block => block !== missing),
      )
      const { json: made } = await expectStatus(send(account, car, {}, '?allowPartial=true'), 201)
      assert.equal(made.status, 'failed')
      assert.deepEqual(made.roots[0].missing, { blocks: 1, first: `${missing?.cid}` })
      const { json: status } = await account.request('GET', `${BASE}/status/${made.cid}`)
      assert.ok(status.reason.includes(`${missing?.cid}`), status.reason)
      assert.notEqual((await client.request('GET', `/ipfs/${made.cid}`)).status, 200)
      assertError(await send(account, car, {}, '?allowPartial=true'), 409, 'CONFLICT')
      const counted = await actor('audit-small')
      assertError(await send(counted, car, {}, '?allowPartial=true'), 403, 'NOT_OFFERED')
    },
  },
  {
    id: 'car.limits',
    name: "MUST enforce the plan's sizes with 413, then storage with 403",
    async run({ actor }) {
      const account = await actor('audit-small')
      const large = randomFile(3, 80_000, 'car.limits large')
      const car = await carOf([large.root], large.blocks)
      assertError(await send(account, car), 413, 'DIRECTORY_TOO_LARGE')
      assertError(await send(account, car, { chunked: true }), 413, 'DIRECTORY_TOO_LARGE')
      const file = randomFile(2, 60_000, 'car.limits file')
      assertError(await send(account, await carOf([file.root], file.blocks)), 413, 'FILE_TOO_LARGE')
      const inside = directoryOf({ file })
      assertError(await send(account, await carOf([inside.root], inside.blocks)), 413, 'FILE_TOO_LARGE')
      const many = directoryOf(Object.fromEntries(leaves(6, 10, 'car.limits').map((dag, i) => [`${i}`, dag])))
      assertError(await send(account, await carOf([many.root], many.blocks)), 413, 'DIRECTORY_TOO_LARGE')
      await assertNothingKept(account)
      const [one, two] = [0, 1].map(i =>
        directoryOf({ a: leaf(pseudoRandom(90_000, i)), b: leaf(pseudoRandom(90_000, i + 2)) }),
      )
      assert.ok(one !== undefined && two !== undefined)
      await expectStatus(send(account, await carOf([one.root], one.blocks)), 201)
      assertError(await send(account, await carOf([two.root], two.blocks)), 403, 'QUOTA_EXCEEDED')
      assert.equal((await account.request('GET', `${BASE}/users/me`)).json.usage.pins, 1)
    },
  },
  {
    id: 'car.type',
    name: 'MUST answer 415 to another Content-Type, 403 without the scope files:write',
    async run({ actor, client }) {
      const account = await actor()
      const dag = leaf(Buffer.from('car.type'))
      const car = await carOf([dag.root], dag.blocks)
      for (const type of ['application/octet-stream', 'application/json', 'text/plain']) {
        const answer = await send(account, car, { headers: { 'content-type': type } })
        assertError(answer, 415, 'UNSUPPORTED_MEDIA_TYPE', CAR_TYPE)
      }
      const reader = await account.key({ name: 'reader', scopes: ['files:read'] })
      const headers = { 'x-api-key': reader, 'content-type': CAR_TYPE }
      const refused = await client.request('POST', `${BASE}/files/car`, { headers, body: car })
      assert.equal(assertError(refused, 403, 'missing_scope').required, 'files:write')
      await assertNothingKept(account)
    },
  },
]
