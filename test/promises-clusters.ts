import type { KeptPromise } from './promises.ts'

const elsewhere = 'test/clusters/kept-elsewhere.test.ts'
const survey = 'test/upkeep/cluster-survey.test.ts'

/** What is promised of clusters whose content is kept elsewhere. */
export const clusterPromises: readonly KeptPromise[] = [
  {
    promise: 'what a backend elsewhere gives is served only if it hashes to its CID',
    file: 'src/clusters/cluster-registry.ts',
    find: 'reader === null || reader instanceof BlockStore ? reader : new CheckedSource(reader)',
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
  {
    promise: 'what has come to be needed is not let go of by the worker that comes late',
    file: 'src/catalogue/sqlite/sqlite-placements.ts',
    find: '      const row = this.#current(key)\n      if (row === undefined || row.isWanted) return false',
    replace: '      const row = this.#placements.get(key.id)\n      if (row === undefined) return false',
    test: {
      file: 'test/clusters/placement-runner.test.ts',
      name: 'what has come to be needed before the backend is asked to let go stays there',
    },
  },
  {
    promise: 'until when a request to let go may arrive is noted before a backend that does not ask can send it',
    file: 'src/pins/placement-attempt.ts',
    find: 'backend.asksBeforeUnpin !== true && !(await mayUnpin())',
    replace: 'backend.asksBeforeUnpin !== true && row.isWanted',
    test: { file: 'test/clusters/placement-runner.test.ts', name: 'a worker that is stopped after it has asked' },
  },
  {
    promise: 'a request to let go that succeeds does not make an earlier one, of unknown end, forgotten',
    file: 'src/pins/placement-attempt.ts',
    find: 'until: row.unpinUntil })',
    replace: 'until: 0 })',
    test: { file: 'test/clusters/placement-runner.test.ts', name: 'a request of unknown end may arrive' },
  },
  {
    promise: 'what a cluster elsewhere has not been seen to keep is not called pinned',
    file: 'src/pins/placement-attempt.ts',
    find: "if (state !== 'pinned') throw",
    replace: "if (state === 'failed') throw",
    test: {
      file: 'test/clusters/remote-backend.test.ts',
      name: 'one that says it has taken what it has not is not believed',
    },
  },
  {
    promise: 'a backup has what gets to a cluster elsewhere while it is made',
    file: 'src/backup/back-up.ts',
    find: 'files => files.keepAll())',
    replace: 'async () => () => undefined)',
    test: { file: 'test/backup/elsewhere.test.ts', name: 'has what gets there while it is made' },
  },
  {
    promise: 'what a node keeps for another goes no further',
    file: 'src/pins/pin-targets.ts',
    find: 'target.fromNode === true && clusters.isElsewhere(clusterId)',
    replace: 'target.fromNode === undefined && clusters.isElsewhere(clusterId)',
    test: {
      file: 'test/clusters/remote-steps.test.ts',
      name: 'a cluster that is itself kept elsewhere takes nothing from another node',
    },
  },
  {
    promise: 'all of a content stays here for a while after it got to a cluster elsewhere',
    file: 'src/wiring/stores.ts',
    find: 'clock.now() - graceMs',
    replace: 'clock.now() - 0 * graceMs',
    test: { file: 'test/clusters/remote-cluster.test.ts', name: 'keeps all of it on this disk for a while' },
  },
  {
    promise: 'clusters of one place are kept there together',
    file: 'src/clusters/remote-clusters.ts',
    find: 'byPlace.set(place, cluster)',
    replace: 'byPlace.set(id, cluster)',
    test: { file: 'test/clusters/remote-cluster.test.ts', name: 'what two clusters of one place have is one there' },
  },
  {
    promise: 'a gateway that does not answer does not keep others from being asked',
    file: 'src/clusters/gateways-reader.ts',
    find: 'isLast ? READ_MS : EACH_MS',
    replace: 'isLast ? READ_MS : READ_MS + EACH_MS',
    test: { file: 'test/clusters/gateways-reader.test.ts', name: 'one that does not answer is given up for the next' },
  },
  {
    promise: 'what a cluster elsewhere has lost is found, and sent again',
    file: 'src/upkeep/cluster-survey.ts',
    find: "if (status === null || status.state === 'pinned') return",
    replace: "if (status === null || status.state !== 'failed') return",
    test: { file: survey, name: 'what a cluster has lost is told, and sent again' },
  },
  {
    promise: 'what a cluster elsewhere cannot give is sent whole, though it says that it has it',
    file: 'src/pins/placement-attempt.ts',
    find: 'again: row.isAnew',
    replace: 'again: false',
    test: { file: survey, name: 'what a cluster says that it has and cannot give' },
  },
  {
    promise: 'more than one in a hundred pins of a cluster are let go of only if that is asked for',
    file: 'src/upkeep/cluster-survey.ts',
    find: 'dags.length <= listed * MOST_RELEASED',
    replace: 'dags.length <= listed',
    test: { file: survey, name: 'a pin that nobody needs is let go of if it is one of many' },
  },
  {
    promise: 'what carries another hold than this node’s is not let go of',
    file: 'src/upkeep/cluster-survey.ts',
    find: 'if (hold !== HOLD) continue',
    replace: "if (hold === '') continue",
    test: { file: survey, name: 'a pin that nobody needs is let go of if it is one of many' },
  },
  {
    promise: 'an answer that is to be had whole is had up to a bound',
    file: 'src/domain/sources.ts',
    find: '    if (length > most) return null\n',
    replace: '',
    test: { file: 'test/domain/byte-source.test.ts', name: 'is had in one piece up to a bound' },
  },
  {
    promise: 'why something cannot be sent to a cluster elsewhere is told, not that it was not',
    file: 'src/network/http-client.ts',
    find: '      if (failure !== null) throw failure.error\n',
    replace: '',
    test: { file: 'test/network/http-client.test.ts', name: 'says why the body of a request has ended' },
  },
  {
    promise: 'what goes on is given time anew',
    file: 'src/domain/deadline.ts',
    find: '    this.#cancel()\n    const { clock',
    replace: '    const { clock',
    test: { file: 'test/domain/deadline.test.ts', name: 'ends its signal once nothing has moved for so long' },
  },
  {
    promise: 'one small content that a place elsewhere does not take keeps no other back that was sent along',
    file: 'src/clusters/batch.ts',
    find: 'thenAlone && asked.length > 1',
    replace: 'thenAlone && asked.length > 100',
    test: { file: 'test/clusters/batch.test.ts', name: 'what has failed together is asked for again each by itself' },
  },
  {
    promise: 'few large contents are sent elsewhere at a time',
    file: 'src/pins/placement-attempt.ts',
    find: 'blocks === undefined ? this.#large',
    replace: 'blocks !== undefined ? this.#large',
    test: { file: 'test/clusters/placement-runner.test.ts', name: 'large ones four' },
  },
  {
    promise: 'what one account has to be sent elsewhere leaves room for others',
    file: 'src/pins/placement-runner.ts',
    find: 'JOBS_OF_ACCOUNT = 24',
    replace: 'JOBS_OF_ACCOUNT = 32',
    test: { file: 'test/clusters/placement-runner.test.ts', name: 'an account does not take all places' },
  },
  {
    promise: 'a place elsewhere is asked what it has where it may have been told before',
    file: 'src/pins/placement-attempt.ts',
    find: 'isFirst: row.attempts === 1',
    replace: 'isFirst: row.attempts > 0',
    test: { file: 'test/clusters/placement-runner.test.ts', name: 'is told whether it was asked before' },
  },
  {
    promise: 'a DAG of which few bytes are here is read no further once it turns out to be large',
    file: 'src/clusters/small-dag.ts',
    find: 'size > SMALL_DAG_BYTES',
    replace: 'size > 1_000 * SMALL_DAG_BYTES',
    test: { file: 'test/clusters/small-dag.test.ts', name: 'no more is read than shows' },
  },
  {
    promise: 'a cluster elsewhere that does not answer holds nobody up who asks how far a pin is',
    file: 'src/clusters/cluster-watch.ts',
    find: 'this.#within(STATUS_MS, signal',
    replace: 'this.#within(STATUS_MS + 1, signal',
    test: {
      file: 'test/clusters/cluster-watch.test.ts',
      name: 'is not known where nobody answers within three seconds',
    },
  },
  {
    promise: 'peers of a cluster elsewhere that have a pin are told of, and those that have not',
    file: 'src/contract/status.ts',
    find: 'return [...progress.map(presentAllocation), ...peers]',
    replace:
      'return peers.length > 9 ? [...progress.map(presentAllocation), ...peers] : progress.map(presentAllocation)',
    test: {
      file: 'test/clusters/cluster-watch.test.ts',
      name: 'a pin in a cluster elsewhere is told of with the peers',
    },
  },
]
