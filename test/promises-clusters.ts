import type { KeptPromise } from './promises.ts'

const elsewhere = 'test/clusters/kept-elsewhere.test.ts'

/** What is promised of clusters whose content is kept elsewhere. */
export const clusterPromises: readonly KeptPromise[] = [
  {
    promise: 'what a backend elsewhere gives is served only if it hashes to its CID',
    file: 'src/clusters/cluster-registry.ts',
    find: 'reader === null || reader instanceof EmbeddedBackend ? reader : new CheckedSource(reader)',
    replace: 'reader',
    test: { file: elsewhere, name: 'is served by the gateway, each block checked' },
  },
  {
    promise: 'content of a backend elsewhere is read only while something holds its root',
    file: 'src/ledger/root-table.ts',
    find: "WHERE state = 'complete' AND multihash = ? AND (live_until IS NULL OR live_until > ?) LIMIT 1",
    replace: 'WHERE multihash = ? AND ? > 0 LIMIT 1',
    test: { file: elsewhere, name: 'is leased by its root' },
  },
]
