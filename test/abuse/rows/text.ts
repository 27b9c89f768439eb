import type { AbuseRow } from '../row.ts'

const CID = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'

/** Texts that make a backtracking regular expression slow. */
export const rows: readonly AbuseRow[] = [
  {
    name: 'a file name of backslashes whose quote never closes',
    answers: [400],
    request: async server => {
      const disposition = `form-data; name="file"; filename="${'\\'.repeat(80)}`
      const answer = await server.ask('/api/v3/files', {
        method: 'POST',
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
        body: `--b\r\ncontent-disposition: ${disposition}\r\n\r\nx\r\n--b--\r\n`,
      })
      return answer.status
    },
  },
  {
    name: 'twenty credentials of fifteen thousand spaces',
    answers: [401, 429],
    request: async server => {
      const headers = { authorization: `Bearer${' '.repeat(15_000)}x y`, 'x-api-key': '' }
      const answers = await Promise.all(Array.from({ length: 20 }, () => server.ask('/api/v3/users/me', { headers })))
      return Math.max(...answers.map(answer => answer.status))
    },
  },
  {
    name: 'an origin that ends in eighty thousand slashes',
    answers: [400, 404],
    request: async server => {
      const origins = [`http://${'/'.repeat(80_000)}x`, `https://example.org${'/'.repeat(80_000)}x`]
      return (await server.askJson('POST', `/api/v3/files/pin/${CID}`, { origins })).status
    },
  },
  {
    name: 'a key with four hundred kilobytes of scopes',
    answers: [400],
    request: async server => {
      const scopes = Array.from({ length: 40_000 }, (_, i) => `scope:${i}`)
      return (await server.askJson('POST', '/api/v3/tokens/generate', { name: 'scopes', scopes })).status
    },
  },
  {
    name: 'a name of a megabyte, and deeply nested JSON arrays',
    answers: [400],
    request: async server => {
      const headers = { 'content-type': 'application/json' }
      const values = [`"${'n'.repeat(1_000_000)}"`, `${'['.repeat(500_000)}${']'.repeat(500_000)}`]
      const answers = await Promise.all(
        values.map(value =>
          server.ask('/api/v3/files/rename/none', { method: 'PUT', headers, body: `{"newName":${value}}` }),
        ),
      )
      return Math.max(...answers.map(answer => answer.status))
    },
  },
]
