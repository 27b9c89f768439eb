import type { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import { Semaphore } from '../../src/concurrency/capacity/semaphore.ts'
import { ProviderSession, type SessionParts } from '../../src/network/fetch-session.ts'
import type { BlockProvider, ProviderAnswer } from '../../src/network/providers/block-provider.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { rawBlock, someBlocks } from './support/blocks.ts'

const never = new AbortController().signal
const [block = rawBlock(Buffer.of()), second = rawBlock(Buffer.of())] = someBlocks(2, 100)
const given: ProviderAnswer = { kind: 'block', bytes: block.bytes }
const missing: ProviderAnswer = { kind: 'missing' }
const broken: ProviderAnswer = { kind: 'failed', reason: 'broke', final: false }

/** A provider that gives the scripted answers in order and repeats the last one. Null: no answer. */
class ScriptedSource implements BlockProvider {
  readonly canProbe: boolean
  readonly asked: Array<'probe' | 'block'> = []
  cancelled = 0
  readonly name: string
  readonly tier: number
  readonly #answers: Array<ProviderAnswer | null>

  constructor(name: string, answers: Array<ProviderAnswer | null>, { tier = 0, canProbe = false } = {}) {
    this.name = name
    this.tier = tier
    this.canProbe = canProbe
    this.#answers = answers
  }

  ask(_: CID, { probe }: { probe: boolean }) {
    this.asked.push(probe ? 'probe' : 'block')
    const answer = this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0]
    return {
      answer: new Promise<ProviderAnswer>(resolve => {
        if (answer !== null && answer !== undefined) resolve(answer)
      }),
      cancel: () => {
        this.cancelled++
      },
    }
  }
}

function sessionOn(providers: BlockProvider[], parts: Partial<SessionParts> = {}) {
  const clock = new ManualClock()
  const session = new ProviderSession({
    owner: 'somebody',
    providers,
    strangers: () => () => undefined,
    discover: null,
    host: { mayHave: () => false, get: async () => null },
    gate: new Semaphore(10),
    clock,
    lingerMs: 0,
    onClose: () => undefined,
    ...parts,
  })
  return { session, clock }
}

/** Runs all pending callbacks. */
const settle = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

