import { createHash, randomFillSync } from 'node:crypto'
import { CID } from 'multiformats/cid'
import { create } from 'multiformats/hashes/digest'
import { askAll } from '../clients/node-client.ts'
import type { Service } from './service.ts'

const RAW = 0x55
const SHA2_256 = 0x12
const CONNECTIONS = 16

/** Returns the CIDs of distinct small files. */
export async function fill(service: Service, count: number, fileBytes: number): Promise<string[]> {
  const content = randomFillSync(Buffer.alloc(count * fileBytes))
  const files = Array.from({ length: count }, (_, at) => content.subarray(at * fileBytes, (at + 1) * fileBytes))
  await askAll(service.upload('file'), files, CONNECTIONS)
  return files.map(cidOfFile)
}

/** Returns the CID of a file of one block, a raw leaf. */
export function cidOfFile(bytes: Uint8Array): string {
  return CID.createV1(RAW, create(SHA2_256, createHash('sha256').update(bytes).digest())).toString()
}
