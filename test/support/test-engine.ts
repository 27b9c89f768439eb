import { serverAdapters } from '../../adapters/cli/server-adapters.ts'
import type { Engine, EngineOptions } from '../../src/index.ts'
import { createTestEngine } from '../../src/testing/index.ts'
import { ManualClock } from './manual-clock.ts'
import { withTempDir } from './temp-dir.ts'

/** An engine in its own directory, with an account without limits, on a clock that the test moves. */
export interface TestEngine {
  engine: Engine
  dataDir: string
  clock: ManualClock
  /** Id of an account on the plan `unlimited`. */
  account: string
  /** Creates another account. Returns its id. */
  newAccount(plan?: string): Promise<string>
  /** Stops the engine and starts another one on the same directory. */
  restart(options?: Partial<EngineOptions>): Promise<Engine>
}

export type TestEngineOptions = Partial<Omit<EngineOptions, 'clock' | 'dataDir'>>

/** Runs a test with a new engine. Stops and deletes it afterwards. */
export function withEngine<T>(run: (test: TestEngine) => Promise<T>, options: TestEngineOptions = {}): Promise<T> {
  return withTempDir(dataDir => runEngine(dataDir, options, run))
}

async function runEngine<T>(
  dataDir: string,
  options: TestEngineOptions,
  run: (test: TestEngine) => Promise<T>,
): Promise<T> {
  const clock = new ManualClock()
  let accounts = 0
  const test: TestEngine = {
    engine: await createTestEngine({ ...serverAdapters, ...options, dataDir, clock }),
    dataDir,
    clock,
    account: '',
    newAccount: async (plan = 'unlimited') => {
      accounts++
      return (await test.engine.accounts.create({ email: `account${accounts}@example.org`, plan })).id
    },
    restart: async changed => {
      await test.engine.stop()
      test.engine = await createTestEngine({ ...serverAdapters, ...options, ...changed, dataDir, clock })
      return test.engine
    },
  }
  try {
    test.account = await test.newAccount()
    return await run(test)
  } finally {
    await test.engine.stop()
  }
}
