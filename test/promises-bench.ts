import type { KeptPromise } from './promises.ts'

const bench = 'test/bench/bench.test.ts'
const clients = 'test/bench/clients.test.ts'
const table = 'test/bench/table.test.ts'
const performance = 'test/bench/performance.test.ts'

/** Of the bench: what its figures are worth. */
export const benchPromises: readonly KeptPromise[] = [
  {
    promise: 'rounds of the bench begin with another subject each',
    file: 'bench/contest.ts',
    find: 'runRound(contest, rotated(racers, round), work',
    replace: 'runRound(contest, racers, work',
    test: { file: bench, name: 'rounds rotate on fresh content' },
  },
  {
    promise: 'subjects that store different things are not compared',
    file: 'bench/contest.ts',
    find: 'if (cid !== undefined) cids.set(name, cid)',
    replace: '',
    test: { file: bench, name: 'subjects that store different things fail' },
  },
  {
    promise: 'the bare server that shows what the machine can do writes into memory as cold as ours',
    file: 'bench/plain-server.ts',
    find: 'response.end(JSON.stringify({ sha256 }))',
    replace: 'response.end(JSON.stringify({ sha256 }), () => rmSync(file))',
    test: { file: bench, name: 'the bare server keeps uploads until it' },
  },
  {
    promise: 'a server that is older than the sources is not measured',
    file: 'bench/services/built-server.ts',
    find: 'changedAt(one) > written',
    replace: 'changedAt(one) < 0',
    test: { file: bench, name: 'a build is older than changed sources' },
  },
  {
    promise: 'answers that are no success are no figure',
    file: 'bench/clients/wrk.ts',
    find: 'if (failed !== undefined) throw',
    replace: 'if (failed === null) throw',
    test: { file: clients, name: 'reads the output of wrk' },
  },
  {
    promise: 'a load client uploads other bytes each time',
    file: 'bench/clients/node-client.ts',
    find: 'formBytes === undefined ? undefined : randomBytes(formBytes)',
    replace: 'formBytes === undefined ? undefined : Buffer.alloc(formBytes)',
    test: { file: clients, name: "Node's client sends the requested number" },
  },
  {
    promise: 'processor time of before is not counted',
    file: 'bench/usage.ts',
    find: 'sum(pids.map(cpuSeconds)) - this.#cpu',
    replace: 'this.#cpu - sum(pids.map(cpuSeconds))',
    test: { file: clients, name: 'a watch measures the costs of processes' },
  },
  {
    promise: 'a goal that is missed is said to be',
    file: 'bench/table/table.ts',
    find: "'atLeast' in goal ? ratio >= goal.atLeast : 1 / ratio <= goal.atMost",
    replace: "'atLeast' in goal ? ratio >= 0 : 1 / ratio <= goal.atMost",
    test: { file: table, name: 'a line has our value, ratios, the limit and' },
  },
  {
    promise: 'the busiest thread bounds what more cores answer',
    file: 'bench/performance/model.ts',
    find: 'return Math.min(byCores, byThread)',
    replace: 'return byCores',
    test: { file: performance, name: 'the rate on more cores is bounded' },
  },
]
