import type { KeptPromise } from './promises.ts'

const options = 'test/wiring/given-options.test.ts'
const parts = 'test/wiring/engine-parts.test.ts'
const calls = 'test/adapters/client/options.test.ts'
const wrongUse = 'test/adapters/client/wrong-use.test.ts'

/** Promises of the client and the engine to programs that use them wrongly, or whose server misbehaves. */
export const clientPromises: readonly KeptPromise[] = [
  {
    promise: 'a header of a request of the client replaces one in another case',
    file: 'adapters/client/connection.ts',
    find: '[name.toLowerCase(), value]',
    replace: '[name, value]',
    test: { file: calls, name: 'a header of a request replaces one in' },
  },
  {
    promise: 'an idle time of the client may be longer than a timer',
    file: 'adapters/client/idle-timer.ts',
    find: 'this.#ms = Math.min(ms, LONGEST_DELAY_MS)',
    replace: 'this.#ms = ms',
    test: { file: calls, name: 'an idle time beyond the longest timer' },
  },
  {
    promise: 'the progress of an upload of the client ends with all its bytes',
    file: 'adapters/client/request-body.ts',
    find: '  onProgress?.(sent + bytes)\n',
    replace: '',
    test: { file: calls, name: 'the progress of an upload ends with' },
  },
  {
    promise: 'the client refuses a missing source',
    file: 'adapters/client/files.ts',
    find: 'source !== null && ',
    replace: '',
    test: { file: calls, name: 'an upload of a missing field is refused' },
  },
  {
    promise: 'the client sends a cluster of any characters',
    file: 'adapters/client/files.ts',
    find: '/^[\\x21-\\x7e]+$/.test(cluster)',
    replace: "cluster !== ''",
    test: { file: calls, name: 'a cluster that no header can carry is' },
  },
  {
    promise: 'a list of the client yields no row twice',
    file: 'adapters/client/pins.ts',
    find: 'if (seen.size <= MOST_SEEN) return',
    replace: 'if (seen.size <= page.length) return',
    test: { file: calls, name: 'a list that many uploads shift yields' },
  },
  {
    promise: 'the client sends no text of a stream as zeros',
    file: 'adapters/client/request-body.ts',
    find: 'if (!(piece instanceof Uint8Array)) throw',
    replace: 'if (piece === null) throw',
    test: { file: wrongUse, name: 'of Node is refused, not sent as zeros' },
  },
  {
    promise: 'a path of content takes the credential of the client to no other route',
    file: 'adapters/client/content.ts',
    find: 'if (names.some(isDots)) throw',
    replace: 'if (names.length === 0) throw',
    test: { file: wrongUse, name: 'leads to no other route with a' },
  },
  {
    promise: 'an id of dots leads the client to no other route',
    file: 'adapters/client/connection.ts',
    find: 'if (isDots(part)) throw',
    replace: "if (part === ' ') throw",
    test: { file: wrongUse, name: 'is refused as an id' },
  },
  {
    promise: 'a job of the client makes all edits that it is given',
    file: 'adapters/client/bulk.ts',
    find: 'if (named.length !== 1)',
    replace: 'if (named.length === 9)',
    test: { file: wrongUse, name: 'wrong dates and several edits at once' },
  },
  {
    promise: 'an invalid date is a refusal of the client',
    file: 'adapters/client/times.ts',
    find: 'if (Number.isNaN(time.getTime())) throw',
    replace: 'if (time === null) throw',
    test: { file: wrongUse, name: 'wrong dates and several edits at once' },
  },
  {
    promise: 'a wrong argument of the client rejects',
    file: 'src/domain/known-fields.ts',
    find: '          return Reflect.apply(method, target, given)\n        } catch',
    replace: '        } catch',
    test: { file: wrongUse, name: 'wrong dates and several edits at once' },
  },
  {
    promise: 'details of a refusal have the HTTP status',
    file: 'adapters/client/refusal.ts',
    find: "'code', 'status'].includes(name)",
    replace: "'code'].includes(name)",
    test: { file: wrongUse, name: 'a refusal without a message keeps' },
  },
  {
    promise: 'a signal ends a wait of the client at once',
    file: 'adapters/client/idle-timer.ts',
    find: 'Promise.race([wait(ms, signal), aborted])',
    replace: 'wait(ms, signal)',
    test: { file: wrongUse, name: 'a signal ends waits of the client at' },
  },
  {
    promise: 'a cancelled stream of the client ends its pending read',
    file: 'adapters/client/content.ts',
    find: 'if (isReading) left.abort()',
    replace: '',
    test: { file: wrongUse, name: 'a stream of a stalled server can be' },
  },
  {
    promise: 'awaiting a part of the engine ends',
    file: 'src/engine.ts',
    find: "if (typeof method !== 'function') return method",
    replace: '',
    test: { file: parts, name: 'parts of an engine can be awaited' },
  },
  {
    promise: 'a rejection of an async listener ends no process',
    file: 'src/domain/emitter.ts',
    find: 'if (outcome instanceof Promise) outcome.catch(log)',
    replace: 'if (outcome instanceof Promise) log(null)',
    test: { file: parts, name: 'an async listener that rejects is' },
  },
  {
    promise: 'an option of createEngine with a wrong type is refused by its name',
    file: 'src/wiring/setup.ts',
    find: '  checkOwnOptions(options)\n',
    replace: '',
    test: { file: options, name: 'refuses an option of a wrong type by' },
  },
]
