import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FleetLoad, restartInTurn } from '../../support/fleet-load.ts'
import { type NodeProcess, openNodeProcesses } from '../../support/fleet-processes.ts'
import { type FleetProxy, hasProxy, PROXIES, type ProxyName, startFleetProxy } from '../../support/fleet-proxy.ts'
import { needs } from '../../support/needs.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'

const isHeavy = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''
const options = isHeavy ? needsPostgres : needs(false, 'rolling restarts run with HOLDFAST_TEST_HEAVY=1 only')
/** The default of the server. */
const DRAIN_SECONDS = Number(process.env.DRAIN ?? 120)
/** The stop of a node may take the whole drain, and its start and the last answers take a while. */
const PER_NODE_MS = (DRAIN_SECONDS + 120) * 1_000
/** Statuses of the proxy itself. The free nginx does not notice that a node is stopping. */
const OF_PROXY = /broken|proxy/
/** Answers to wait for. Longer than the checks and pauses of each proxy. */
const MANY = 300

const countsOf = (answers: Awaited<ReturnType<FleetLoad['end']>>) =>
  Object.fromEntries(Object.entries(answers).map(([kind, { counts }]) => [kind, counts]))

/** Each request to a node that is stopped makes an error of nginx. The others would not be seen among them. */
const rareErrors = (proxy: FleetProxy): string[] =>
  proxy
    .errors()
    .filter(line => !line.includes('Connection refused'))
    .slice(0, 40)

describe.each([2, 3] as const)('%d nodes under load', options, count => {
  let postgres: TestPostgres
  let fleet: Awaited<ReturnType<typeof openNodeProcesses>>
  const clusters = ['first', 'second', 'third'].slice(0, count)
  beforeAll(async () => {
    postgres = await startPostgres()
    fleet = await openNodeProcesses(await postgres.fresh(), { trustedProxies: 1 }, count)
    for (const node of fleet.nodes) {
      await node.kill()
      node.drainSeconds = DRAIN_SECONDS
      await node.start()
    }
  }, 240_000)
  afterAll(async () => {
    await fleet?.close()
    await postgres?.stop()
  })

  const behind = async (
    name: ProxyName,
    run: (load: FleetLoad, proxy: FleetProxy) => Promise<void>,
    loaded = clusters,
  ): Promise<void> => {
    const proxy = await startFleetProxy(name, fleet.nodes)
    try {
      await run(new FleetLoad(fleet.a, proxy, loaded), proxy)
    } finally {
      await proxy.stop()
    }
  }

  for (const name of PROXIES) {
    const options = { timeout: (count + 1) * PER_NODE_MS, ...needs(hasProxy(name), `there is no ${name}`) }

    test(`restart one by one without an error of the proxy: ${name}`, options, async () => {
      await behind(name, async (load, proxy) => {
        load.start()
        await load.startReading()
        await restartInTurn(load, fleet.nodes)
        const answers = await load.end()
        console.log(count, name, 'restarts', JSON.stringify(answers), rareErrors(proxy))
        const { list, ...uploads } = countsOf(answers)
        expect(Object.keys(list ?? {})).toEqual(['200'])
        const found = Object.values(uploads).flatMap(counts => Object.keys(counts))
        expect(found.filter(status => OF_PROXY.test(status))).toEqual([])
      })
    })

    test(`serve content while the database is stopped: ${name}`, options, async () => {
      await behind(name, async (load, proxy) => {
        await load.startReading()
        load.beginDownloads()
        await load.more('read', MANY)
        await postgres.crash()
        for (const { url } of fleet.nodes) await expect.poll(async () => (await fetch(`${url}/ready`)).status).toBe(503)
        await load.more('read', MANY)
        await load.more('download', count)
        await postgres.start()
        for (const { url } of fleet.nodes) await expect.poll(async () => (await fetch(`${url}/ready`)).status).toBe(200)
        const answers = await load.end()
        console.log(count, name, 'stopped database', JSON.stringify(answers), rareErrors(proxy))
        expect(Object.values(countsOf(answers)).flatMap(Object.keys)).toEqual(['200', '200'])
      })
    })

    test(`lose no other node when one is killed: ${name}`, options, async () => {
      const killed = fleet.nodes.at(-1) as NodeProcess
      await behind(name, async (load, proxy) => {
        load.start()
        await load.more('upload', MANY)
        await killed.kill()
        await load.more('upload', MANY)
        const answers = await load.end()
        console.log(count, name, 'killed', JSON.stringify(answers), rareErrors(proxy))
        await killed.start()
        const { list, ...uploads } = countsOf(answers)
        expect(Object.keys(list ?? {})).toEqual(['200'])
        // An upload that the node had begun is 502, or broken off. None is refused for want of a node.
        expect(Object.values(uploads).flatMap(Object.keys)).not.toContain('503 proxy')
      })
    })

    const title = name === 'nginx' ? 'hold requests' : 'hold no request'
    test(`${title} while one of them hangs: ${name}`, options, async () => {
      const { a, b } = fleet
      await behind(
        name,
        async load => {
          load.start()
          b.server.signal('SIGSTOP')
          await new Promise(resolve => setTimeout(resolve, 15_000))
          const ended = load.end()
          const isHeld = await Promise.race([ended.then(() => false), new Promise(r => setTimeout(r, 20_000, true))])
          b.server.signal('SIGCONT')
          console.log(count, name, 'halted', { isHeld }, JSON.stringify(await ended))
          expect(isHeld).toBe(name === 'nginx')
        },
        // In Caddy and nginx, an upload that a node has accepted waits until the node continues.
        name === 'haproxy' ? ['first'] : [],
      )
      await expect.poll(async () => (await fetch(`${a.url}/ready`)).status).toBe(200)
    })
  }
})
