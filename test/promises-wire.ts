import type { KeptPromise } from './promises.ts'

const messages = 'test/network/wire/whole-messages.test.ts'
const updates = 'test/network/wire/rare-updates.test.ts'
const crypto = 'test/network/wire/noise-crypto.test.ts'
const wants = 'test/network/exchange/peer-wants.test.ts'
const plain = 'test/network/wire/plaintexts.test.ts'
const shared = 'test/content/dag/shared-blocks.test.ts'

/** Promises about received bytes between the socket and the store. No memory with a reader is reused or freed. */
export const wirePromises: readonly KeptPromise[] = [
  {
    promise: 'the memory of what a socket has brought is kept until it has been heard',
    file: 'src/network/wire/whole-messages.ts',
    find: 'if (this.#reuses && this.readBufferLength === 0) free(chunk)',
    replace: 'if (this.#reuses) free(chunk)',
    test: { file: messages, name: 'undelivered data is not freed' },
  },
  {
    promise: 'the memory of a handshake is kept',
    file: 'src/network/wire/whole-messages.ts',
    find: 'if (this.#reuses && this.readBufferLength === 0) free(chunk)',
    replace: 'if (this.readBufferLength === 0) free(chunk)',
    test: { file: messages, name: 'a chunk is freed after its delivery, but' },
  },
  {
    promise: 'memory that holds more than what was heard is kept',
    file: 'src/network/wire/whole-messages.ts',
    find: 'buffer.byteLength === byteLength && ',
    replace: '',
    test: { file: messages, name: 'memory with other data is not freed' },
  },
  {
    promise: 'what is decrypted never lies in memory that is used again',
    file: 'src/network/wire/noise-crypto.ts',
    find: '    return notePlaintext(plaintext)\n',
    replace: '    whole.set(plaintext)\n    return whole.subarray(0, end)\n',
    test: { file: crypto, name: 'a plaintext has its own memory, even if' },
  },
  {
    promise: 'the memory of a decrypted message is kept while another stream has bytes in it',
    file: 'src/network/wire/plaintexts.ts',
    find: 'byteOffset <= HEADER_BYTES && ',
    replace: '',
    test: { file: plain, name: "a plaintext's memory is kept while it" },
  },
  {
    promise: 'the memory of a decrypted message is kept while its rest has not been read',
    file: 'src/network/wire/plaintexts.ts',
    find: ' && byteOffset + byteLength === buffer.byteLength',
    replace: '',
    test: { file: plain, name: "a plaintext's memory is kept while it" },
  },
  {
    promise: 'memory that was not made for a decrypted message is kept',
    file: 'src/network/wire/plaintexts.ts',
    find: ' && plaintexts.delete(buffer)',
    replace: '',
    test: { file: plain, name: 'unmarked, shared and small memory is' },
  },
  {
    promise: 'the bytes of a message are all in it before the memory that brought them is freed',
    file: 'src/network/exchange/inbound-stream.ts',
    find: '      try {\n        for (const frame of this.#frames.push(data)) {',
    replace: '      try {\n        freePlaintext(data)\n        for (const frame of this.#frames.push(data)) {',
    test: { file: plain, name: "a stream's messages are whole, and their" },
  },
  {
    promise: 'a message that was changed on its way is refused',
    file: 'src/network/wire/noise-crypto.ts',
    find: '    decipher.final()\n',
    replace: '',
    test: { file: crypto, name: 'a wrong message, key, nonce or context' },
  },
  {
    promise: 'a peer that has used up half of a window is told of more',
    file: 'src/network/wire/rare-updates.ts',
    find: 'bytes < MOST_HELD_BYTES',
    replace: 'bytes < 4 * MOST_HELD_BYTES',
    test: { file: updates, name: 'a long stream arrives whole, with one' },
  },
  {
    promise: 'words about room are few',
    file: 'src/network/wire/rare-updates.ts',
    find: 'const MOST_HELD_BYTES = 128 * 1024',
    replace: 'const MOST_HELD_BYTES = 1',
    test: { file: updates, name: 'a long stream arrives whole, with one' },
  },
  {
    promise: 'the memory of a block that two have asked for is kept',
    file: 'src/network/exchange/peer-wants.ts',
    find: 'isAlone && entry.waiters.size === 1',
    replace: 'isAlone',
    test: { file: wants, name: 'cannot be freed if two callers requested' },
  },
  {
    promise: 'the memory of a block is kept as long as that of its message',
    file: 'src/network/exchange/peer-wants.ts',
    find: 'isAlone && entry.waiters.size === 1',
    replace: 'entry.waiters.size === 1',
    test: { file: wants, name: 'cannot be freed if other blocks shared' },
  },
  {
    promise: 'the memory of a block that two fetches share is kept',
    file: 'src/content/dag/fetch.ts',
    find: '  forgetLone(block)\n',
    replace: '',
    test: { file: shared, name: 'a block for several fetches is requested once, and never freed' },
  },
]
