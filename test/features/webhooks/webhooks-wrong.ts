import type { Broken } from '../../catalogue/content-wrong.ts'

/** Webhooks with one fault each, and the rules that must detect it. */
export const wrongWebhooks: ReadonlyArray<[what: string, broken: Broken, rules: RegExp[]]> = [
  [
    'adds no delivery for removals',
    ({ webhooks }) => ({
      webhooks: {
        ...webhooks,
        deliveries: async (...request) => {
          const { rows, next } = await webhooks.deliveries(...request)
          return { rows: rows.filter(({ event }) => event !== 'pin:removed'), next }
        },
      },
    }),
    [/^adds a delivery/],
  ],
  [
    'sends an ended delivery again',
    ({ webhooks }) => ({
      webhooks: { ...webhooks, end: (id, { at }) => webhooks.retry(id, { status: 200, error: null, at, dueAt: at }) },
    }),
    [/^keeps a delivery/, /^limits the waiting/],
  ],
  [
    'sends a failed delivery again, but counts it as ended',
    ({ webhooks }) => ({ webhooks: { ...webhooks, resend: async () => true } }),
    [/^lists deliveries of all/],
  ],
  [
    'retries a delivery without a pause',
    ({ webhooks }) => ({
      webhooks: { ...webhooks, retry: (id, retry) => webhooks.retry(id, { ...retry, dueAt: 0 }) },
    }),
    [/^keeps a delivery/],
  ],
  [
    'postpones nothing',
    ({ webhooks }) => ({ webhooks: { ...webhooks, postpone: async () => undefined } }),
    [/^postpones what waits/],
  ],
  [
    'returns a webhook to every account',
    ({ webhooks }) => ({
      webhooks: { ...webhooks, remove: async (_, id) => webhooks.remove('one', id) },
    }),
    [/^removes a webhook/],
  ],
  [
    'accepts any number of webhooks',
    ({ webhooks }) => ({ webhooks: { ...webhooks, insert: webhook => webhooks.insert(webhook, 1_000) } }),
    [/^removes a webhook/],
  ],
  [
    'starts from the first account each time',
    ({ webhooks }) => ({ webhooks: { ...webhooks, due: query => webhooks.due({ ...query, after: '' }) } }),
    [/^reads due deliveries/],
  ],
]
