import type { KeptPromise } from './promises.ts'

const frames = (name: string) => ({ file: 'test/network/wire/frame-turns.test.ts', name })
const negotiation = (name: string) => ({ file: 'test/network/wire/negotiation.test.ts', name })
const places = (name: string) => ({ file: 'test/network/inbound-places.test.ts', name })
const limits = (name: string) => ({ file: 'test/network/peer-limits.test.ts', name })
const strangers = (name: string) => ({ file: 'test/network/stranger-records.test.ts', name })

/** Promises about peers that send libp2p more than it can take. */
export const peerPromises: readonly KeptPromise[] = [
  {
    promise: 'a flood of Yamux frames leaves the event loop to others',
    file: 'src/network/wire/frame-turns.ts',
    find: '      if (!turnSpent()) continue\n',
    replace: '      continue\n',
    test: frames('a flood of frames leaves rounds of the'),
  },
  {
    promise: 'the frames of a flood are handled in order',
    file: 'src/network/wire/frame-turns.ts',
    find: 'if (this.#rests) this.#waiting.push(piece)\n      else this.#takeOne(piece)',
    replace: 'this.#takeOne(piece)',
    test: frames('the data of a flood arrives whole and in'),
  },
  {
    promise: 'no frame is longer in memory than a window',
    file: 'src/network/wire/frame-turns.ts',
    find: '    if (this.#dataLeft > this.#longestFrame) throw',
    replace: '    if (this.#dataLeft < 0) throw',
    test: frames('a frame longer than any window ends the'),
  },
  {
    promise: 'a wrong frame that waited for its turn ends the connection',
    file: 'src/network/wire/frame-turns.ts',
    find: '      this.#connection.abort(cause)\n',
    replace: '',
    test: frames('a wrong frame after a pause ends the'),
  },
  {
    promise: 'answers to a peer that reads nothing do not fill the memory',
    file: 'src/network/wire/rare-updates.ts',
    find: 'unread = connection.writableNeedsDrain ? unread + 1 : 0',
    replace: 'unread = 0',
    test: frames('a peer that asks for answers and reads'),
  },
  {
    promise: 'data for a peer that reads too slowly does not fill the memory',
    file: 'src/network/wire/whole-messages.ts',
    find: '      maxWriteBufferLength: MOST_UNSENT_BYTES,\n    })\n    this.#connection = connection\n    connection.maxWriteBufferLength = MOST_UNSENT_BYTES\n',
    replace: '    })\n    this.#connection = connection\n',
    test: {
      file: 'test/network/wire/whole-messages.test.ts',
      name: 'data for a slow reader does not fill the',
    },
  },
  {
    promise: 'a peer asks for few protocols',
    file: 'src/network/wire/negotiation.ts',
    find: 'if (++this.#answers > MOST_ANSWERS) throw',
    replace: 'if (this.#answers < 0) throw',
    test: negotiation('a peer that asks for many protocols is'),
  },
  {
    promise: 'a length that never ends does not hold the event loop',
    file: 'src/network/wire/negotiation.ts',
    find: '      const part = first.subarray(0, this.#credit)\n',
    replace: '      const part = first\n',
    test: negotiation('a length that never ends is not read to'),
  },
  {
    promise: 'data without a protocol does not fill the memory',
    file: 'src/network/wire/negotiation.ts',
    find: 'if (this.#heldBytes > MOST_HELD_BYTES) this',
    replace: 'if (this.#heldBytes < 0) this',
    test: negotiation('data without a protocol does not fill the'),
  },
  {
    promise: 'data that follows the name of a protocol arrives',
    file: 'src/network/wire/negotiation.ts',
    find: '    this.#credit = Number.POSITIVE_INFINITY\n    this.#deliver()\n',
    replace: '',
    test: negotiation('a name that follows others is accepted'),
  },
  {
    promise: 'one host leaves half of the connections to others',
    file: 'src/network/inbound-places.ts',
    find: 'if (this.#taken >= MOST_CONNECTIONS / 2 && own >= MOST_OF_HOST) return false',
    replace: '',
    test: places('one host takes at most half of the places'),
  },
  {
    promise: 'a closed connection leaves its place',
    file: 'src/network/inbound-places.ts',
    find: "    connection.addEventListener('close', () => this.#leave(host), { once: true })\n",
    replace: '',
    test: places('a closed connection leaves its place'),
  },
  {
    promise: 'silent sockets of one host keep no other peer out',
    file: 'src/network/helia-node.ts',
    find: ', maxIncomingPendingConnections: MOST_HANDSHAKES',
    replace: '',
    test: places('silent sockets of one host leave room for'),
  },
  {
    promise: 'a peer has few addresses in memory',
    file: 'src/network/peer-limits.ts',
    find: 'multiaddrs: multiaddrs.slice(0, room)',
    replace: 'multiaddrs',
    test: limits('does not grow by one merge after another'),
  },
  {
    promise: 'the addresses of a peer do not add up',
    file: 'src/network/peer-limits.ts',
    find: 'await knownAddresses(store, id)',
    replace: '0',
    test: limits('does not grow by one merge after another'),
  },
  {
    promise: 'a peer has few protocols in memory',
    file: 'src/network/peer-limits.ts',
    find: '.slice(0, MOST_PROTOCOLS)',
    replace: '',
    test: limits('has at most 256 protocols and a short'),
  },
  {
    promise: 'a stream of pings or of the DHT brings few bytes',
    file: 'src/network/peer-limits.ts',
    find: 'const isRight = left >= 0 && (',
    replace: 'const isRight = (',
    test: limits('bytes is then reset'),
  },
  {
    promise: 'a length of a message of the DHT ends',
    file: 'src/network/peer-limits.ts',
    find: 'if (byte >= 0x80) return this.#lengthBytes < LONGEST_LENGTH',
    replace: 'if (byte >= 0x80) return true',
    test: limits('ends with a length that never ends'),
  },
  {
    promise: 'strangers fill the disk with a limited number of records',
    file: 'src/network/stranger-records.ts',
    find: '    if (isNew && count >= most) return key\n',
    replace: '',
    test: strangers('a new record beyond the limit is not'),
  },
  {
    promise: "a node's own provider records are stored when others fill the limit",
    file: 'src/network/stranger-records.ts',
    find: 'prefix === null || this.#isOwn(name)',
    replace: 'prefix === null',
    test: strangers("this node's own records have no limit"),
  },
  {
    promise: 'expired records of peers are deleted every hour',
    file: 'src/network/stranger-records.ts',
    find: '    await peers.forEach(() => {})\n',
    replace: '',
    test: strangers('expired peers are deleted and records'),
  },
]
