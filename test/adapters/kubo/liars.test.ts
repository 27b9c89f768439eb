import { AssertionError } from 'node:assert'
import { describe, expect, test } from 'vitest'
import type { HttpClient, HttpStream } from '../../../adapters/remote/http-client.ts'
import { backendRules } from '../../clusters/backend.suite.ts'
import { collect } from '../../support/bytes.ts'
import {
  ask,
  type Lies,
  onReal,
  onRealKubo,
  onRecorded,
  onReplay,
  type Places,
  underTest,
  withBackend,
} from './kubo-under-test.ts'

function commandOf(url: string): string {
  return new URL(url).pathname.replace('/api/v0/', '')
}

function argOf(url: string): string | null {
  return new URL(url).searchParams.get('arg')
}

function said(...lines: object[]): HttpStream {
  const body = async function* () {
    for (const line of lines) yield Buffer.from(`${JSON.stringify(line)}\n`)
  }
  return { status: 200, body: body(), trailers: () => ({}) }
}

/** Replaces the answer to a command, as a whole or as a stream. */
function about(
  command: string,
  lie: {
    send?: (right: () => ReturnType<HttpClient['send']>, url: string) => ReturnType<HttpClient['send']>
    stream?: (right: () => ReturnType<HttpClient['stream']>, url: string) => ReturnType<HttpClient['stream']>
  },
): Lies {
  return ({ send, stream }) => ({
    send: request => {
      const right = () => send(request)
      return commandOf(request.url) === command && lie.send ? lie.send(right, request.url) : right()
    },
    stream: request => {
      const right = () => stream(request)
      return commandOf(request.url) === command && lie.stream ? lie.stream(right, request.url) : right()
    },
  })
}

/** Faults of a Kubo, with the rule that detects each. */
const wrong: ReadonlyArray<[what: string, lies: (places: Places) => Lies, rule: RegExp]> = [
  [
    'says of what it has let go that it is pinned',
    ({ api }) => {
      const names = new Map<string, string>()
      const forgetting = about('pin/add', {
        stream: async (right, url) => {
          const lines = await collect((await right()).body)
          names.set(argOf(url) ?? '', new URL(url).searchParams.get('name') ?? '')
          await ask(api, `pin/rm?arg=${argOf(url)}`)
          await ask(api, 'repo/gc')
          return said(
            ...lines
              .toString()
              .trim()
              .split('\n')
              .map(line => JSON.parse(line) as object),
          )
        },
      })
      const insisting = about('pin/ls', {
        send: async (right, url) => {
          const cid = argOf(url) ?? ''
          const Name = names.get(cid)
          if (Name === undefined) return right()
          return { status: 200, text: JSON.stringify({ Keys: { [cid]: { Type: 'recursive', Name } } }) }
        },
      })
      return right => insisting({ ...right, ...forgetting(right) })
    },
    /^tells whether/,
  ],
  [
    'says that it has pinned what it has not',
    () => about('pin/add', { stream: async (_, url) => said({ Pins: [argOf(url)] }) }),
    /^keeps a DAG as long/,
  ],
  ['never lets go', () => about('pin/rm', { send: async () => ({ status: 200, text: '{}' }) }), /^keeps a DAG as long/],
  [
    'lets go of everything with the first',
    ({ api }) =>
      about('pin/rm', {
        send: async right => {
          const answer = await right()
          for (const pin of await ask(api, 'pin/ls?type=recursive&names=true&stream=true')) {
            if (String(pin.Name ?? '').startsWith('holdfast:')) await ask(api, `pin/rm?arg=${pin.Cid}`)
          }
          return answer
        },
      }),
    /^shares a DAG/,
  ],
  [
    'says that it has all before it has asked for it',
    () => about('dag/import', { stream: async () => said({ Stats: { BlockCount: 5 } }) }),
    /^has nothing of a pin that fails/,
  ],
  [
    'answers with what it has answered before',
    () => {
      const answers = new Map<string, Awaited<ReturnType<HttpClient['send']>>>()
      return about('pin/ls', {
        send: async (right, url) => {
          const answer = answers.get(url) ?? (await right())
          if (answer.status === 200) answers.set(url, answer)
          return answer
        },
      })
    },
    /^asks before it lets go/,
  ],
  ['lists nothing', () => about('pin/ls', { stream: async () => said() }), /^lists what it keeps/],
  [
    'gives other bytes',
    () =>
      about('block/get', {
        stream: async right => {
          const { body, ...answer } = await right()
          const bytes = await collect(body)
          if (answer.status === 200) bytes[0] = (bytes[0] ?? 0) ^ 1
          const changed = async function* () {
            yield bytes
          }
          return { ...answer, body: changed() }
        },
      }),
    /^gives blocks/,
  ],
]

describe('the rules detect a Kubo that', () => {
  for (const [what, lies, expected] of wrong) {
    const name = `a Kubo that ${what}`
    const run = (places: Places) =>
      withBackend(
        places,
        async backend => {
          const rule = backendRules.find(({ name }) => expected.test(name))
          if (rule === undefined) throw new AssertionError({ message: `there is no rule ${expected}` })
          await expect(rule.run(underTest(backend, places))).rejects.toThrow()
        },
        { lies: lies(places) },
      )
    test(`${what} (a real Kubo)`, onRealKubo, () => onReal(name, run))
    test(`${what} (recorded)`, onRecorded, () => onReplay(name, run))
  }

  test('each rule detects a fault', () => {
    const found = (name: string) => wrong.some(([, , rule]) => rule.test(name))
    expect(backendRules.map(({ name }) => name).filter(name => !found(name))).toEqual([])
  })
})
