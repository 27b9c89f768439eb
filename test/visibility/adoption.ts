import { CID } from 'multiformats/cid'
import { expect } from 'vitest'
import type { Engine } from '../../src/index.ts'
import { carOf } from '../content/car/support/cars.ts'
import { type Dag, directoryOf } from '../pins/fetches/support/dags.ts'
import { absentLike, CANARY } from './matrix.ts'

/** Status of an answer, and the visibility of the record or the code of the error. */
type Outcome = [status: number, detail: string]

interface Credentials {
  /** A key with `files:read` and `files:write`. */
  read: string
  /** The same with `share:write`. */
  share: string
  /** A key with `files:write` only. */
  write: string
  token: string
  /** A key of another account, with all scopes. */
  other: string
}

export interface AdoptionWorld {
  engine: Engine
  account: string
  other: string
  /** Sends a request to the API. */
  call: (method: string, path: string, headers: Record<string, string>, body?: Uint8Array) => Promise<Response>
}

async function credentialsOf({ engine, account, other }: AdoptionWorld): Promise<Credentials> {
  const key = async (of: string, name: string, ...scopes: string[]): Promise<string> =>
    (await engine.keys.create(of, { name, scopes })).secret
  return {
    read: await key(account, 'read', 'files:read', 'files:write'),
    share: await key(account, 'share', 'files:read', 'files:write', 'share:write'),
    write: await key(account, 'write', 'files:write', 'share:write'),
    token: (await engine.keys.create(account, { maxUses: 1_000 })).secret,
    other: await key(other, 'other', 'files:read', 'files:write', 'files:delete', 'share:write'),
  }
}

/** Uses private content in every way that sends less than all of its blocks, with every kind of credential. */
export async function checkAdoption(world: AdoptionWorld): Promise<void> {
  const { engine, account, call } = world
  const keys = await credentialsOf(world)
  let made = 0
  /** Uploads a private folder that nothing else has. Returns its CID and that of a file below it. */
  const secret = async (): Promise<[folder: string, file: string]> => {
    const content = `${CANARY} ${++made}`
    const entries = [{ kind: 'file', path: 'a.txt', content }] as const
    const { record, files } = await engine.pins.uploadDirectory(entries, { account, visibility: 'private' })
    return [record.cid, files[0]?.cid ?? '']
  }
  const send = async (key: string, path: string, type: string, body: Uint8Array | string) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': type }
    return call('POST', path, headers, typeof body === 'string' ? Buffer.from(body) : body)
  }
  const outcome = async (answer: Response): Promise<Outcome> => {
    const { visibility, code, roots } = (await answer.json()) as Record<string, never>
    return [answer.status, `${visibility ?? code ?? roots}`]
  }
  const pin = async (key: string, cid: string, visibility?: string): Promise<Outcome> =>
    outcome(await send(key, `/api/v3/files/pin/${cid}`, 'application/json', JSON.stringify({ visibility })))
  /** Imports a CAR of a new folder that links to a CID, whose blocks it lacks. */
  const importLink = async (key: string, cid: string, visibility?: string): Promise<Outcome> => {
    const bait = directoryOf({ [`bait ${++made}`]: { root: CID.parse(cid), blocks: [], size: 9 } satisfies Dag })
    const query = visibility === undefined ? '' : `?visibility=${visibility}`
    const car = await carOf([bait.root], bait.blocks)
    return outcome(await send(key, `/api/v3/files/car${query}`, 'application/vnd.ipld.car', car))
  }
  const isPublic = async (cid: string): Promise<boolean> =>
    (await call('GET', `/ipfs/${cid}?format=raw`, {})).status === 200

  // With files:read, the record is private, whatever the default of the account is.
  for (const use of [pin, importLink]) {
    for (const key of [keys.read, keys.share]) {
      for (const visibility of [undefined, 'private']) {
        const [folder, file] = await secret()
        for (const cid of [file, folder]) {
          expect(await use(key, cid, visibility)).toEqual([expect.any(Number), 'private'])
          expect(await isPublic(cid)).toBe(false)
        }
      }
    }
    // Only a key that may share makes it public, and only if it asks for that.
    const [folder, file] = await secret()
    const absent = await use(keys.read, absentLike(file), 'public')
    expect(absent[0]).toBeGreaterThanOrEqual(400)
    expect(await use(keys.read, file, 'public')).toEqual(absent)
    expect(await isPublic(file)).toBe(false)
    expect(await use(keys.share, file, 'public')).toEqual([201, 'public'])
    expect([await isPublic(file), await isPublic(folder)]).toEqual([true, false])

    // Nobody else gets an answer that differs from that for an absent CID.
    for (const key of [keys.write, keys.token, keys.other]) {
      for (const visibility of [undefined, 'public', 'private']) {
        const [folder, file] = await secret()
        for (const cid of [file, folder]) {
          const expected = await use(key, absentLike(cid), visibility)
          expect(await use(key, cid, visibility)).toEqual(expected)
          expect(await isPublic(cid)).toBe(false)
        }
      }
    }
  }

  // Content that is sent whole is a record of its own, with the visibility asked for.
  for (const key of [keys.read, keys.write, keys.token, keys.other]) {
    const [, file] = await secret()
    const form = new FormData()
    form.append('file', new Blob([`${CANARY} ${made}`]), 'same.txt')
    form.append('visibility', 'public')
    const encoded = new Response(form)
    const type = encoded.headers.get('content-type') ?? ''
    const answer = await send(key, '/api/v3/files', type, new Uint8Array(await encoded.arrayBuffer()))
    const shown = (await answer.json()) as { cid: string; visibility: string }
    expect([answer.status, shown.visibility, shown.cid]).toEqual([201, 'public', file])
    expect(await isPublic(file)).toBe(true)
  }
}
