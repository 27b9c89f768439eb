import type { KeptPromise } from './promises.ts'

const backend = 'adapters/kubo/kubo-backend.ts'
const rpc = 'adapters/kubo/kubo-rpc.ts'
const pins = 'test/adapters/kubo/pins.test.ts'
const hostile = 'test/adapters/kubo/hostile.test.ts'
const rules = 'test/adapters/kubo/kubo-backend.test.ts'

/** What a cluster that a Kubo keeps promises. */
export const kuboPromises: readonly KeptPromise[] = [
  {
    promise: 'what a Kubo pins for us is a block of our own, so that no pin of a user is renamed or removed',
    file: backend,
    find: 'this.#rpc.pinAdd(block.cid, block.name, signal, moved)',
    replace: 'this.#rpc.pinAdd(root, block.name, signal, moved)',
    test: { file: pins, name: 'a user who pins the same root keeps that pin, made before or after (recorded)' },
  },
  {
    promise: 'a Kubo that has taken fewer blocks of small contents than it was sent is not believed',
    file: backend,
    find: 'taken !== blocks.length',
    replace: 'taken === 0',
    test: { file: hostile, name: 'are not believed to be taken where fewer blocks were' },
  },
  {
    promise: 'a Kubo that has ceased to sync is found out',
    file: backend,
    find: 'this.#syncedUntil = this.#clock.now() + CONFIG_MS',
    replace: 'this.#syncedUntil = Number.POSITIVE_INFINITY',
    test: { file: hostile, name: 'that syncs no more is found out within ten minutes' },
  },
  {
    promise: 'a pin of a Kubo that does not carry our name is not removed',
    file: backend,
    find: 'if ((await this.#rpc.pinName(block.cid, own)) !== block.name) return',
    replace: 'if ((await this.#rpc.pinName(block.cid, own)) === null) return',
    test: { file: pins, name: 'is neither counted nor removed (recorded)' },
  },
  {
    promise: 'a pin of a Kubo that only calls itself ours is not taken for ours',
    file: backend,
    find: 'return isOurs ? {',
    replace: 'return isOurs || name !== "" ? {',
    test: { file: pins, name: 'a pin that only calls itself ours is not (recorded)' },
  },
  {
    promise: 'a Kubo is asked whether content has come to be needed before it is to let go',
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
    promise: 'only a datastore that syncs blocks before pins is taken for durable',
    file: 'adapters/kubo/datastore-sync.ts',
    find: '!(blocks === pins && syncsWhenAsked(blocks))',
    replace: '!syncsWhenAsked(blocks)',
    test: { file: 'test/adapters/kubo/datastore-sync.test.ts', name: 'blocks in a Pebble that nobody asks to sync' },
  },
  {
    promise: 'what a Kubo has lost is sent to it again',
    file: backend,
    find: ') && !isRepair) return',
    replace: ') || isRepair) return',
    test: { file: pins, name: 'has all of it again where it has lost some (recorded)' },
  },
  {
    promise: 'a Kubo that says it has pinned is looked at',
    file: backend,
    find: 'if (!(await this.#isPinned(block, signal))) throw',
    replace: "if (block.name === '') throw",
    test: { file: hostile, name: 'that answers with a pin that is not there is not believed' },
  },
  {
    promise: 'a Kubo that has taken fewer blocks than it was sent is not believed',
    file: backend,
    find: 'if (taken !== blocks) throw',
    replace: 'if (taken < 1) throw',
    test: { file: hostile, name: 'that answers with fewer blocks than were sent is not believed' },
  },
  {
    promise: 'what went wrong with a root is found in a good answer of a Kubo',
    file: rpc,
    find: "if (Root?.PinErrorMsg !== undefined && Root.PinErrorMsg !== '') throw failure(shortened(Root.PinErrorMsg))",
    replace: '',
    test: { file: hostile, name: 'that answers with a root that failed, in a 200 is not believed' },
  },
  {
    promise: 'what went wrong after a good answer of a Kubo is found in its trailers',
    file: 'adapters/kubo/kubo-answers.ts',
    find: "return late === undefined || late === '' ? null : shortened(late)",
    replace: "return late === 'never' ? shortened(late) : null",
    test: { file: hostile, name: 'that answers with an error after everything else is not believed' },
  },
  {
    promise: 'a Kubo that repeats how far it is does not go on',
    file: rpc,
    find: 'if (Progress === undefined || Progress <= most) continue',
    replace: 'if (Progress === undefined) continue',
    test: { file: hostile, name: 'that repeats how far it is does not go on' },
  },
  {
    promise: 'a request to a Kubo ends in time',
    file: 'src/concurrency/deadline.ts',
    find: '    this.moved()\n',
    replace: '',
    test: { file: hostile, name: 'that never answers pin/ls is given up' },
  },
]
