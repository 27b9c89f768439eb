// Reads the CIDs of its standard input through the router in its first argument. Prints the number of right texts.
import { text } from 'node:stream/consumers'
import { createVerifiedFetch } from '@helia/verified-fetch'

const [router = ''] = process.argv.slice(2)
const cids = (await text(process.stdin)).split('\n')
const verifiedFetch = await createVerifiedFetch({
  gateways: [],
  routers: [router],
  // Without transports, the only way to content is HTTP.
  libp2pConfig: { addresses: { listen: [] }, transports: [] },
})
let read = 0
for (const [i, cid] of cids.entries()) {
  const answer = await verifiedFetch(`ipfs://${cid}`, { signal: AbortSignal.timeout(30_000) })
  if ((await answer.text()) === `pin ${i}`) read++
}
await verifiedFetch.stop()
process.stdout.write(String(read))
process.exit()
