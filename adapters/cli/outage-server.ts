import { createEngine, type Engine, type EngineOptions, isHoldfastError, type Logger } from '../../src/index.ts'
import { type OutageReading, openOutageReading } from '../../src/wiring/outage-reading.ts'
import { createGatewayServer } from '../node-http/index.ts'
import { listen } from './listener.ts'
import { sleep } from './real-time.ts'
import type { ServerSettings } from './settings.ts'

/** Interval in ms at which the server looks for its database. */
const LOOK_MS = 1_000

type Where = Pick<ServerSettings, 'host' | 'port' | 'gatewayPort'>

/**
 * Starts an engine. In an outage of its database, serves public content of this node until the database answers.
 *
 * @returns null if `stopped` resolves first
 * @throws HoldfastError as `createEngine` does, also in an outage in which the node may serve nothing
 */
export async function engineOrOutage(
  options: EngineOptions & { logger: Logger },
  where: Where,
  stopped: Promise<unknown>,
): Promise<Engine | null> {
  let isStopped = false
  void stopped.then(() => {
    isStopped = true
  })
  while (!isStopped) {
    try {
      return await createEngine(options)
    } catch (error) {
      const mayServe = isHoldfastError(error, 'UNAVAILABLE') && where.gatewayPort !== null
      const reading = mayServe ? await openOutageReading(options) : null
      if (reading === null) throw error
      await serveUntil(async () => isStopped || (await reading.isOver()), reading, options.logger, where)
    }
  }
  return null
}

async function serveUntil(
  isOver: () => Promise<boolean>,
  reading: OutageReading,
  logger: Logger,
  { host, port, gatewayPort }: Where,
): Promise<void> {
  const [gateway, api] = [createGatewayServer(reading.gateway), createGatewayServer(reading.api)]
  try {
    const ports = { gateway: await listen(gateway, host, gatewayPort ?? 0), api: await listen(api, host, port) }
    logger.warn(ports, 'the database cannot be reached: only public content of this node is served')
    while (!(await isOver())) await sleep(LOOK_MS)
  } finally {
    for (const server of [gateway, api]) server.close().closeAllConnections()
    reading.close()
  }
}
