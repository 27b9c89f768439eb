import { expect, test } from 'vitest'
import { nodeWithFar } from '../../clusters/left-to-fetch.ts'
import { directoryOf, leaf, randomFile } from '../../pins/fetches/support/dags.ts'
import { withNet } from '../../pins/fetches/support/net.ts'
import { collect } from '../../support/bytes.ts'
import { TOKEN } from '../../support/kubo.ts'
import { viaGateway } from '../../support/read-back.ts'
import { onRealKubo, withRealKubo } from './kubo-under-test.ts'

const file = randomFile(20, 50_000, 'a Kubo fetches it')
const tree = directoryOf({ 'a.bin': file, 'b.txt': leaf(Buffer.from('the other file')) })

test.each([['the RPC'], ['its gateway']])('a Kubo fetches, counts by %s, and unpins a pin by CID', onRealKubo, how =>
  withRealKubo(({ api, gateway, lose }) =>
    withNet(async net => {
      const provider = await net.provider(tree.blocks)
      const gateways = how === 'the RPC' ? {} : { gateways: [gateway] }
      const kubo = { type: 'kubo' as const, api, authEnv: 'KUBO_AUTH', ...gateways }
      const node = await nodeWithFar(net, kubo, { KUBO_AUTH: `bearer:${TOKEN}` })
      const { account, engine } = node
      const cid = tree.root.toString()
      const { record } = await engine.pins.pin({ account, cid, cluster: 'far', origins: [provider.address] })
      expect(node.reason()).toBeNull()
      expect(record).toMatchObject({ status: 'pinned', size: tree.size })
      // This node fetches the root to find it, and Kubo fetches it, too. This node fetches nothing else.
      expect(provider.blocks.count(tree.root)).toBe(2)
      expect(provider.blocks.total).toBe(tree.blocks.length + 1)
      const expected = await collect(file.blocks.slice(1).map(({ bytes }) => bytes))
      // Kubo loses everything, and this node has no copy to send again.
      const call = (path: string) =>
        fetch(`${api}/api/v0/${path}`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}` } })
      const ours = async (): Promise<string[]> => {
        const { Keys } = (await (await call('pin/ls?type=recursive&names=true')).json()) as {
          Keys: Record<string, { Name?: string }>
        }
        return Object.keys(Keys).filter(pin => Keys[pin]?.Name?.startsWith('holdfast:'))
      }
      const [mark] = await ours()
      await (await call(`pin/rm?arg=${mark}`)).text()
      await (await call('repo/gc')).text()
      expect((await engine.reconcile()).found).toEqual({ 'pin-missing': 1, 'pin-lost': 1 })
      const status = async () => (await engine.pins.status({ account, cid }))[0]?.record.status
      await expect.poll(status, { timeout: 60_000 }).toBe('pinned')
      // Then Kubo loses one block of an existing pin.
      lose(file.blocks[2]?.cid ?? tree.root)
      expect((await engine.reconcile()).found).toEqual({ 'pin-unreadable': 1, 'pin-lost': 1 })
      await expect.poll(status, { timeout: 60_000 }).toBe('pinned')
      await provider.stop()
      expect((await viaGateway(engine, `/ipfs/${cid}/a.bin`)).bytes.equals(expected)).toBe(true)
      const pins = async () => (await ours()).length
      expect(await pins()).toBe(1)
      await engine.pins.remove({ account, cid })
      await expect.poll(pins, { timeout: 60_000 }).toBe(0)
    }),
  ),
)
