import type { KeptPromise } from './promises.ts'

const pipeline = 'test/http/pipeline.test.ts'
const turns = 'test/concurrency/turns.test.ts'
const slots = 'test/concurrency/slots.test.ts'
const proxies = 'test/http/proxies.test.ts'
const pressure = 'test/adapters/node-http/back-pressure.test.ts'
const multipart = 'test/http/multipart.test.ts'

/** Promises of the border to those outside. */
export const borderPromises: readonly KeptPromise[] = [
  {
    promise: 'a request waits behind owners that have used less of the loop',
    file: 'src/http/pipeline.ts',
    find: 'await firstTurn(principal.account.id, request.signal)',
    replace: "await firstTurn('', request.signal)",
    test: { file: pipeline, name: 'requests pass the crowd of another owner' },
  },
  {
    promise: 'a request without a credential is charged to its address',
    file: 'src/http/pipeline.ts',
    find: 'await firstTurn(shareOf(remoteAddress), request.signal)',
    replace: "await firstTurn('', request.signal)",
    test: { file: pipeline, name: 'requests pass the crowd of another owner' },
  },
  {
    promise: 'an abandoned request runs no handler when its turn comes',
    file: 'src/concurrency/turns.ts',
    find: '  signal?.throwIfAborted()\n}\n\n/** Schedules',
    replace: '}\n\n/** Schedules',
    test: { file: pipeline, name: 'an aborted request that waits for its turn' },
  },
  {
    promise: 'a long request waits again for the share of its account',
    file: 'src/concurrency/turns.ts',
    find: 'return turnOf(currentOwner(), signal)',
    replace: "return turnOf('', signal)",
    test: { file: turns, name: 'a walk of another account passes the crowd of one' },
  },
  {
    promise: 'a turn is charged by its measured time',
    file: 'src/concurrency/turns.ts',
    find: 'waiting.charge(served.owner, now - served.since)',
    replace: 'waiting.charge(served.owner, 1)',
    test: { file: turns, name: 'a heavy account waits for a light one' },
  },
  {
    promise: 'idle time earns no credit',
    file: 'src/concurrency/share-queue.ts',
    find: 'share.used = Math.max(share.used, this.#level)',
    replace: 'share.used += 0',
    test: { file: 'test/concurrency/share-queue.test.ts', name: 'an owner that was idle has no credit' },
  },
  {
    promise: 'of a body no more is taken from the socket than makes a piece',
    file: 'adapters/node-http/incoming-body.ts',
    find: '      this.#incoming.pause()\n      this.#wakeNow()\n',
    replace: '      this.#wakeNow()\n',
    test: {
      file: 'test/adapters/node-http/incoming-body.test.ts',
      name: 'arrives in pieces, and only one piece is read ahead',
    },
  },
  {
    promise: 'the memory of an upload is free once it has been taken in',
    file: 'adapters/node-http/incoming-body.ts',
    find: '      yield piece\n      free(piece)\n',
    replace: '      yield piece\n',
    test: {
      file: 'test/adapters/node-http/incoming-body.test.ts',
      name: 'frees the memory of a piece at the next read',
    },
  },
  {
    promise: 'a form is read right by a server that frees each piece of a body as it goes on',
    file: 'src/http/multipart.ts',
    find: '    this.#bytes = Buffer.from(this.#bytes)\n',
    replace: '',
    test: { file: multipart, name: 'have the same parts after parsing at' },
  },
  {
    promise: 'a place that becomes free goes to the owner who has fewest',
    file: 'src/concurrency/slot-memory.ts',
    find: '|| runs < best.runs || (runs === best.runs && order',
    replace: '|| (order',
    test: { file: slots, name: 'a free slot goes to the owner with fewest, then the oldest' },
  },
  {
    promise: 'readers that take nothing lose their places to those who wait',
    file: 'src/concurrency/slot-memory.ts',
    find: ' || this.#endSlow(owner, now)',
    replace: '',
    test: { file: slots, name: 'slow readers of many addresses end for those of others' },
  },
  {
    promise: 'one address leaves places to the others',
    file: 'src/concurrency/slot-memory.ts',
    find: 'return this.running < most || this.#rows.takenBy(owner) < most',
    replace: 'return free > 0',
    test: { file: slots, name: 'a thousand slow readers of one address keep nobody out' },
  },
  {
    promise: 'many connections of one address are accepted before work for them',
    file: 'src/concurrency/turns.ts',
    find: 'return (accepted.now || accepted.before) && waiting.size >= CROWD',
    replace: 'return false',
    test: { file: turns, name: 'queued connections are accepted before waiting tasks, for' },
  },
  {
    promise: 'the log tells what went out of an answer, not what it began with',
    file: 'src/http/access-log.ts',
    find: '  stream.onEnd(write)\n',
    replace: '  write(0)\n',
    test: {
      file: 'test/http/access-log.test.ts',
      name: 'the log line of an archive follows its',
    },
  },
  {
    promise: 'uploads of one account are bounded',
    file: 'src/concurrency/slot-memory.ts',
    find: '    if (perOwner !== null && this.#rows.takenBy(owner) >= perOwner) return false\n',
    replace: '',
    test: { file: 'test/http/upload-slots.test.ts', name: 'excess uploads of one account wait, then' },
  },
  {
    promise: 'a name that rebinds to this machine reads no metrics',
    file: 'adapters/node-http/metrics-endpoint.ts',
    find: ' &&\n    isOwnHost(headers.host)\n',
    replace: '\n',
    test: { file: proxies, name: 'are for local clients with a local name' },
  },
  {
    promise: 'no metrics behind proxies that are trusted',
    file: 'adapters/node-http/metrics-endpoint.ts',
    find: '    engine.trustedProxies === 0 &&\n',
    replace: '',
    test: { file: proxies, name: 'are not for local clients if proxies are' },
  },
  {
    promise: 'no metrics on a host name of content',
    file: 'adapters/node-http/metrics-endpoint.ts',
    find: 'engine.isContentHost(header)) return false',
    replace: 'path === "") return false',
    test: { file: proxies, name: 'are never on a host name of content' },
  },
  {
    promise: 'X-Forwarded-Host counts for who configures proxies, and for nobody else',
    file: 'src/http/proxies.ts',
    find: "trustedProxies === 0 ? undefined : header('x-forwarded-host')",
    replace: "header('x-forwarded-host')",
    test: { file: proxies, name: 'behind 0 proxies' },
  },
  {
    promise: 'a connection over the limit is told so before it is closed',
    file: 'adapters/node-http/connections.ts',
    find: 'else this.close(socket, this.#refusal)',
    replace: 'else socket.destroy()',
    test: { file: pressure, name: 'a crowd over the limit is answered on both ports' },
  },
  {
    promise: 'a server does not start with too few descriptors to serve',
    file: 'adapters/cli/serve.ts',
    find: '  checkDescriptors()\n',
    replace: '',
    test: { file: pressure, name: 'a start with too few of them fails' },
  },
  {
    promise: 'a crowd of connections leaves descriptors for files',
    file: 'adapters/node-http/http-server.ts',
    find: 'maxConnections = connectionsFor(descriptorLimit())',
    replace: 'maxConnections = 1_000 * connectionsFor(descriptorLimit())',
    test: { file: pressure, name: 'a server with few of them survives a crowd, and serves it' },
  },
  {
    promise: 'a body that trickles is refused',
    file: 'adapters/node-http/incoming-body.ts',
    find: 'if (bytes * 1_000 < bytesPerSecond * waited) {',
    replace: 'if (bytes < 0) {',
    test: { file: pressure, name: 'are refused by their average rate while waiting' },
  },
  {
    promise: 'spent file descriptors are a 503',
    file: 'src/domain/disk-trouble.ts',
    find: "  EMFILE: 'short',\n",
    replace: '',
    test: { file: pressure, name: 'EMFILE is a 503 that says when to return' },
  },
  {
    promise: 'an engine that has stopped answers UNAVAILABLE',
    file: 'src/storage/database.ts',
    find: "    if (this.#closed) throw new HoldfastError('UNAVAILABLE', 'the node has stopped')\n",
    replace: '',
    test: {
      file: 'test/stopped-engine.test.ts',
      name: 'an engine that has stopped answers everything with UNAVAILABLE',
    },
  },
  {
    promise: 'a body that comes with its headers is looked at as one that streams',
    file: 'src/http/counted-body.ts',
    find: '    this.#take(body, declared)\n',
    replace: '',
    test: { file: 'test/http/pipeline.test.ts', name: 'a buffered body is counted and checked' },
  },
  {
    promise: 'a body that comes later than its headers is read from its first byte',
    file: 'adapters/node-http/incoming-body.ts',
    find: 'if (!incoming.complete || incoming.readableDidRead',
    replace: 'if (incoming.readableDidRead',
    test: {
      file: 'test/adapters/node-http/incoming-body.test.ts',
      name: 'streams from its first byte if it arrives later or in part',
    },
  },
  {
    promise: 'a form with a transfer encoding is refused',
    file: 'src/http/form-headers.ts',
    find: 'if (encoding !== undefined && !PLAIN_ENCODINGS.has(encoding)) {',
    replace: 'if (encoding === "") {',
    test: { file: multipart, name: 'a transfer encoding' },
  },
  {
    promise: 'bodies of a crowd take turns with other requests',
    file: 'src/http/counted-body.ts',
    find: '      await sharedTurn(this.#request.signal)\n',
    replace: '',
    test: { file: 'test/concurrency/turns.test.ts', name: 'a body is read no further while other work waits' },
  },
  {
    promise: 'an encoded body is refused',
    file: 'src/http/counted-body.ts',
    find: "if (this.#bytes === 0 && chunk.length > 0) requirePlain(this.#request.header('content-encoding'))",
    replace: '',
    test: { file: 'test/contract/contract.test.ts', name: 'MUST refuse a Content-Encoding on bodies' },
  },
  {
    promise: 'a stall is told with the route that held the loop',
    file: 'adapters/node-http/loop-watcher.ts',
    find: '    askForWork()\n',
    replace: '',
    test: {
      file: 'test/adapters/node-http/loop-watch.test.ts',
      name: 'logs and counts stalls with their cause, in microtasks too',
    },
  },
  {
    promise: 'a wait for a processor is no stall of the loop',
    file: 'adapters/node-http/loop-watcher.ts',
    find: 'held += time.since(elapsed)',
    replace: 'held += elapsed',
    test: { file: 'test/adapters/node-http/loop-watch.test.ts', name: 'ignores waits for a processor' },
  },
]
