import assert from 'node:assert/strict'
import { pseudoRandom } from '../support/bytes.ts'
import { assertSameHead, type GatewayAudit, get, getError } from './audit.ts'

const MIB = 1024 ** 2

/** Byte ranges. */
export const rangeAudits: readonly GatewayAudit[] = [
  {
    id: 'range.single',
    name: 'MUST serve first, middle, open, suffix and over-long ranges as 206 (RFC 9110, 14.1.2)',
    async run(context) {
      const bytes = pseudoRandom(2 * MIB + 500, 'ranges')
      const cid = await context.world.addFile(bytes)
      const cases: [string, number, number][] = [
        ['0-0', 0, 1],
        ['0-', 0, bytes.length],
        ['100-199', 100, 200],
        [`${MIB - 1}-${MIB}`, MIB - 1, MIB + 1],
        [`${MIB}-`, MIB, bytes.length],
        ['-1', bytes.length - 1, bytes.length],
        ['-1000', bytes.length - 1000, bytes.length],
        ['-99999999', 0, bytes.length],
        ['5-99999999999', 5, bytes.length],
      ]
      for (const [range, start, end] of cases) {
        const answer = await get(context, `/ipfs/${cid}`, 206, { range: `bytes=${range}` })
        assert.equal(answer.header('content-range'), `bytes ${start}-${end - 1}/${bytes.length}`)
        assert.equal(answer.header('content-length'), String(end - start))
        assert.ok(answer.body.equals(bytes.subarray(start, end)), range)
        assert.equal(answer.header('etag'), `"${cid}"`)
        assert.equal(answer.header('content-type'), 'application/octet-stream')
        await assertSameHead(context, `/ipfs/${cid}`, { range: `bytes=${range}` })
      }
    },
  },
  {
    id: 'range.unsatisfiable',
    name: 'MUST answer 416 with the length to a range outside of the content (RFC 9110, 15.5.17)',
    async run(context) {
      const cid = await context.world.addFile('0123456789')
      const empty = await context.world.addFile('')
      for (const range of ['10-', '10-20', '-0', '99-,100-']) {
        const answer = await getError(context, `/ipfs/${cid}`, 416, 'RANGE_NOT_SATISFIABLE', {
          range: `bytes=${range}`,
        })
        assert.equal(answer.header('content-range'), 'bytes */10')
      }
      const answer = await get(context, `/ipfs/${empty}`, 416, { range: 'bytes=0-' })
      assert.equal(answer.header('content-range'), 'bytes */0')
    },
  },
  {
    id: 'range.ignored',
    name: 'MUST ignore a range that is malformed, of another unit, or more than the whole (RFC 9110, 14.2)',
    async run(context) {
      const cid = await context.world.addFile('0123456789')
      const many = Array.from({ length: 40 }, () => '0-0').join(',')
      for (const range of [
        'bytes=',
        'bytes=a-b',
        'bytes=5-2',
        'bytes=--1',
        'items=0-1',
        '0-1',
        'bytes=0-9,0-9',
        `bytes=${many}`,
      ]) {
        const answer = await get(context, `/ipfs/${cid}`, 200, { range })
        assert.equal(answer.text, '0123456789', range)
      }
    },
  },
  {
    id: 'range.multiple',
    name: 'MUST serve several ranges as multipart/byteranges in the order asked (RFC 9110, 14.6)',
    async run(context) {
      const bytes = pseudoRandom(MIB + 100, 'multi')
      const cid = await context.world.addFile(bytes)
      const headers = { range: `bytes=0-9, -20, ${MIB - 5}-${MIB + 4}, 99999999-` }
      const answer = await get(context, `/ipfs/${cid}`, 206, headers)
      const boundary = /^multipart\/byteranges; boundary=(\S+)$/.exec(answer.header('content-type') ?? '')?.[1]
      assert.ok(boundary)
      assert.equal(answer.header('content-length'), String(answer.body.length))
      const size = bytes.length
      const expected = [
        [0, 10],
        [size - 20, size],
        [MIB - 5, MIB + 5],
      ].flatMap(([start = 0, end = 0], index) => [
        Buffer.from(
          `${index === 0 ? '' : '\r\n'}--${boundary}\r\nContent-Type: application/octet-stream\r\n` +
            `Content-Range: bytes ${start}-${end - 1}/${size}\r\n\r\n`,
        ),
        bytes.subarray(start, end),
      ])
      assert.ok(answer.body.equals(Buffer.concat([...expected, Buffer.from(`\r\n--${boundary}--\r\n`)])))
    },
  },
  {
    id: 'range.if-range',
    name: 'MUST serve the range only if If-Range has the same strong tag (RFC 9110, 13.1.5)',
    async run(context) {
      const cid = await context.world.addFile('0123456789')
      const range = 'bytes=2-4'
      assert.equal((await get(context, `/ipfs/${cid}`, 206, { range, 'if-range': `"${cid}"` })).text, '234')
      for (const other of ['"other"', `W/"${cid}"`, 'Tue, 01 Jan 2030 00:00:00 GMT']) {
        assert.equal((await get(context, `/ipfs/${cid}`, 200, { range, 'if-range': other })).text, '0123456789')
      }
    },
  },
]
