import type { KeptPromise } from './promises.ts'

const backend = 'adapters/kubo/kubo-backend.ts'
const rpc = 'adapters/kubo/kubo-rpc.ts'
const pins = 'test/adapters/kubo/pins.test.ts'
const hostile = 'test/adapters/kubo/hostile.test.ts'
const rules = 'test/adapters/kubo/kubo-backend.test.ts'

/** Promises of clusters on a Kubo. */
export const kuboPromises: readonly KeptPromise[] = [
  {
    promise: 'a pin on a Kubo neither renames nor removes a user’s pin',
    file: backend,
    find: 'this.#rpc.pinAdd(block.cid, block.name, signal, moved)',
    replace: 'this.#rpc.pinAdd(root, block.name, signal, moved)',
    test: { file: pins, name: 'a user who pins the same root keeps that pin, made before or after (recorded)' },
  },
  {
    promise: 'a batch of which a Kubo took too few blocks is refused',
    file: backend,
    find: 'taken !== blocks.length',
    replace: 'taken === 0',
    test: { file: hostile, name: 'are refused if blocks or pins are' },
  },
  {
    promise: 'a Kubo that stops syncing is detected',
    file: backend,
    find: 'this.#syncedUntil = this.#clock.now() + CONFIG_MS',
    replace: 'this.#syncedUntil = Number.POSITIVE_INFINITY',
    test: { file: hostile, name: 'that stops syncing is refused within ten' },
  },
  {
    promise: 'a pin without this node’s name is not removed',
    file: backend,
    find: 'if ((await this.#rpc.pinName(block.cid, own)) !== block.name) return',
    replace: 'if ((await this.#rpc.pinName(block.cid, own)) === null) return',
    test: { file: pins, name: 'is neither counted nor removed (recorded)' },
  },
  {
    promise: 'a pin with this node’s name on another block is ignored',
    file: backend,
    find: 'return isOurs ? {',
    replace: 'return isOurs || name !== "" ? {',
    test: { file: pins, name: 'a pin that only calls itself ours is not (recorded)' },
  },
  {
    promise: 'content that is needed again is not unpinned on a Kubo',
    file: backend,
    find: 'if (mayUnpin !== undefined && !(await mayUnpin())) return',
    replace: 'if (mayUnpin !== undefined) await mayUnpin()',
    test: { file: rules, name: 'asks before it lets go, and' },
  },
  {
    promise: 'a Kubo that syncs nothing is refused',
    file: backend,
    find: 'if (risk !== null) {',
    replace: "if (risk === '') {",
    test: { file: pins, name: 'is not believed where it syncs nothing, unless its owner takes the loss (recorded)' },
  },
  {
    promise: 'only a datastore that syncs blocks before pins counts as durable',
    file: 'adapters/kubo/datastore-sync.ts',
    find: '!(blocks === pins && syncsWhenAsked(blocks))',
    replace: '!syncsWhenAsked(blocks)',
    test: { file: 'test/adapters/kubo/datastore-sync.test.ts', name: 'blocks in a Pebble that nobody asks to sync' },
  },
  {
    promise: 'content that a Kubo lost is sent again',
    file: backend,
    find: ') && !isRepair) return',
    replace: ') || isRepair) return',
    test: { file: pins, name: 'has all of it again where it has lost some (recorded)' },
  },
  {
    promise: 'a pin that a Kubo reports is checked',
    file: backend,
    find: 'if (!(await this.#isPinned(block, signal))) throw',
    replace: "if (block.name === '') throw",
    test: { file: hostile, name: 'that answers with a pin that is not there is not believed' },
  },
  {
    promise: 'an upload of which a Kubo took too few blocks is refused',
    file: backend,
    find: 'if (taken !== blocks) throw',
    replace: 'if (taken < 1) throw',
    test: { file: hostile, name: 'that answers with fewer blocks than were sent is not believed' },
  },
  {
    promise: 'the error of a root in a successful answer is found',
    file: rpc,
    find: "if (Root?.PinErrorMsg !== undefined && Root.PinErrorMsg !== '') throw failure(shortened(Root.PinErrorMsg))",
    replace: '',
    test: { file: hostile, name: 'that answers with a root that failed, in a 200 is not believed' },
  },
  {
    promise: 'an error in the trailers of a Kubo is found',
    file: 'adapters/kubo/kubo-answers.ts',
    find: "return late === undefined || late === '' ? null : shortened(late)",
    replace: "return late === 'never' ? shortened(late) : null",
    test: { file: hostile, name: 'that answers with an error after everything else is not believed' },
  },
  {
    promise: 'repeated progress of a Kubo does not extend the timeout',
    file: rpc,
    find: 'if (Progress === undefined || Progress <= most) continue',
    replace: 'if (Progress === undefined) continue',
    test: { file: hostile, name: 'that repeats the same progress is given' },
  },
  {
    promise: 'a request to a Kubo has a timeout',
    file: 'src/concurrency/deadline.ts',
    find: '    this.moved()\n',
    replace: '',
    test: { file: hostile, name: 'that never answers pin/ls is given up' },
  },
]
