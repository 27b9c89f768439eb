import type { AbuseRow } from '../row.ts'

const CID = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
const AT_ONCE = 200
const USES = 3

/** Requests to the pinning service API, upload tokens and webhooks. */
export const rows: readonly AbuseRow[] = [
  {
    name: 'a pin with a hundred thousand origins or keys of meta',
    answers: [400],
    request: async server => {
      const many = Array.from({ length: 100_000 }, (_, i) => `${i}`)
      const bodies = [
        { cid: CID, origins: many },
        { cid: CID, meta: Object.fromEntries(many.map(key => [key, ''])) },
        { cid: 'b'.repeat(1_000_000) },
      ]
      const answers = await Promise.all(bodies.map(body => server.askJson('POST', '/psa/pins', body)))
      return Math.min(...answers.map(({ status }) => status))
    },
  },
  {
    name: 'two hundred concurrent lists by a part of the name',
    answers: [200],
    request: async server => {
      const name = 'ab'.repeat(127)
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, () => server.ask(`/psa/pins?limit=1000&match=ipartial&name=${name}`)),
      )
      return Math.max(...answers.map(({ status }) => status))
    },
  },
  {
    name: 'two hundred concurrent uploads with a token for three',
    answers: [USES],
    request: async server => {
      const made = await server.askJson('POST', '/api/v3/tokens/generate', { name: 'few', maxUses: USES })
      const { token } = JSON.parse(made.body.toString()) as { token: string }
      const form = (i: number): string =>
        `--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n${i} of many\r\n--b--\r\n`
      const headers = { 'x-api-key': token, 'content-type': 'multipart/form-data; boundary=b' }
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, i) =>
          server.ask('/api/v3/files', { method: 'POST', headers, body: form(i) }),
        ),
      )
      return answers.filter(({ status }) => status === 201 || status === 200).length
    },
  },
  {
    name: 'a webhook whose URL is a megabyte, or this machine',
    answers: [400],
    request: async server => {
      const urls = [
        `https://example.org/${'a'.repeat(1_000_000)}`,
        `https://${'a.'.repeat(200_000)}org`,
        'http://127.0.0.1:9/',
      ]
      const answers = await Promise.all(urls.map(url => server.askJson('POST', '/api/v3/webhooks', { url })))
      return Math.min(...answers.map(({ status }) => status))
    },
  },
]
