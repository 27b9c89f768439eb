import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Audit, assertError, BASE, expectStatus, json } from '../../contract/world.ts'

/** Uploads from a URL. The audited service may reach private addresses. */
export const urlAudits: readonly Audit[] = [
  {
    id: 'urls.upload',
    name: 'MUST upload the file at a URL, and answer 200 when it is the same',
    async run({ actor }) {
      const account = await actor()
      const remote = createServer(({ url }, response) => {
        if (url === '/note.txt') response.end('a note')
        else response.writeHead(404).end()
      })
      await once(remote.listen(0, '127.0.0.1'), 'listening')
      const from = `http://127.0.0.1:${(remote.address() as AddressInfo).port}`
      const upload = (url: string) => account.request('POST', `${BASE}/files/url`, json({ url }))
      try {
        const { json: made } = await expectStatus(upload(`${from}/note.txt`), 201)
        assert.deepEqual([made.name, made.size, made.type], ['note.txt', 6, 'file'])
        const { json: again } = await expectStatus(upload(`${from}/note.txt`), 200)
        assert.equal(again.uploadId, made.uploadId)
        assertError(await upload(`${from}/none`), 400, 'VALIDATION')
        assertError(await upload('file:///etc/passwd'), 400, 'VALIDATION')
      } finally {
        remote.closeAllConnections()
        remote.close()
      }
    },
  },
]
