import type { Broken } from './content-wrong.ts'

/** Those that are wrong in one thing each, and words of the rules that find it out. */
export const wrongWebhooks: ReadonlyArray<[what: string, broken: Broken, rules: RegExp[]]> = [
  [
    'forgets to tell of removals',
    ({ webhooks }) => ({
      webhooks: {
        ...webhooks,
        deliveries: async (...request) => {
          const { rows, next } = await webhooks.deliveries(...request)
          return { rows: rows.filter(({ event }) => event !== 'pin:removed'), next }
        },
      },
    }),
    [/^each transition/],
  ],
  [
    'tells what has been told again',
    ({ webhooks }) => ({
      webhooks: { ...webhooks, end: (id, { at }) => webhooks.retry(id, { status: 200, error: null, at, dueAt: at }) },
    }),
    [/^a delivery is due until/, /^what waits for one webhook/],
  ],
  [
    'tells again at once',
    ({ webhooks }) => ({
      webhooks: { ...webhooks, retry: (id, retry) => webhooks.retry(id, { ...retry, dueAt: 0 }) },
    }),
    [/^a delivery is due until/],
  ],
  [
    'gives a webhook to whoever knows its id',
    ({ webhooks }) => ({
      webhooks: { ...webhooks, remove: async (_, id) => webhooks.remove('one', id) },
    }),
    [/^a webhook is its account/],
  ],
  [
    'has as many webhooks as anybody wants',
    ({ webhooks }) => ({ webhooks: { ...webhooks, insert: webhook => webhooks.insert(webhook, 1_000) } }),
    [/^a webhook is its account/],
  ],
  [
    'begins with the first account again',
    ({ webhooks }) => ({ webhooks: { ...webhooks, due: query => webhooks.due({ ...query, after: '' }) } }),
    [/^deliveries are looked for/],
  ],
]
