import { mkdtemp, readdir, realpath, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DATABASE } from '../disk/file-names.ts'
import { createEngine, type Engine, type EngineOptions } from '../index.ts'
import { writeEmptyDatabase } from '../storage/empty-database.ts'
import { TestClock } from './test-clock.ts'

/** Options of an engine for tests. */
export interface TestEngineOptions extends Omit<EngineOptions, 'clock' | 'dataDir'> {
  /**
   * Keeps the data in this directory, and continues with the data in it. Default: a new directory, which `stop`
   * deletes. It is in memory if `/dev/shm` has 1 GiB free.
   */
  dataDir?: string
  /** Default: a clock that stands at the time of the system. */
  clock?: TestClock
}

/** An engine on a clock that the test moves. */
export interface TestEngine extends Engine {
  readonly clock: TestClock
}

/** File system in memory, on Linux. */
const MEMORY = '/dev/shm'
/** Free bytes in memory that an engine for tests needs, so that uploads of tests have room. */
const LEAST_MEMORY = 1024 ** 3

/**
 * Starts an engine for a test, in a directory of its own, without network, on a clock that stands still. Call `stop`,
 * or declare the engine by `await using`, to stop it and to delete the directory.
 * @throws HoldfastError the errors of `createEngine`
 * @example
 * await using engine = await createTestEngine()
 * const { record } = await engine.pins.upload('hello')
 */
export async function createTestEngine({
  dataDir,
  clock = new TestClock(),
  ...options
}: TestEngineOptions = {}): Promise<TestEngine> {
  const directory = dataDir ?? (await realpath(await mkdtemp(join(await parentOfTests(), 'holdfast-test-'))))
  const remove = async (): Promise<void> => {
    if (dataDir === undefined) await rm(directory, { recursive: true, force: true })
  }
  try {
    if (await isEmpty(directory)) writeEmptyDatabase(join(directory, DATABASE))
    const engine = await createEngine({ ...options, dataDir: directory, clock })
    const stop = (): Promise<void> => engine.stop().finally(remove)
    return { ...engine, clock, stop, [Symbol.asyncDispose]: stop }
  } catch (error) {
    await remove()
    throw error
  }
}

async function isEmpty(directory: string): Promise<boolean> {
  const names = await readdir(directory).catch(() => null)
  return names?.length === 0
}

async function parentOfTests(): Promise<string> {
  try {
    const { bavail, bsize } = await statfs(MEMORY)
    return bavail * bsize >= LEAST_MEMORY ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}
