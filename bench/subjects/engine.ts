import { createEngine, type DirectoryEntry, type Engine } from '../../src/index.ts'
import type { FileContent, TreeContent } from '../content.ts'
import type { RunningSubject, Subject, Work } from '../contest.ts'

/** The engine in this process, which reads from an asynchronous source as from an adapter. */
export const engineUpload: Subject<FileContent> = {
  name: 'engine',
  start: dir =>
    startEngine(dir, async (engine, account, content) => {
      const { record } = await engine.pins.upload(content.chunks(), { account, name: 'bench.bin' })
      return record.cid
    }),
}

export const engineDag: Subject<TreeContent> = {
  name: 'engine',
  start: dir =>
    startEngine(dir, async (engine, account, tree) => {
      const { record } = await engine.pins.uploadDirectory(entries(tree), { account, name: 'bench' })
      return record.cid
    }),
}

async function startEngine<W extends Work>(
  dir: string,
  store: (engine: Engine, account: string, work: W) => Promise<string>,
): Promise<RunningSubject<W>> {
  const engine = await createEngine({ dataDir: dir, threadPoolSize: Number(process.env.UV_THREADPOOL_SIZE ?? 4) })
  const account = await engine.accounts.create({ email: 'bench@example.org', plan: 'unlimited' })
  return {
    run: async work => ({ cid: await store(engine, account.id, work) }),
    stop: () => engine.stop(),
  }
}

async function* entries(tree: TreeContent): AsyncGenerator<DirectoryEntry, void, undefined> {
  for (const { path, bytes } of tree.files) yield { kind: 'file', path, content: bytes }
}
