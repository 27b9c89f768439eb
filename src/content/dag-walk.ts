import * as dagCbor from '@ipld/dag-cbor'
import * as dagJson from '@ipld/dag-json'
import * as dagPb from '@ipld/dag-pb'
import { CID } from 'multiformats/cid'
import { CODEC, dagKey } from '../domain/cid.ts'
import { HoldfastError } from '../domain/errors.ts'

/** By codec, what a block links to. Plain CBOR and JSON have no links, whatever they say. */
const LINKS = new Map<number, (bytes: Uint8Array) => CID[]>([
  [CODEC.raw, () => []],
  [CODEC.cbor, () => []],
  [CODEC.json, () => []],
  [CODEC.dagPb, bytes => dagPb.decode(bytes).Links.map(link => link.Hash)],
  [CODEC.dagCbor, bytes => [...linksIn(dagCbor.decode(bytes))]],
  [CODEC.dagJson, bytes => [...linksIn(dagJson.decode(bytes))]],
])
const WITH_LINKS = new Set<number>([CODEC.dagPb, CODEC.dagCbor, CODEC.dagJson])

/** Whether blocks of this codec can have links. */
export function hasLinks(cid: CID): boolean {
  return WITH_LINKS.has(cid.code)
}

/**
 * What a block links to, in order, repeats included.
 *
 * @param bytes what hashes to the CID
 * @throws HoldfastError `INVALID_CID` if they are not what its codec says, or the codec cannot be walked.
 */
export function linksOf(cid: CID, bytes: Uint8Array): CID[] {
  const read = LINKS.get(cid.code)
  if (read === undefined) {
    throw new HoldfastError('INVALID_CID', `codec 0x${cid.code.toString(16)} of ${cid} cannot be walked`)
  }
  try {
    return read(bytes)
  } catch (cause) {
    throw new HoldfastError('INVALID_CID', `the block of ${cid} is not what its codec says`, { cause })
  }
}

/** The CIDs in a decoded value, however deep. */
function* linksIn(value: unknown): Generator<CID> {
  const pending = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    const cid = CID.asCID(next)
    if (cid !== null) yield cid
    else if (typeof next === 'object' && next !== null && !(next instanceof Uint8Array)) {
      pending.push(...Object.values(next).reverse())
    }
  }
}

/**
 * Visits each distinct block of a DAG once, parents before their children, several at a time; those too that a CID
 * has in itself.
 *
 * @param visit returns the block's bytes if its links are to be followed, else null
 * @throws the first error of any visit, once those under way have ended.
 */
export async function walkDag(
  root: CID,
  visit: (cid: CID) => Promise<Uint8Array | null>,
  options: { concurrency: number; signal?: AbortSignal | undefined },
): Promise<void> {
  const seen = new Set([dagKey(root)])
  // The newest first: the frontier then stays as small as the DAG is deep.
  const frontier = [root]
  const visits = new Set<Promise<void>>()
  let failure: { error: unknown } | null = null

  const start = (cid: CID): void => {
    const task = follow(cid)
      .catch((error: unknown) => {
        failure ??= { error }
      })
      .finally(() => visits.delete(task))
    visits.add(task)
  }
  const follow = async (cid: CID): Promise<void> => {
    options.signal?.throwIfAborted()
    const bytes = await visit(cid)
    if (bytes === null) return
    for (const link of linksOf(cid, bytes).reverse()) {
      const key = dagKey(link)
      if (seen.has(key)) continue
      seen.add(key)
      frontier.push(link)
    }
  }

  while ((frontier.length > 0 || visits.size > 0) && failure === null) {
    while (visits.size < options.concurrency) {
      const next = frontier.pop()
      if (next === undefined) break
      start(next)
    }
    await Promise.race(visits)
  }
  await Promise.all(visits)
  if (failure !== null) throw (failure as { error: unknown }).error
}
