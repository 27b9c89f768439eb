import { CID } from 'multiformats/cid'
import { expect } from 'vitest'
import type { Engine } from '../../src/index.ts'
import { type Dag, directoryOf, fileOf } from '../pins/fetches/support/dags.ts'
import { CANARY } from './matrix.ts'

/** CIDs with the codec of DAGs, of bytes that are stored as files. */
export interface Disguised {
  directory: string
  file: string
  /** CIDs of the content that the bytes name. */
  named: string[]
}

/** Stores content of an account, and files of a stranger whose bytes are blocks that name it. */
export async function disguise(
  engine: Engine,
  { account, stranger, cluster }: { account: string; stranger: string; cluster: string },
  visibility: 'public' | 'private',
): Promise<Disguised> {
  const text = `${CANARY}, ${visibility}`
  const kept = { account, cluster, visibility }
  const file = await engine.pins.upload(text, kept)
  const folder = await engine.pins.uploadDirectory([{ kind: 'file', path: 'in.txt', content: `${text} below` }], kept)
  const named = dagAt(file.record.cid, text.length)
  const inner = dagAt(folder.record.cid)
  const below = dagAt(folder.files[0]?.cid ?? '', `${text} below`.length)
  const known = directoryOf({ 'in.txt': below })
  expect(String(known.root)).toBe(folder.record.cid)
  const store = async ({ root, blocks }: Dag): Promise<string> => {
    const { record } = await engine.pins.upload(blocks[0]?.bytes ?? '', { account: stranger, cluster })
    expect(CID.parse(record.cid).multihash.bytes).toEqual(root.multihash.bytes)
    return String(root)
  }
  // The stranger knows the bytes of the folder, and not those of its file.
  await store(known)
  return {
    directory: await store(directoryOf({ below, inner, named })),
    file: await store(fileOf([named])),
    named: [String(named.root), String(inner.root)],
  }
}

/** Returns a DAG of which only the CID is known. */
function dagAt(cid: string, size = 1): Dag {
  return { root: CID.parse(cid), blocks: [], size }
}

/** Returns for each path to the named content whether an answer at `base` has it. */
export async function whatLeads(
  base: string,
  { directory, file, named }: Disguised,
): Promise<Array<[string, boolean]>> {
  const paths = [
    `${directory}/below`,
    `${directory}/named`,
    `${directory}/named?format=raw`,
    `${directory}/inner/in.txt`,
    `${directory}?format=car`,
    `${directory}?format=tar`,
    `${named[1]}/in.txt`,
    file,
    `${file}?format=car`,
  ]
  const found: Array<[string, boolean]> = []
  for (const path of paths) found.push([path, (await bytesAt(`${base}/ipfs/${path}`)).includes(CANARY)])
  return found
}

/** Returns what arrives of a body, also if its connection breaks. */
async function bytesAt(url: string): Promise<Buffer> {
  const parts: Uint8Array[] = []
  const { body } = await fetch(url)
  try {
    for await (const part of body ?? []) parts.push(part)
  } catch {
    // The node has ended the response.
  }
  return Buffer.concat(parts)
}
