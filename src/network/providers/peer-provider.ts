import type { CID } from 'multiformats/cid'
import type { PeerAddress } from '../addresses.ts'
import type { Dialler } from '../dialler.ts'
import type { BlockExchange } from '../exchange/block-exchange.ts'
import type { Asked, PeerAnswer } from '../exchange/peer-wants.ts'
import type { BlockProvider, ProviderAnswer, ProviderQuestion } from './block-provider.ts'

/** Dials the peer if needed. */
export class PeerProvider implements BlockProvider {
  readonly name: string
  readonly tier: number
  readonly canProbe = true
  readonly #peer: PeerAddress
  readonly #exchange: BlockExchange
  readonly #dialler: Dialler

  constructor(peer: PeerAddress, tier: number, exchange: BlockExchange, dialler: Dialler) {
    this.name = `peer ${peer.id}`
    this.tier = tier
    this.#peer = peer
    this.#exchange = exchange
    this.#dialler = dialler
  }

  ask(cid: CID, { probe }: { probe: boolean }): ProviderQuestion {
    if (this.#dialler.isConnected(this.#peer.id)) {
      const asked = this.#exchange.ask(this.#peer.id, cid, { presence: probe })
      return { answer: asked.answer.then(toSourceAnswer), cancel: asked.cancel }
    }
    let asked: Asked | null = null
    let cancelled = false
    const ask = async (): Promise<ProviderAnswer> => {
      const isConnected = await this.#dialler.connect(this.#peer)
      if (!isConnected) return { kind: 'failed', reason: 'could not be reached', final: false }
      if (cancelled) return new Promise(() => undefined)
      asked = this.#exchange.ask(this.#peer.id, cid, { presence: probe })
      return toSourceAnswer(await asked.answer)
    }
    const cancel = (): void => {
      cancelled = true
      asked?.cancel()
    }
    return { answer: ask(), cancel }
  }
}

function toSourceAnswer(answer: PeerAnswer): ProviderAnswer {
  if (answer.kind === 'lost') return { kind: 'failed', reason: answer.reason, final: false }
  if (answer.kind === 'wrong') return { kind: 'failed', reason: 'sent the bytes of another block', final: true }
  return answer
}
