import type { KeptPromise } from './promises.ts'

const bounds = 'test/gateway/representations/bounds.test.ts'
const documents = 'test/gateway/pages/document.test.ts'
const takedowns = 'test/gateway/policy/takedowns.test.ts'
const readers = 'test/adapters/node-http/readers.test.ts'
const turns = '      if (turn !== null) await turn\n'

/** What the gateway promises of content that anybody may have made. */
export const gatewayPromises: readonly KeptPromise[] = [
  {
    promise: 'what is dropped while another thread is about to read it is not read',
    file: 'src/content/live-content.ts',
    find: 'if (this.#leases.isShared && !this.#held.isLive(rootId, this.#clock.now())) {',
    replace: 'if (rootId < 0) {',
    test: { file: 'test/content/leases.test.ts', name: 'a root that is dropped between a look and its lease' },
  },
  {
    promise: 'the collector sees the leases of all threads',
    file: 'src/content/leases.ts',
    find: '    this.#threads.add(places)\n',
    replace: '',
    test: { file: readers, name: 'keep what they read from the collector' },
  },
  {
    promise: 'a takedown counts in all threads at once',
    file: 'src/gateway/policy/takedowns.ts',
    find: '      Atomics.add(this.revision, 0, 1)\n',
    replace: '',
    test: { file: readers, name: 'refuse what is taken down from that moment on' },
  },
  {
    promise: 'all threads together have the places of one gateway',
    file: 'src/wiring/reading.ts',
    find: 'gatewaySlots(options, clock, data.slots)',
    replace: 'gatewaySlots(options, clock)',
    test: { file: readers, name: 'have the places of one gateway together' },
  },
  {
    promise: 'whoever is connected while threads take over a gateway is not cut off',
    file: 'adapters/node-http/readers.ts',
    find: 'leavePort(front)',
    replace: 'void drain(front, null)',
    test: { file: readers, name: 'take over from the first, of which no client that is connected notices anything' },
  },
  {
    promise: 'a thread that hangs is replaced',
    file: 'adapters/node-http/reader.ts',
    find: 'this.#silentMs = beat === this.#lastBeat ? this.#silentMs + elapsedMs : 0',
    replace: 'this.#silentMs = 0',
    test: { file: readers, name: 'are replaced if they end or hang' },
  },
  {
    promise: 'a thread that has ended keeps nothing from the collector',
    file: 'src/wiring/shared-reading.ts',
    find: '        leases.end()\n',
    replace: '',
    test: { file: readers, name: 'are replaced if they end or hang' },
  },
  {
    promise: 'a gateway port that was asked for has to be free',
    file: 'adapters/cli/serve.ts',
    find: '    if (isGatewayPortGiven) throw err\n',
    replace: '',
    test: { file: 'test/adapters/cli/gateway-port.test.ts', name: 'fails the start if it was asked for' },
  },
  {
    promise: 'pages are not of the origin of the API',
    file: 'adapters/node-http/readers.ts',
    find: 'createGatewayServer(this.#engine.ownGateway, ',
    replace: 'createGatewayServer(this.#engine.gateway, ',
    test: { file: 'test/adapters/cli/gateway-port.test.ts', name: 'is an origin of its own' },
  },
  {
    promise: 'files and CARs of blocks that are at hand give the loop back',
    file: 'src/content/dag/ordered-walk.ts',
    find: turns,
    replace: '',
    test: { file: bounds, name: 'walks of what is at hand give the loop back' },
  },
  {
    promise: 'many walks take turns',
    file: 'src/domain/concurrency/turns.ts',
    find: '  if (waiting.length > 0) setImmediate(giveTurn)\n',
    replace: '  for (const give of waiting.splice(0)) give()\n',
    test: { file: 'test/domain/concurrency/turns.test.ts', name: 'walks side by side get on equally' },
  },
  {
    promise: 'the pump of an answer gives the loop back',
    file: 'adapters/node-http/response.ts',
    find: '      else if (turnSpent()) await nextTurn()\n',
    replace: '',
    test: {
      file: 'test/adapters/node-http/body-writer.test.ts',
      name: 'a body made in microtasks gives the loop back',
    },
  },
  {
    promise: 'what one answer walks is bounded',
    file: 'src/content/dag/ordered-walk.ts',
    find: 'if (this.#steps-- <= 0)',
    replace: 'if (false)',
    test: { file: bounds, name: 'shards without entries that double end at their bound' },
  },
  {
    promise: 'what one walk keeps in memory is bounded',
    file: 'src/content/dag/ordered-walk.ts',
    find: 'if (this.#openBytes < 0)',
    replace: 'if (false)',
    test: { file: bounds, name: 'a walk keeps no more of large blocks than its bound' },
  },
  {
    promise: 'a listing looks at each block once, however many names it has',
    file: 'src/gateway/source/directory-listing.ts',
    find: '    this.#known.set(key, known)\n',
    replace: '',
    test: { file: bounds, name: '500 names for one block have it read once' },
  },
  {
    promise: 'shards lie no deeper than hashes lead',
    file: 'src/content/unixfs/shard.ts',
    find: 'if (bits > HASH_BITS)',
    replace: 'if (false)',
    test: { file: bounds, name: 'shards that lie deeper than any hash leads are refused' },
  },
  {
    promise: 'the page of a document is bounded',
    file: 'src/gateway/pages/document-text.ts',
    find: 'if (writer.isFull)',
    replace: 'if (false)',
    test: { file: documents, name: 'the page of a large flat document is cut off' },
  },
  {
    promise: 'pages beside the API are sandboxed',
    file: 'src/gateway/representations/file-response.ts',
    find: '!lookup.hasOwnOrigin && ',
    replace: 'false && ',
    test: { file: 'test/gateway/sandbox.test.ts', name: 'pages that share their origin' },
  },
  {
    promise: 'a takedown is on the disk before it is acknowledged',
    file: 'src/gateway/policy/takedowns.ts',
    find: '      await file.datasync()\n',
    replace: '',
    test: { file: takedowns, name: 'is on the disk before anything is acknowledged' },
  },
  {
    promise: 'a takedown has its name on the disk before it is acknowledged',
    file: 'src/gateway/policy/takedowns.ts',
    find: '    await fileSystem.syncDirectory(directory)\n',
    replace: '',
    test: { file: takedowns, name: 'is on the disk before anything is acknowledged' },
  },
  {
    promise: 'what is taken down is not served to peers',
    file: 'src/gateway/policy/peer-blocks.ts',
    find: '    if (denylist.statusOf(cid) !== null) return false\n',
    replace: '',
    test: { file: 'test/gateway/policy/peer-blocks.test.ts', name: 'what is taken down is not served to peers' },
  },
  {
    promise: 'what is taken down is not announced',
    file: 'src/pins/announcer.ts',
    find: '    if (!this.#mayTell(cid)) return\n',
    replace: '',
    test: { file: 'test/pins/fetches/serving.test.ts', name: 'what is pinned is announced' },
  },
  {
    promise: 'what only content that is taken down needs is not served to peers',
    file: 'src/gateway/policy/peer-blocks.ts',
    find: '    return this.#isPartOfMore(cid, denylist)\n',
    replace: '    return true || this.#isPartOfMore(cid, denylist)\n',
    test: { file: 'test/gateway/policy/peer-blocks.test.ts', name: 'what is taken down is not served to peers' },
  },
  {
    promise: 'a takedown ends answers that are under way',
    file: 'src/gateway/source/request-blocks.ts',
    find: '    this.#checkAgain()\n',
    replace: '',
    test: { file: takedowns, name: 'an answer that is under way is cut off' },
  },
  {
    promise: 'an account reads its own content alone',
    file: 'src/gateway/reader/content-reader.ts',
    find: 'if (await isOwned(account, path.cid, signal)) return',
    replace: 'if ((await isOwned(account, path.cid, signal)) || true) return',
    test: { file: 'test/gateway/reader/content-reader.test.ts', name: 'there is only what that account has' },
  },
]
