import type { KeptPromise } from './promises.ts'

const backend = 'adapters/ipfs-cluster/ipfs-cluster-backend.ts'
const answers = 'adapters/ipfs-cluster/ipfs-cluster-answers.ts'
const hostile = 'test/adapters/ipfs-cluster/hostile.test.ts'

/** Promises of clusters on an IPFS Cluster. */
export const ipfsClusterPromises: readonly KeptPromise[] = [
  {
    promise: 'content is pinned once enough peers report it',
    file: 'adapters/ipfs-cluster/peer-states.ts',
    find: 'return this.pinned >= Math.max(needed, 1)',
    replace: 'return this.pinned >= 0',
    test: { file: hostile, name: 'does not trust an upload that no peer' },
  },
  {
    promise: 'two peers on one IPFS node count as one copy',
    file: 'adapters/ipfs-cluster/peer-states.ts',
    find: "store: store === undefined || store === '' ? peer : store",
    replace: "store: store === '' ? '' : peer",
    test: { file: hostile, name: 'counts two peers on one IPFS node as one' },
  },
  {
    promise: 'a pin without this node’s mark is never unpinned',
    file: 'adapters/ipfs-cluster/mark-block.ts',
    find: '  if (metadata[MARK] !== mark) return null\n',
    replace: '',
    test: { file: hostile, name: 'neither trusts nor unpins a pin without' },
  },
  {
    promise: 'failed peers of an IPFS Cluster are told to retry',
    file: backend,
    find: '        await api.recover(cid.toString(), signal)\n',
    replace: '',
    test: { file: hostile, name: 'tells peers with pin_error to retry, up to' },
  },
  {
    promise: 'another server’s 404 is not taken for an unpin',
    file: answers,
    find: 'status === 404 && NOT_PINNED.test(detail)',
    replace: 'status === 404',
    test: { file: hostile, name: 'does not take another server’s 404 for' },
  },
  {
    promise: 'an error in the trailers of an IPFS Cluster is found',
    file: 'adapters/ipfs-cluster/ipfs-cluster-api.ts',
    find: "if (error !== '') throw",
    replace: "if (error === 'never') throw",
    test: {
      file: hostile,
      name: 'leaves an endless list, and reports one',
    },
  },
  {
    promise: 'a DAG with several hash functions is not uploaded to an IPFS Cluster',
    file: 'adapters/ipfs-cluster/sendable-blocks.ts',
    find: "if (hash !== this.#hash) throw new NotSendable('has blocks of several hashes')",
    replace: '',
    test: { file: hostile, name: 'has SHA-512 blocks, but only the addresses' },
  },
  {
    promise: 'content that unreachable peers may have is not taken for lost',
    file: 'adapters/ipfs-cluster/peer-states.ts',
    find: 'this.pinned + unheard >= needed',
    replace: 'this.pinned + unheard < needed',
    test: { file: hostile, name: 'reports too few copies and the peers' },
  },
  {
    promise: 'a check does not resend content that unreachable peers may have',
    file: 'src/upkeep/cluster-survey.ts',
    find: 'if (told.isUncertain === true) throw',
    replace: 'if (told.allocations === null) throw',
    test: {
      file: 'test/upkeep/cluster-survey.test.ts',
      name: 'content that unreachable peers may have is not sent again',
    },
  },
]
