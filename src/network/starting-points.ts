import type { IdentifyResult, Libp2p } from '@libp2p/interface'
import type { Clock } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'
import type { PeerAddress } from './addresses.ts'
import type { Dialler } from './dialler.ts'
import type { GoodPeers } from './good-peers.ts'
import type { NetworkSettings } from './network-settings.ts'
import { leadsInside } from './public-addresses.ts'

/** Time between two checks while the node has peers. Without peers, the node dials with exponential backoff. */
const CHECK_EVERY_MS = 60_000
const FIRST_PAUSE_MS = 5_000
const LONGEST_PAUSE_MS = 600_000
const REMEMBERED_AT_ONCE = 8

export interface StartingPointsParts {
  libp2p: Libp2p
  settings: NetworkSettings
  good: GoodPeers
  dialler: Dialler
  clock: Clock
  logger: Logger
}

/**
 * Connects through bootstrap nodes and remembered peers, and reconnects when all peers are lost. Logs once when the
 * node has no peers on the public network, and once when the node has peers again.
 */
export class StartingPoints {
  readonly #parts: StartingPointsParts
  #cancelTimer: () => void = () => undefined
  #stopped = false
  #rounds = 0
  #next = 0
  #isAlone = false

  constructor(parts: StartingPointsParts) {
    this.#parts = parts
  }

  /** True if the node is part of the public network, has tried to connect, and has no peers. */
  get isAlone(): boolean {
    return this.#isAlone && this.#parts.libp2p.getPeers().length === 0
  }

  start(): void {
    const { libp2p, settings, good, logger } = this.#parts
    // Without routers and bootstrap nodes, only configured peers and inbound connections are used.
    if (settings.dht === 'off' && settings.bootstrap.length === 0) return
    libp2p.addEventListener('peer:identify', this.#onIdentify)
    if (settings.isPublic && settings.usesOnlyPublicBootstrap) {
      const advice = 'name peers of your own in network.peers'
      logger.warn(
        { remembered: good.size },
        `network.preset public uses bootstrap nodes of other operators, which may be switched off: ${advice}`,
      )
    }
    this.#dial()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    this.#parts.libp2p.removeEventListener('peer:identify', this.#onIdentify)
    await this.#parts.good.save()
  }

  /** Remembers a peer only if this node dialled it. The address of an inbound peer may be the address of its NAT. */
  readonly #onIdentify = ({ detail: { peerId, protocols, connection } }: CustomEvent<IdentifyResult>): void => {
    const { settings, good, clock } = this.#parts
    const { remoteAddr, direction } = connection
    const isRouter = protocols.includes(settings.dhtProtocol)
    const isInside = settings.isPublic && !settings.allowPrivateOrigins && leadsInside(remoteAddr)
    if (direction !== 'outbound' || !isRouter || isInside) return
    const id = peerId.toString()
    good.answered(id, addressOf(remoteAddr.toString(), id), clock.now())
  }

  #dial(): void {
    const { settings, dialler } = this.#parts
    this.#rounds++
    const points: PeerAddress[] = [...settings.bootstrap, ...this.#remembered()]
    const dials = points.map(peer => dialler.connect(peer))
    void Promise.all(dials).then(() => this.#checkLater(FIRST_PAUSE_MS * 2 ** (this.#rounds - 1)))
  }

  #remembered(): PeerAddress[] {
    const { good, settings } = this.#parts
    const all = good.addresses()
    const some = all.slice(this.#next, this.#next + REMEMBERED_AT_ONCE)
    this.#next = this.#next + REMEMBERED_AT_ONCE < all.length ? this.#next + REMEMBERED_AT_ONCE : 0
    const publicOnly = settings.isPublic && !settings.allowPrivateOrigins
    return some.map(peer => ({ ...peer, publicOnly }))
  }

  #checkLater(ms: number): void {
    if (this.#stopped) return
    this.#logReach()
    const pause = this.#isReached() ? CHECK_EVERY_MS : Math.min(ms, LONGEST_PAUSE_MS)
    this.#cancelTimer = this.#parts.clock.after(pause, () => this.#check())
  }

  #check(): void {
    const { libp2p, good, clock, logger } = this.#parts
    if (!this.#isReached()) {
      this.#dial()
      return
    }
    this.#rounds = 0
    this.#next = 0
    // A peer that is still connected counts as having answered now.
    for (const { id } of good.addresses()) {
      const open = libp2p.getConnections(id).find(({ direction }) => direction === 'outbound')
      if (open !== undefined)
        good.answered(id.toString(), addressOf(open.remoteAddr.toString(), id.toString()), clock.now())
    }
    good.save().catch((error: unknown) => logger.warn({ err: error }, 'cannot save the remembered peers'))
    this.#checkLater(CHECK_EVERY_MS)
  }

  #isReached(): boolean {
    return this.#parts.libp2p.getPeers().length > 0
  }

  #logReach(): void {
    const { settings, logger } = this.#parts
    const isAlone = settings.isPublic && !this.#isReached()
    if (isAlone && !this.#isAlone) {
      logger.warn({}, 'no peers on the public network: check the connection, and name peers in network.peers')
    }
    if (!isAlone && this.#isAlone) logger.info({}, 'the public network has peers again')
    this.#isAlone = isAlone
  }
}

function addressOf(remote: string, id: string): string {
  return `${remote.replace(/\/p2p\/[^/]*$/, '')}/p2p/${id}`
}
