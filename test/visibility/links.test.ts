import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HoldfastClient } from '../../adapters/client/index.ts'
import { collect, pseudoRandom } from '../support/bytes.ts'
import { serveEngine } from '../support/served-engine.ts'
import { withTempDir } from '../support/temp-dir.ts'

type Visibility = 'public' | 'private' | undefined

/** Runs with a client, and a function that uploads by each route. */
async function withUploads(run: (client: HoldfastClient, upload: Upload) => Promise<void>): Promise<void> {
  await withTempDir(async dataDir => {
    await using served = await serveEngine(dataDir)
    const client = new HoldfastClient({ base: served.env.HOLDFAST_API, key: served.key })
    await mkdir(join(dataDir, 'import/site'), { recursive: true })
    await writeFile(join(dataDir, 'import/site/index.html'), '<h1>imported</h1>')
    const packed = await client.files.upload('packed')
    const car = Buffer.from(await collect(await client.content.archive(packed.cid, 'car')))
    await run(client, async visibility => {
      const { roots, ...first } = await client.files.importCar(car, { visibility })
      return [
        await client.files.upload('small', { visibility }),
        await client.files.upload(pseudoRandom(200_000, 'large'), { visibility }),
        await client.files.uploadDirectory([{ path: 'a.txt', content: 'a' }], { visibility }),
        await client.files.importDirectory('site', { visibility }),
        first,
        ...roots,
      ]
    })
  })
}

type Upload = (visibility: Visibility) => Promise<Array<{ cid: string; visibility: string; url?: string }>>

test('an answer to an upload links to public content only', async () => {
  await withUploads(async (client, upload) => {
    for (const { visibility, cid, url } of await upload('public')) {
      expect([visibility, url]).toEqual(['public', expect.stringMatching(new RegExp(`^http.*/ipfs/${cid}$`))])
    }
    for (const answer of await upload('private')) {
      expect(answer.visibility).toBe('private')
      expect(answer).not.toHaveProperty('url')
    }
    await client.account.update({ defaultVisibility: 'private' })
    for (const answer of await upload(undefined)) {
      expect(answer.visibility).toBe('private')
      expect(answer).not.toHaveProperty('url')
    }
  })
})

test('a record that becomes public gets a link, and loses it again', async () => {
  await withUploads(async client => {
    const { uploadId, cid } = await client.files.upload('changes', { visibility: 'private' })
    const open = await client.pins.setVisibility(uploadId, 'public')
    expect(open.url).toMatch(new RegExp(`/ipfs/${cid}$`))
    expect(await client.pins.setVisibility(uploadId, 'private')).not.toHaveProperty('url')
  })
})
