import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { HoldfastClient } from '../../../../adapters/client/index.ts'
import { Database } from '../../../../src/storage/database.ts'
import { MemoryCluster } from '../../../clusters/memory-cluster.ts'
import { Receiver } from '../../../features/webhooks/receiver.ts' // feature: webhooks
import { inBrowser } from '../../../support/browser.ts'
import { Keyboard } from '../../../support/keyboard.ts'
import { expectGoodLooks } from '../../../support/looks.ts'
import { withTempDir } from '../../../support/temp-dir.ts'
import { consoles, goTo } from './opened.ts'

const DAY_MS = 86_400_000

describe('the work of a node in the console', inBrowser, () => {
  const { signedIn } = consoles()
  const item = (page: Page, text: string | RegExp) => page.getByRole('listitem').filter({ hasText: text })

  test('shows the jobs of all accounts, and the age of the backup', () =>
    withTempDir(async root => {
      const writeBackup = async (createdAt: number): Promise<void> => {
        await mkdir(join(root, 'nightly'), { recursive: true })
        const manifest = { createdAt: new Date(createdAt).toISOString() }
        await writeFile(join(root, 'nightly', 'manifest.json'), JSON.stringify(manifest))
      }
      // The node reads the directory at its start, and then once a minute.
      await writeBackup(Date.now() - 3 * DAY_MS)
      await signedIn(
        async ({ page, server: { origin, key } }) => {
          const owner = new HoldfastClient({ base: origin, key })
          const { token } = await owner.owner.createAccount({ email: 'user@example.org', plan: 'free' })
          const user = new HoldfastClient({ base: origin, key: token })
          const { uploadId } = await user.files.upload('to delete')
          await user.jobs.untilEnded(await user.jobs.deleteRecords([uploadId])) // feature: bulk
          await goTo(page, 'owner/work')
          await expect.poll(() => item(page, '1 pin deleted').textContent()).toContain('user@example.org')
          await page.getByText('The newest backup was made 3 days ago.').waitFor()
          expect(await page.getByText('Old', { exact: true }).count()).toBe(1)
          await expectGoodLooks(page, 'node-work')
          expect(await owner.owner.backups()).toMatchObject({ hasRoots: true, running: null })
        },
        { config: { backupRoots: [root] } },
      )
    }))

  // feature: webhooks
  test('shows failed deliveries of all accounts, and sends one again by keyboard', () =>
    signedIn(
      async ({ page, server: { origin, key, engine } }) => {
        await using receiver = await new Receiver().start()
        const owner = new HoldfastClient({ base: origin, key })
        const { token } = await owner.owner.createAccount({ email: 'user@example.org', plan: 'free' })
        const user = new HoldfastClient({ base: origin, key: token })
        await user.webhooks.create(receiver.url)
        await user.files.upload('an event')
        await expect.poll(async () => (await owner.owner.deliveries()).rows[0]?.state).toBe('delivered')
        const db = new Database(join(engine.dataDir, 'holdfast.db'), { isOwned: false })
        db.prepare("UPDATE deliveries SET delivered = 0, last_error = 'no answer'").run()
        db.close()
        await goTo(page, 'owner/webhooks')
        await page.getByText('user@example.org to 127.0.0.1').first().waitFor()
        await page.getByLabel('Show').selectOption('failed')
        await item(page, 'no answer').getByText('failed', { exact: true }).waitFor()
        await expectGoodLooks(page, 'node-webhooks')
        const [row] = (await owner.owner.deliveries({ failed: true })).rows
        await new Keyboard(page).use(`Send again to ${row?.host}, ${row?.id}`)
        await page.getByText('No failed deliveries.').waitFor()
        await expect.poll(async () => (await owner.owner.deliveries()).rows[0]?.state).toBe('delivered')
        expect(receiver.received).toHaveLength(2)
        await expect(owner.owner.resend(row?.id ?? '')).rejects.toMatchObject({ code: 'NOT_FOUND' })
        // The owner needs no URL of an account, which may have a secret in its query.
        expect(JSON.stringify(await owner.owner.deliveries())).not.toContain(receiver.url)
      },
      { config: { webhooks: { allowPrivate: true } } },
    ))
  // end

  test('shows clusters with their waiting placements', async () => {
    const far = new MemoryCluster()
    far.reportedPeers = [{ peer: 'p1', freeBytes: 2_048, error: null }]
    const away = new MemoryCluster()
    away.reportedPeers = null
    const clusters = ['near', 'far', 'away'].map(id => ({ id, label: '', region: '', country: null, gateways: [] }))
    await signedIn(
      async ({ page, server }) => {
        await goTo(page, 'owner/clusters')
        const row = (name: string) => page.getByRole('row').filter({ hasText: name })
        await expect.poll(() => row('far').textContent()).toContain('p1: 2.0 KB free')
        await expect.poll(() => row('away').textContent()).toContain('nobody answers')
        await page.getByText('On this node: near').waitFor()
        await page.getByText('This node runs alone.').waitFor()
        await expectGoodLooks(page, 'node-clusters')
        expect(await new HoldfastClient({ base: server.origin, key: server.key }).owner.nodes()).toEqual([])
      },
      { config: { clusters, defaultCluster: 'near', backends: { far, away } } },
    )
  })
})
