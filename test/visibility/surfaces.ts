/** A request for content by its CID, on one of the ports of a node. */
export interface Surface {
  name: string
  port: 'api' | 'gateway'
  method?: string
  path: (cid: string) => string
  headers?: (cid: string) => Record<string, string>
}

export const HOST = 'content.test'

const accept = (type: string) => () => ({ accept: type })
const read = (cid: string) => `/ipfs/${cid}`

const READS: ReadonlyArray<Omit<Surface, 'port'>> = [
  { name: 'path', path: read },
  { name: 'HEAD', method: 'HEAD', path: read },
  { name: 'OPTIONS', method: 'OPTIONS', path: read },
  { name: 'path below', path: cid => `/ipfs/${cid}/a.txt` },
  { name: 'listing', path: cid => `/ipfs/${cid}/` },
  { name: 'subdomain', path: () => '/', headers: cid => ({ host: `${cid}.ipfs.${HOST}` }) },
  { name: 'redirect to a subdomain', path: read, headers: () => ({ host: HOST }) },
  { name: 'raw block', path: cid => `/ipfs/${cid}?format=raw` },
  { name: 'raw block by Accept', path: read, headers: accept('application/vnd.ipld.raw') },
  { name: 'CAR', path: cid => `/ipfs/${cid}?format=car` },
  { name: 'CAR of one block', path: cid => `/ipfs/${cid}?format=car&dag-scope=block` },
  { name: 'TAR', path: cid => `/ipfs/${cid}?format=tar` },
  { name: 'dag-json', path: cid => `/ipfs/${cid}?format=dag-json` },
  { name: 'download', path: cid => `/ipfs/${cid}?download=true&filename=x.txt` },
  { name: 'range', path: read, headers: () => ({ range: 'bytes=0-9' }) },
  { name: 'revalidation', path: read, headers: cid => ({ 'if-none-match': `"${cid}"` }) },
  { name: 'revalidation of anything', path: read, headers: () => ({ 'if-none-match': '*' }) },
  { name: 'wrong precondition', path: read, headers: () => ({ 'if-match': '"x"' }) },
  { name: 'only if cached', path: read, headers: () => ({ 'cache-control': 'only-if-cached' }) },
]

/** Requests of a browser, a program or a peer about a CID, without credentials. */
export const SURFACES: readonly Surface[] = [
  ...READS.map((surface): Surface => ({ ...surface, port: 'gateway' })),
  ...READS.filter(({ name }) => !name.includes('subdomain')).map((surface): Surface => ({ ...surface, port: 'api' })),
  { name: 'providers', port: 'gateway', path: cid => `/routing/v1/providers/${cid}` },
  {
    name: 'providers as NDJSON',
    port: 'gateway',
    path: cid => `/routing/v1/providers/${cid}`,
    headers: accept('application/x-ndjson'),
  },
]

/** Calls of the API about a CID, by an account that has no record of it. */
const CALLS: ReadonlyArray<Omit<Surface, 'port'>> = [
  { name: 'list by CID', path: cid => `/api/v3/files?cid=${cid}` },
  { name: 'files below', path: cid => `/api/v3/files?parentCid=${cid}` },
  { name: 'status', path: cid => `/api/v3/status/${cid}` },
  { name: 'allocations', path: cid => `/api/v3/allocations/${cid}` },
  { name: 'DAG', path: cid => `/api/v3/users/me/uploads/dag/${cid}` },
  { name: 'pin', method: 'POST', path: cid => `/api/v3/files/pin/${cid}` },
  { name: 'delete', method: 'DELETE', path: cid => `/api/v3/files/remove/${cid}` },
  { name: 'PSA list', path: cid => `/psa/pins?cid=${cid}` },
]
export const API_SURFACES = CALLS.map((surface): Surface => ({ ...surface, port: 'api' }))
