import { join } from 'node:path'
import { expect, test } from 'vitest'
import { serveEngine } from '../../support/served-engine.ts'
import { runHoldfast } from '../../support/server-process.ts'
import { withTempDir } from '../../support/temp-dir.ts'

test('webhooks are added, listed, shown and removed by command', async () => {
  await withTempDir(async directory => {
    await using served = await serveEngine(join(directory, 'data'))
    const run = (...args: string[]) => runHoldfast(['webhook', ...args], served.env)
    const refused = await run('add', 'http://127.0.0.1/told')
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('url must not lead to') })
    const added = await run('add', 'https://hook.invalid/told', '--json')
    const { id, secret, url } = JSON.parse(added.stdout) as { id: string; secret: string; url: string }
    expect(id).toMatch(/^[0-9a-f]{18}$/)
    expect([added.code, url, secret.startsWith('whsec_')]).toEqual([0, 'https://hook.invalid/told', true])
    const listed = await run('list')
    expect(listed.stdout).toContain(id)
    expect(listed.stdout).not.toContain(secret)
    const form = new FormData()
    form.set('file', new Blob(['told']), 'told.txt')
    const headers = { authorization: `Bearer ${served.key}` }
    const answer = await fetch(`${served.url}/api/v3/files`, { method: 'POST', headers, body: form })
    expect(answer.status).toBe(201)
    expect((await run('log', id)).stdout).toMatch(/pin:created +waiting/)
    expect(await run('remove', id)).toMatchObject({ code: 0, stdout: `${id}  removed\n` })
    expect(await run('log', id)).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no webhook') })
  })
})
