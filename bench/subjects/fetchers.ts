import { join } from 'node:path'
import { withBitswap } from '@helia/bitswap'
import { withLibp2pLight } from '@helia/libp2p'
import { identify } from '@libp2p/identify'
import { noise } from '@libp2p/noise'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { multiaddr } from '@multiformats/multiaddr'
import { FsBlockstore } from 'blockstore-fs'
import { LevelDatastore } from 'datastore-level'
import { createHeliaLight } from 'helia'
import { CID } from 'multiformats/cid'
import { createEngine } from '../../src/index.ts'
import type { Subject } from '../contest.ts'
import type { HeldWork, Holder } from '../provider.ts'
import { kuboKinds } from '../services/kubo.ts'

/** Longer than any round takes. */
const PATIENCE_SECONDS = 3_600

/** Pins by CID in the engine of this process, and answers when the pin is durable. */
export function engineFetch(name: string, provider: Holder): Subject<HeldWork> {
  return {
    name,
    async start(dir) {
      const engine = await createEngine({
        dataDir: dir,
        network: { enabled: true, peers: [provider.address] },
        pin: { findTimeoutSeconds: PATIENCE_SECONDS, waitSeconds: PATIENCE_SECONDS },
        threadPoolSize: Number(process.env.UV_THREADPOOL_SIZE ?? 4),
      })
      const account = await engine.accounts.create({ email: 'bench@example.org', plan: 'unlimited' })
      return {
        prepare: async work => {
          await work.held()
        },
        async run(work) {
          const { record } = await engine.pins.pin({ account: account.id, cid: await work.held() })
          if (record.status !== 'pinned') throw new Error(`the pin is ${record.status}`)
          return { cid: record.cid }
        },
        stop: () => engine.stop(),
      }
    },
  }
}

/**
 * Runs `pins.add` of plain Helia on files and LevelDB, with its default Bitswap. libp2p has only the parts needed on
 * this machine.
 */
export function heliaFetch(provider: Holder): Subject<HeldWork> {
  return {
    name: 'helia',
    async start(dir) {
      const blockstore = new FsBlockstore(join(dir, 'blocks'))
      const datastore = new LevelDatastore(join(dir, 'datastore'))
      await blockstore.open()
      await datastore.open()
      const helia = withBitswap(
        withLibp2pLight(createHeliaLight({ blockstore, datastore }), {
          addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
          transports: [tcp()],
          connectionEncrypters: [noise()],
          streamMuxers: [yamux()],
          services: { identify: identify() },
        }),
      )
      await helia.start()
      await helia.libp2p.dial(multiaddr(provider.address))
      return {
        prepare: async work => {
          await work.held()
        },
        async run(work) {
          const cid = await work.held()
          // Helia pins while its progress is read.
          for await (const _pinned of helia.pins.add(CID.parse(cid)));
          return { cid }
        },
        async stop() {
          await helia.stop()
          await blockstore.close()
          await datastore.close()
        },
      }
    },
  }
}

export function kuboFetchers(provider: Holder): Subject<HeldWork>[] {
  return kuboKinds()
    .filter(({ name }) => name !== 'kubo-sync')
    .map(({ name, start }) => ({
      name,
      async start(dir) {
        const kubo = await start(dir)
        await kubo.connect(provider.address)
        return {
          pids: kubo.pids,
          prepare: async work => {
            await work.held()
          },
          async run(work) {
            const cid = await work.held()
            await kubo.pin(cid)
            return { cid }
          },
          stop: () => kubo.stop(),
        }
      },
    }))
}
