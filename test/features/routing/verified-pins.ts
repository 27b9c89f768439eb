import { createVerifiedFetch } from '@helia/verified-fetch'

/** Reads pins through a router, over HTTP alone. Returns how many have their text, `pin` and their place. Runs in pages, too. */
export async function countVerified(router: string, cids: readonly string[]): Promise<number> {
  const verifiedFetch = await createVerifiedFetch({
    gateways: [],
    routers: [router],
    // Without transports, the only way to content is HTTP.
    libp2pConfig: { addresses: { listen: [] }, transports: [] },
  })
  let read = 0
  for (const [i, cid] of cids.entries()) {
    const answer = await verifiedFetch(`ipfs://${cid}`, { signal: AbortSignal.timeout(120_000) })
    if ((await answer.text()) === `pin ${i}`) read++
  }
  await verifiedFetch.stop()
  return read
}
