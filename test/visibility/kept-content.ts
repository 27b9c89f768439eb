import type { Engine } from '../../src/index.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { type Asker, CANARY } from './matrix.ts'

const big = (seed: string): Buffer => Buffer.concat([Buffer.from(CANARY), pseudoRandom(2_500_000, seed)])

/** Uploads every kind of private content. Returns their CIDs by name, and a public file below a private folder. */
export async function keep(engine: Engine, account: string, cluster?: string) {
  const { pins } = engine
  const open = { account, cluster }
  const closed = { ...open, visibility: 'private' }
  const shared = await pins.upload('a shared public file', open)
  const small = await pins.upload(`${CANARY} of one block`, closed)
  const large = await pins.upload(big('large'), closed)
  const folder = await pins.uploadDirectory(
    [
      { kind: 'file', path: 'a.txt', content: `${CANARY} below` },
      { kind: 'file', path: 'deep/big.bin', content: big('below') },
      { kind: 'file', path: 'shared.txt', content: 'a shared public file' },
    ],
    closed,
  )
  const twice = await pins.upload(`${CANARY}, once public`, open)
  await pins.upload(`${CANARY}, once public`, closed)
  await pins.discard({ account, uploadId: twice.record.uploadId })
  const [child, below] = folder.files
  const contents = {
    'a file of one block': small.record.cid,
    'a file of several blocks': large.record.cid,
    'a folder': folder.record.cid,
    'a file below a folder': child?.cid ?? '',
    'a large file below a folder': below?.cid ?? '',
    'a file whose public record is gone': twice.record.cid,
  }
  return { contents, shared: shared.record.cid }
}

/** Returns those who may read no private content of an account. */
export async function askersOf(engine: Engine, account: string, other: string): Promise<Asker[]> {
  const key = async (owner: string, name: string, scopes: string[]) => {
    const { secret } = await engine.keys.create(owner, { name, scopes } as Parameters<Engine['keys']['create']>[1])
    return { authorization: `Bearer ${secret}` }
  }
  const token = await engine.keys.create(account, { maxUses: 100 })
  return [
    { name: 'a stranger', headers: {} },
    { name: 'another account', headers: await key(other, 'all', ['files:read', 'files:write', 'files:delete']) },
    { name: 'a key without files:read', headers: await key(account, 'w', ['files:write']) },
    { name: 'an upload token', headers: { authorization: `Bearer ${token.secret}` } },
  ]
}