describe('a session', () => {
  test('asks the next tier only if the lower one lacks the block', async () => {
    const origin = new ScriptedSource('origin', [missing])
    const gateway = new ScriptedSource('gateway', [given], { tier: 2 })
    const idle = new ScriptedSource('idle', [given], { tier: 3 })
    const { session, clock } = sessionOn([idle, gateway, origin])
    expect(await session.get(block.cid, { signal: never })).toBe(block.bytes)
    expect([origin.asked, gateway.asked, idle.asked]).toEqual([['block'], ['block'], []])
    expect(clock.waiting).toBe(0)
    expect(session.providers()).toEqual([
      { provider: 'gateway', error: null },
      { provider: 'origin', error: 'does not have it' },
    ])
  })

  test('probes several providers of a tier, and requests the block from one', async () => {
    const peers = ['a', 'b', 'c'].map((name, i) => {
      return new ScriptedSource(name, i === 0 ? [missing] : [{ kind: 'has' }, given], { canProbe: true })
    })
    const { session } = sessionOn(peers)
    expect(await session.get(block.cid, { signal: never })).toBe(block.bytes)
    const asked = peers.flatMap(peer => peer.asked)
    expect(asked.filter(what => what === 'probe')).toHaveLength(3)
    expect(asked.filter(what => what === 'block')).toHaveLength(1)
  })

  test('asks the next provider if one is silent, sooner before any block', async () => {
    const silent = new ScriptedSource('silent', [given, null])
    const other = new ScriptedSource('other', [given], { tier: 1 })
    const { session, clock } = sessionOn([silent, other])
    await session.get(block.cid, { signal: never })
    const fetching = session.get(second.cid, { signal: never })
    clock.advance(999)
    await settle()
    expect(other.asked).toEqual([])
    clock.advance(1)
    expect(await fetching).toBe(block.bytes)
    expect(silent.cancelled).toBe(1)

    const mute = new ScriptedSource('mute', [null])
    const helper = new ScriptedSource('helper', [given], { tier: 1 })
    const young = sessionOn([mute, helper])
    const first = young.session.get(block.cid, { signal: never })
    young.clock.advance(249)
    expect(helper.asked).toEqual([])
    young.clock.advance(1)
    expect(await first).toBe(block.bytes)
    expect(young.session.providers()[0]).toEqual({ provider: 'mute', error: 'has not answered yet' })
  })

  test('asks another provider if a proven one falls silent', async () => {
    const a = new ScriptedSource('a', [given, null])
    const b = new ScriptedSource('b', [missing, given], { tier: 1 })
    const { session, clock } = sessionOn([a, b])
    await session.get(block.cid, { signal: never })
    const held = session.get(block.cid, { signal: never }).catch(() => 'closed')
    await settle()
    clock.advance(1_000)
    await settle()
    expect(b.asked).toEqual(['block'])
    session.close()
    expect(await held).toBe('closed')
  })

  test('retries a failing provider with backoff and drops it after three failures', async () => {
    const source = new ScriptedSource('source', [broken])
    const { session, clock } = sessionOn([source])
    const fetching = session.get(block.cid, { signal: never })
    const failed = expect(fetching).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
    await settle()
    clock.advance(149)
    expect(source.asked).toHaveLength(1)
    clock.advance(1)
    await settle()
    clock.advance(299)
    expect(source.asked).toHaveLength(2)
    clock.advance(1)
    await failed
    expect(source.asked).toHaveLength(3)
    await expect(session.get(second.cid, { signal: never })).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
    expect(source.asked).toHaveLength(3)
    expect(session.providers()).toEqual([{ provider: 'source', error: 'broke' }])
  })

  test('counts concurrent failures of one provider as one', async () => {
    const source = new ScriptedSource('source', [broken, broken, broken, broken, given])
    const { session, clock } = sessionOn([source])
    const fetching = Promise.all(Array.from({ length: 4 }, () => session.get(block.cid, { signal: never })))
    await settle()
    clock.advance(150)
    expect(await fetching).toHaveLength(4)
  })

  test('never asks a provider again after a wrong block', async () => {
    const liar = new ScriptedSource('liar', [{ kind: 'failed', reason: 'lied', final: true }])
    const { session, clock } = sessionOn([liar])
    await expect(session.get(block.cid, { signal: never })).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
    await expect(session.get(block.cid, { signal: never })).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
    expect(liar.asked).toHaveLength(1)
    expect(clock.waiting).toBe(0)
  })

  test('waits for providers from a router until its search ends', async () => {
    const { promise: found, resolve: find } = Promise.withResolvers<BlockProvider | null>()
    const discover = async function* (): AsyncGenerator<BlockProvider> {
      const source = await found
      if (source !== null) yield source
    }
    const origin = new ScriptedSource('origin', [missing])
    const { session } = sessionOn([origin], { discover })
    const fetching = session.get(block.cid, { signal: never })
    await settle()
    find(new ScriptedSource('found', [given], { tier: 3 }))
    expect(await fetching).toBe(block.bytes)

    const nobody = sessionOn([], { discover: async function* () {} })
    await expect(nobody.session.get(block.cid, { signal: never })).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
    const failing = sessionOn([], {
      discover: () => ({
        [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('the router is gone')) }),
      }),
    })
    await expect(failing.session.get(block.cid, { signal: never })).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
  })

  test('asks peers that connect during a fetch', async () => {
    let meet: (source: BlockProvider) => void = () => undefined
    const mute = new ScriptedSource('mute', [null])
    const { session, clock } = sessionOn([mute], {
      strangers: onPeer => {
        meet = onPeer
        return () => undefined
      },
    })
    const fetching = session.get(block.cid, { signal: never })
    clock.advance(250)
    meet(new ScriptedSource('new', [given], { tier: 3 }))
    expect(await fetching).toBe(block.bytes)
  })

  test('fails no fetch during the linger time', async () => {
    let meet: (source: BlockProvider) => void = () => undefined
    const strangers = (onPeer: typeof meet) => {
      meet = onPeer
      return () => undefined
    }
    const late = sessionOn([], { strangers, lingerMs: 5_000 })
    const fetching = late.session.get(block.cid, { signal: never })
    late.clock.advance(4_900)
    meet(new ScriptedSource('late', [given], { tier: 3 }))
    expect(await fetching).toBe(block.bytes)
    const lonely = sessionOn([new ScriptedSource('without', [{ kind: 'missing' }])], { lingerMs: 5_000 })
    const failing = expect(lonely.session.get(block.cid, { signal: never })).rejects.toThrow('no provider has')
    lonely.clock.advance(5_000)
    await failing
  })

  test('takes a block of the host program first, if its hash matches', async () => {
    const source = new ScriptedSource('source', [given])
    const host = { mayHave: () => true, get: async () => Buffer.from('damaged') }
    const { session } = sessionOn([source], { host })
    expect(await session.get(block.cid, { signal: never })).toBe(block.bytes)
    const good = sessionOn([], { host: { ...host, get: async () => block.bytes } })
    expect(await good.session.get(block.cid, { signal: never })).toBe(block.bytes)
  })
})

