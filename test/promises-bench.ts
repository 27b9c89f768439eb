import type { KeptPromise } from './promises.ts'

const bench = 'test/bench/bench.test.ts'
const clients = 'test/bench/clients.test.ts'
const table = 'test/bench/table.test.ts'
const performance = 'test/bench/performance.test.ts'

/** Promises about the figures of the benches. */
export const benchPromises: readonly KeptPromise[] = [
  {
    promise: 'each round of a bench begins with another subject',
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
    promise: 'the bare server keeps its files, so that it writes to new memory as ours does',
    file: 'bench/plain-server.ts',
    find: 'response.end(JSON.stringify({ sha256 }))',
    replace: 'response.end(JSON.stringify({ sha256 }), () => rmSync(file))',
    test: { file: bench, name: 'the bare server keeps uploads until it' },
  },
  {
    promise: 'a server older than the sources is not measured',
    file: 'bench/services/built-server.ts',
    find: 'changedAt(one) > written',
    replace: 'changedAt(one) < 0',
    test: { file: bench, name: 'a build is older than changed sources' },
  },
  {
    promise: 'unsuccessful answers give no figure',
    file: 'bench/clients/wrk.ts',
    find: 'if (failed !== undefined) throw',
    replace: 'if (failed === null) throw',
    test: { file: clients, name: 'reads the output of wrk' },
  },
  {
    promise: 'a load client uploads different bytes each time',
    file: 'bench/clients/node-client.ts',
    find: 'formBytes === undefined ? undefined : randomBytes(formBytes)',
    replace: 'formBytes === undefined ? undefined : Buffer.alloc(formBytes)',
    test: { file: clients, name: "Node's client sends the requested number" },
  },
  {
    promise: 'processor time before the start is not counted',
    file: 'bench/usage.ts',
    find: 'sum(pids.map(cpuSeconds)) - this.#cpu',
    replace: 'this.#cpu - sum(pids.map(cpuSeconds))',
    test: { file: clients, name: 'a watch measures the costs of processes' },
  },
  {
    promise: 'a missed goal is reported',
    file: 'bench/table/table.ts',
    find: "'atLeast' in goal ? ratio >= goal.atLeast : 1 / ratio <= goal.atMost",
    replace: "'atLeast' in goal ? ratio >= 0 : 1 / ratio <= goal.atMost",
    test: { file: table, name: 'a line has our value, ratios, the limit and' },
  },
  {
    promise: 'the busiest thread bounds the rate on more cores',
    file: 'bench/performance/model.ts',
    find: 'return Math.min(byCores, byThread)',
    replace: 'return byCores',
    test: { file: performance, name: 'the rate on more cores is bounded' },
  },
]
