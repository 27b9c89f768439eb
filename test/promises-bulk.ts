import type { KeptPromise } from './promises.ts'

const rule = (name: string) => ({ file: 'test/catalogue/content-rules.test.ts', name })
const job = (name: string) => ({ file: 'test/pins/removal/bulk.test.ts', name })
const shared = (name: string) => ({ file: 'test/adapters/postgres/bulk-holds.test.ts', name })

/** Promises about jobs that delete many records, and their undo. */
export const bulkPromises: readonly KeptPromise[] = [
  {
    promise: 'nobody reads a removed record in its undo period',
    file: 'src/catalogue/sqlite/sqlite-records.ts',
    find: '          holds.setEnds(id, MUTED)\n',
    replace: '',
    test: job('hides the records at once'),
  },
  {
    promise: 'a reconciliation keeps the holds of removed records',
    file: 'src/catalogue/sqlite/record-table.ts',
    find: ' || this.#removed.get(id) !== undefined',
    replace: '',
    test: job('hides the records at once'),
  },
  {
    promise: 'removed content is released after the undo period',
    file: 'src/catalogue/rules/bulk-rules.ts',
    find: '    yield* parts.release(records)\n',
    replace: '',
    test: rule('keeps removed content until'),
  },
  {
    promise: 'a job that was paused after its last step waits for the end of its undo period',
    file: 'src/catalogue/rules/bulk-rules.ts',
    find: '    yield* schedule(change, change.endedAt + change.undoMs)\n',
    replace: '',
    test: rule('shows a job as due'),
  },
  {
    promise: 'a step of a job is carried out once',
    file: 'src/catalogue/rules/bulk-progress.ts',
    find: ' || change.place !== place ? null',
    replace: ' ? null',
    test: rule('carries out no step'),
  },
  {
    promise: 'an undo checks the quota',
    file: 'src/catalogue/rules/bulk-rules.ts',
    find: 'if (excess !== null) throw',
    replace: 'if (excess === undefined) throw',
    test: rule('refuses an undo after its period'),
  },
  {
    promise: 'an undo leaves expired records removed',
    file: 'src/catalogue/rules/restore-rules.ts',
    find: 'if (expiresAt !== null && expiresAt <= now) failures',
    replace: 'if (expiresAt === 0) failures',
    test: rule('restores neither expired records'),
  },
  {
    promise: 'a restored hold ends with its record',
    file: 'src/catalogue/sqlite/sqlite-records.ts',
    find: 'own(() => holds.setEnds(id, expiresAt))',
    replace: 'own(() => holds.setEnds(id, expiresAt === null ? 1 : expiresAt))',
    test: job('hides the records at once'),
  },
  {
    promise: 'a job refuses another number of records than expected',
    file: 'src/pins/bulk/bulk-service.ts',
    find: 'if (total === expected) return',
    replace: 'if (total >= 0) return',
    test: job('selects by filter, and refuses'),
  },
  {
    promise: 'a job goes on after a restart',
    file: 'src/wiring/bulk-module.ts',
    find: 'start: async (): Promise<void> => runner.wake()',
    replace: 'start: async (): Promise<void> => undefined',
    test: job('continues after a restart'),
  },
  {
    promise: 'each node mutes its own holds of removed records',
    file: 'adapters/postgres/shared-holds.ts',
    find: '    await this.#storeEnds()\n',
    replace: '',
    test: shared('lose their readers, keep their content'),
  },
  {
    promise: 'a reconciliation keeps the holds of other nodes’ removals',
    file: 'adapters/postgres/postgres-reconciliation.ts',
    find: "state IN ('used', 'kept')",
    replace: "state = 'used'",
    test: shared('lose their readers, keep their content'),
  },
  {
    promise: 'an edit of the expiry counts in the usage',
    file: 'src/catalogue/rules/edit-rules.ts',
    find: '      expiring += by\n',
    replace: '',
    test: rule('changes the expiry of many records'),
  },
  {
    promise: 'a step of edits is carried out once',
    file: 'src/catalogue/rules/edit-rules.ts',
    find: "lockedAt(step, 'running')",
    replace: "lockedAt({ ...step, place: '1' }, 'running')",
    test: rule('edits the records of a step once'),
  },
  {
    promise: 'records move only between clusters of one backend',
    file: 'src/catalogue/bulk-edits.ts',
    find: "    if (!cluster.from.includes(row.clusterId)) return 'CLUSTER_NOT_ALLOWED'\n",
    replace: '',
    test: rule('moves many records to another cluster'),
  },
  {
    promise: 'the hold of a record ends with its new expiry',
    file: 'src/catalogue/rules/edit-rules.ts',
    find: 'yield* parts.unkeep({ ...after, holdId })',
    replace: 'null',
    test: job('keeps content until its new expiry'),
  },
  {
    promise: 'a filter without its number deletes nothing',
    file: 'adapters/cli/job-commands.ts',
    find: "function numberFlag(text = '0')",
    replace: "function numberFlag(text = '3')",
    test: { file: 'test/adapters/cli/jobs.test.ts', name: 'a filter counts, deletes' },
  },
  {
    promise: 'a wait for a job ends with the job',
    file: 'src/pins/bulk/bulk-jobs.ts',
    find: 'steps.watch(looked.resolve)',
    replace: 'steps.watch(() => undefined)',
    test: { file: 'test/pins/removal/bulk-jobs.test.ts', name: 'jobs of an engine delete' },
  },
  {
    promise: 'an undo counts what it restores',
    file: 'src/catalogue/rules/restore-rules.ts',
    find: '  yield* run(COUNT, { accountId, ...added })\n',
    replace: '',
    test: rule('random play'),
  },
]