describe('concurrent sessions', () => {
  test('take turns by owner, however many fetches one has queued', async () => {
    const gate = new Semaphore(1)
    const order: string[] = []
    const sourceOf = (owner: string): BlockProvider => ({
      name: owner,
      tier: 0,
      canProbe: false,
      ask: () => {
        order.push(owner)
        return { answer: settle().then(() => given), cancel: () => undefined }
      },
    })
    const greedy = sessionOn([sourceOf('greedy')], { gate, owner: 'greedy' })
    const modest = sessionOn([sourceOf('modest')], { gate, owner: 'modest' })
    const get = ({ session }: typeof greedy) => session.get(block.cid, { signal: never })
    await Promise.all([...Array.from({ length: 6 }, () => get(greedy)), get(modest), get(modest)])
    expect(order.slice(0, 5)).toEqual(['greedy', 'greedy', 'modest', 'greedy', 'modest'])
    expect(order).toHaveLength(8)
  })

  test('do not wait for a slow fetch: it frees its place', async () => {
    const gate = new Semaphore(4)
    const dead = sessionOn([new ScriptedSource('mute', [null])], { gate, owner: 'dead' })
    const abort = new AbortController()
    const hanging = Array.from({ length: 10 }, () => dead.session.get(block.cid, { signal: abort.signal }))
    const living = sessionOn([new ScriptedSource('source', [given])], { gate, owner: 'living' })
    const fetching = living.session.get(block.cid, { signal: never })
    await settle()
    dead.clock.advance(250)
    expect(await fetching).toBe(block.bytes)
    abort.abort(new Error('enough'))
    for (const { status } of await Promise.allSettled(hanging)) expect(status).toBe('rejected')
    expect(dead.clock.waiting).toBe(0)
    const full = await Promise.all(Array.from({ length: 20 }, () => living.session.get(block.cid, { signal: never })))
    expect(full).toHaveLength(20)
  })

  test('leave the gate if they abort while they wait', async () => {
    const gate = new Semaphore(1)
    const first = gate.enter('a')
    const waiting = gate.enter('b')
    const third = gate.enter('c')
    expect(first.entered).toBeNull()
    waiting.leave()
    waiting.leave()
    first.leave()
    await third.entered
    third.leave()
    expect(gate.enter('d').entered).toBeNull()
    expect(gate.enter('e').entered).not.toBeNull()
  })
})
