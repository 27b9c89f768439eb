import type { KeptPromise } from './promises.ts'

const page = (name: string) => ({ file: 'test/adapters/console/page/owner-work.test.ts', name })
const rule = (name: string) => ({ file: 'test/catalogue/content-rules.test.ts', name })

/** Promises about what an owner sees and does for all accounts. */
export const ownerPromises: readonly KeptPromise[] = [
  {
    promise: 'a delivery that is sent again waits as every other',
    file: 'src/features/webhooks/delivery-rules.ts',
    find: '        yield* run(COUNT_REOPENED, state)\n',
    replace: '',
    test: rule('lists deliveries of all accounts'),
  },
  {
    promise: 'only a failed delivery is sent again',
    file: 'src/features/webhooks/delivery-rules.ts',
    find: "WHERE id = :id AND ${isSet('ended')} AND ${isUnset('delivered')}",
    replace: "WHERE id = :id AND ${isSet('ended')}",
    test: rule('lists deliveries of all accounts'),
  },
  {
    promise: 'a delivery that is sent again needs no other event',
    file: 'src/features/webhooks/webhook-service.ts',
    find: "with this id')\n    wake()\n",
    replace: "with this id')\n    void wake\n",
    test: page('shows failed deliveries of all'),
  },
  {
    promise: 'owners see no URL of a webhook',
    file: 'src/features/webhooks/webhook-service.ts',
    find: "rows: rows.map(({ url, ...row }) => ({ ...row, host: URL.parse(url)?.host ?? '' }))",
    replace: 'rows: rows.map(row => ({ ...row, host: row.url }))',
    test: page('shows failed deliveries of all'),
  },
  {
    promise: 'the console warns of an old backup',
    file: 'adapters/console/page/owner/work-view.ts',
    find: 'now - Date.parse(newestAt) > OLD_DAYS * DAY_MS',
    replace: 'false',
    test: page('shows the jobs of all accounts'),
  },
  {
    promise: 'the owner in the process leaves no entry in the audit log',
    file: 'src/wiring/http.ts',
    find: 'limits: NO_LIMITS })',
    replace: 'limits: NO_LIMITS, audit: below.features.audit })',
    test: { file: 'test/wiring/owners-api.test.ts', name: 'needs no credential, and leaves no row' },
  },
]
