import { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { settled } from '../../src/testing/index.ts'
import { MemoryCluster } from '../clusters/memory-cluster.ts'
import { type Dag, directoryOf, leaf } from '../pins/fetches/support/dags.ts'
import { withEngine } from '../support/test-engine.ts'
import { disguise, whatLeads } from './codecs.ts'
import { withPorts } from './ports.ts'

test('the bytes of a block lead to no content of other accounts', async () => {
  await withEngine(async ({ engine, account, newAccount }) => {
    const who = { account, stranger: await newAccount(), cluster: 'cl1-eu' }
    const { secret } = await engine.keys.create(account, { name: 'own', scopes: ['files:read'] })
    const hidden = await disguise(engine, who, 'private')
    const open = await disguise(engine, who, 'public')
    await withPorts(engine, async (api, gateway) => {
      // The account reads its content, so the node has it decoded in memory.
      for (const cid of [...open.named, ...hidden.named]) {
        const answer = await fetch(`${api}/ipfs/${cid}`, { headers: { 'x-api-key': secret } })
        expect([cid, answer.status]).toEqual([cid, 200])
        await answer.arrayBuffer()
      }
      for (const base of [api, gateway]) {
        expect((await whatLeads(base, hidden)).filter(([, leads]) => leads)).toEqual([])
        expect((await whatLeads(base, open)).filter(([, leads]) => !leads)).toEqual([])
      }
      await engine.takedowns.add({ cid: open.named[1] ?? '', reason: 'a test', status: 410 })
      const below = `${open.directory}/below`
      expect((await whatLeads(gateway, open)).find(([path]) => path === below)).toEqual([below, false])
    })
  })
})

test('bytes beside a takedown lead to nothing below it', async () => {
  await withEngine(async ({ engine, account }) => {
    const text = Buffer.from('below a takedown')
    // A file of the same root, whose bytes are a directory of what the takedown is above.
    const beside = directoryOf({ 'in.txt': leaf(text), other: leaf(text) })
    const { files } = await engine.pins.uploadDirectory(
      [
        { kind: 'file', path: 'bytes', content: beside.blocks[0]?.bytes ?? '' },
        { kind: 'file', path: 'folder/in.txt', content: text },
      ],
      { account },
    )
    expect(files.map(({ cid }) => CID.parse(cid).multihash.bytes)).toContainEqual(beside.root.multihash.bytes)
    await withPorts(engine, async (_, gateway) => {
      const statusOf = async (path: string) => (await fetch(`${gateway}/ipfs/${path}`)).status
      expect(await statusOf(`${beside.root}/in.txt`)).toBe(200)
      const { root } = directoryOf({ 'in.txt': leaf(text) })
      await engine.takedowns.add({ cid: String(root), reason: 'a test', status: 410 })
      expect(await statusOf(`${beside.root}/in.txt`)).toBe(410)
    })
  })
})

test('bytes in a cluster on another system lead to nothing else', async () => {
  const clusters = [{ id: 'away', label: '', region: '', country: null, gateways: [] }]
  const away = new MemoryCluster()
  await withEngine(
    async ({ engine, account }) => {
      const upload = async (content: Uint8Array): Promise<Dag> => {
        const { record } = await engine.pins.upload(content, { account })
        await settled([engine])
        return { root: CID.parse(record.cid), blocks: [], size: content.length }
      }
      const kept = await upload(Buffer.from('kept'))
      const removed = await upload(Buffer.from('removed'))
      const bytes = directoryOf({ kept, removed })
      await upload(bytes.blocks[0]?.bytes ?? new Uint8Array())
      // The system keeps what it has, as Kubo does until it collects its garbage.
      away.unpin = async () => undefined
      await withPorts(engine, async (_, gateway) => {
        const statusOf = async (name: string) => (await fetch(`${gateway}/ipfs/${bytes.root}/${name}`)).status
        expect([await statusOf('kept'), await statusOf('removed')]).toEqual([200, 200])
        await engine.pins.remove(String(removed.root), { account })
        expect([await statusOf('kept'), await statusOf('removed')]).toEqual([200, 404])
      })
    },
    { clusters, defaultCluster: 'away', backends: { away } },
  )
})
