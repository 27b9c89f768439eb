import type { KeptPromise } from './promises.ts'

const backend = 'adapters/ipfs-cluster/ipfs-cluster-backend.ts'
const answers = 'adapters/ipfs-cluster/ipfs-cluster-answers.ts'
const hostile = 'test/adapters/ipfs-cluster/hostile.test.ts'

/** What is promised of clusters that an IPFS Cluster keeps. */
export const ipfsClusterPromises: readonly KeptPromise[] = [
  {
    promise: 'an IPFS Cluster has pinned nothing before as many peers as are needed say so',
    file: 'adapters/ipfs-cluster/peer-states.ts',
    find: 'return this.pinned >= Math.max(needed, 1)',
    replace: 'return this.pinned >= 0',
    test: { file: hostile, name: 'says that it has taken what no peer has is not believed' },
  },
  {
    promise: 'two peers of an IPFS Cluster over one IPFS are one copy',
    file: 'adapters/ipfs-cluster/peer-states.ts',
    find: "store: store === undefined || store === '' ? peer : store",
    replace: "store: store === '' ? '' : peer",
    test: { file: hostile, name: 'has two peers over one IPFS has one copy' },
  },
  {
    promise: 'what does not carry our mark in an IPFS Cluster is never unpinned',
    file: 'adapters/ipfs-cluster/mark-block.ts',
    find: '  if (metadata[MARK] !== mark) return null\n',
    replace: '',
    test: { file: hostile, name: 'forgets our mark has not pinned it for us, and is never told to unpin' },
  },
  {
    promise: 'peers of an IPFS Cluster that have failed are told to try again',
    file: backend,
    find: '        await api.recover(cid.toString(), signal)\n',
    replace: '',
    test: { file: hostile, name: 'has peers with pin_error is told to try again, so often' },
  },
  {
    promise: "another server's 404 is not taken for an IPFS Cluster that has let go",
    file: answers,
    find: 'status === 404 && NOT_PINNED.test(detail)',
    replace: 'status === 404',
    test: { file: hostile, name: 'has a 404 of another server in its place has nothing that was let go of' },
  },
  {
    promise: 'what went wrong after the last line of an IPFS Cluster is found in its trailers',
    file: 'adapters/ipfs-cluster/ipfs-cluster-api.ts',
    find: "if (error !== '') throw",
    replace: "if (error === 'never') throw",
    test: {
      file: hostile,
      name: 'lists without an end, breaks off or says so after the last line is left, or told of',
    },
  },
  {
    promise:
      'an IPFS Cluster hashes all blocks of an upload in one way, so that a DAG of several hashes is not handed over',
    file: 'adapters/ipfs-cluster/sendable-blocks.ts',
    find: "if (hash !== this.#hash) throw new NotSendable('has blocks of several hashes')",
    replace: '',
    test: { file: hostile, name: 'a DAG of several hashes only by its place, and one of SHA-512 as it is' },
  },
  {
    promise: 'what peers of an IPFS Cluster that cannot be asked may have is not taken for lost',
    file: 'adapters/ipfs-cluster/peer-states.ts',
    find: 'this.pinned + unheard >= needed',
    replace: 'this.pinned + unheard < needed',
    test: { file: hostile, name: 'has it on fewer peers than are needed has not pinned it, and says who has not' },
  },
  {
    promise: 'what peers may have that could not be asked is not sent again by a look',
    file: 'src/upkeep/cluster-survey.ts',
    find: 'if (told.isUncertain === true) throw',
    replace: 'if (told.allocations === null) throw',
    test: {
      file: 'test/upkeep/cluster-survey.test.ts',
      name: 'content that unreachable peers may have is not sent again',
    },
  },
]
