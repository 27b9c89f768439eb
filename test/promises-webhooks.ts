import type { KeptPromise } from './promises.ts'

const jobs = 'test/jobs/job-runner.test.ts'
const webhooks = 'test/features/webhooks/webhooks.test.ts'
const killed = 'test/features/webhooks/killed-webhooks.test.ts'

/** Promises about webhooks and the runner of their deliveries. */
export const webhookPromises: readonly KeptPromise[] = [
  {
    promise: 'the coding of the answer to a webhook does not matter',
    file: 'src/features/webhooks/webhook-sender.ts',
    find: ', onlyStatus: true',
    replace: '',
    test: {
      file: 'test/features/webhooks/webhook-sender.test.ts',
      name: 'an answer is its status, whatever its coding',
    },
  },
  {
    promise: 'work of a feature goes on after a restart, though nobody calls the feature',
    file: 'src/wiring/features-module.ts',
    find: 'if (feature.due !== undefined) wake()',
    replace: 'if (feature.due === null) wake()',
    test: { file: killed, name: 'after its next start' },
  },
  {
    promise: 'a notice of another node wakes features that nobody has called',
    file: 'src/wiring/node-work-module.ts',
    find: '        below.features.wake()\n',
    replace: '',
    test: { file: killed, name: 'at its next notice' },
  },
  {
    promise: 'the removal of an account ends the rows of features',
    file: 'src/wiring/storage-module.ts',
    find: ' || purgeTables(rules.driver, featureTables, { id, limit })',
    replace: '',
    test: { file: webhooks, name: 'is removed with its deliveries when its account is deleted' },
  },
  {
    promise: 'a webhook request never goes to a private address',
    file: 'src/outgoing/public-lookup.ts',
    find: 'addresses.some(({ address }) => isPrivateAddress(address))',
    replace: 'addresses.length === 0',
    test: { file: 'test/features/webhooks/webhook-sender.test.ts', name: 'a name with address 127.0.0.1 receives no' },
  },
  {
    promise: 'a webhook that hangs delays no other account',
    file: 'src/features/webhooks/webhook-runner.ts',
    find: '    perAccount: PER_ACCOUNT,',
    replace: '    perAccount: DELIVERIES_AT_ONCE,',
    test: { file: webhooks, name: 'that hangs delays no other account' },
  },
  {
    promise: 'a webhook that hangs delays no other webhook of its account for long',
    file: 'src/features/webhooks/webhook-runner.ts',
    find: '      if (status === null) await store.postpone(webhookId, outcome.at + FIRST_RETRY_MS)\n',
    replace: '',
    test: { file: webhooks, name: 'that hangs delays no other of its' },
  },
  {
    promise: 'only the deliveries that are due earlier are postponed',
    file: 'src/features/webhooks/delivery-rules.ts',
    find: 'AND due_at < :until\n',
    replace: '\n',
    test: { file: 'test/catalogue/content-rules.test.ts', name: 'postpones what waits' },
  },
  {
    promise: 'a delivery is retried until the webhook answers 2xx',
    file: 'src/features/webhooks/webhook-runner.ts',
    find: 'if (status < 200 || status > 299) throw',
    replace: 'if (status < 0) throw',
    test: { file: webhooks, name: 'receives the same body again' },
  },
  {
    promise: 'the secret of a webhook is stored encrypted',
    file: 'src/features/webhooks/webhook-service.ts',
    find: 'secret: sealed, createdAt',
    replace: 'secret: Buffer.from(secret), createdAt',
    test: { file: webhooks, name: 'receives each event once, signed' },
  },
  {
    promise: 'a query that reads all due jobs ends the pass over them',
    file: 'src/jobs/job-runner.ts',
    find: 'if (hasAll && !this.#isFull()) break\n',
    replace: '\n',
    test: { file: jobs, name: 'a query that reads all due jobs' },
  },
  {
    promise: 'a query that may lack due jobs does not end the pass',
    file: 'src/jobs/job-runner.ts',
    find: ' && !isCut(due.jobs, query.each)',
    replace: '',
    test: { file: jobs, name: 'a query that may lack due jobs' },
  },
  {
    promise: 'an account has a limited number of webhooks',
    file: 'src/features/webhooks/webhook-rules.ts',
    find: ">= most) return 'too_many'",
    replace: "> most) return 'too_many'",
    test: { file: 'test/catalogue/content-rules.test.ts', name: 'removes a webhook with its deliveries' },
  },
  {
    promise: 'a webhook has at most 1,000 waiting deliveries, in SQLite',
    file: 'src/storage/schema-webhooks.ts',
    find: 'const MOST_WAITING = 1_000',
    replace: 'const MOST_WAITING = 2_000',
    test: { file: 'test/catalogue/content-rules.test.ts', name: 'limits the waiting and the ended' },
  },
  {
    promise: 'a webhook has at most 1,000 waiting deliveries, in PostgreSQL',
    file: 'adapters/postgres/schema/schema-deliveries.ts',
    find: 'const MOST_WAITING = 1_000',
    replace: 'const MOST_WAITING = 2_000',
    test: { file: 'test/adapters/postgres/content.test.ts', name: 'limits the waiting and the ended' },
  },
  {
    promise: 'old deliveries of a webhook are deleted',
    file: 'src/features/webhooks/delivery-rules.ts',
    find: '        yield* run(FORGET, { ...ended, kept: ENDED_DELIVERIES_KEPT })\n',
    replace: '',
    test: { file: 'test/catalogue/content-rules.test.ts', name: 'limits the waiting and the ended' },
  },
]
