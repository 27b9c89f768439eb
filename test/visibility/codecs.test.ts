import { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { directoryOf, leaf } from '../pins/fetches/support/dags.ts'
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
