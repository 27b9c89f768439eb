import { expect, test } from 'vitest'
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
