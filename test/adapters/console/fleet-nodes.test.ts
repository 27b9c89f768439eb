import { copyFile, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serverAdapters } from '../../../adapters/cli/server-adapters.ts'
import { systemClock } from '../../../src/domain/clock.ts'
import { inBrowser, launchBrowser } from '../../support/browser.ts'
import { signInByKey, withConsole } from '../../support/console-server.ts'
import { type FleetNode, fleetNode } from '../../support/fleet.ts'
import { Keyboard } from '../../support/keyboard.ts'
import { expectGoodLooks } from '../../support/looks.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const PATIENCE = { timeout: 60_000, interval: 200 }
const cluster = { label: '', region: '', country: null, gateways: [] }
const clusters = {
  clusters: [
    { ...cluster, id: 'main', node: 'a' },
    { ...cluster, id: 'third', node: 'c' },
  ],
  defaultCluster: 'main',
}

describe('the nodes of a fleet in the console', { ...inBrowser, ...needsPostgres }, () => {
  let server: SharedPostgres
  let browser: Browser
  beforeAll(async () => {
    server = await sharedPostgres()
    browser = await launchBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  const item = (page: Page, id: string) =>
    page.getByRole('listitem').filter({ has: page.getByText(id, { exact: true }) })

  test('retires and forgets a node by keyboard, and lists what was lost', async () => {
    const database = await server.migrated()
    await withTempDir(root =>
      withConsole(
        async console => {
          const { engine, owner } = console
          const page = await browser.newPage()
          await signInByKey(page, console)
          const opened: FleetNode[] = []
          const start = async (id: string, name = id): Promise<FleetNode> => {
            const dataDir = join(root, name)
            await mkdir(dataDir, { mode: 0o700 })
            await copyFile(join(engine.dataDir, 'data.key'), join(dataDir, 'data.key'))
            const node = await fleetNode(id, dataDir, { ...clusters, database, clock: systemClock })
            opened.push(node)
            return node
          }
          try {
            await start('b')
            const c = await start('c')
            await c.engine.pins.upload(Buffer.from('on c alone'), {
              account: owner,
              name: 'lost.txt',
              cluster: 'third',
            })
            await page.goto(`${console.origin}/console/#/owner/clusters`)
            const keys = new Keyboard(page)
            await item(page, 'b').getByText('0 pins, 0 B').waitFor()
            await expectGoodLooks(page, 'nodes')

            await keys.use('Retire b')
            await page.getByRole('dialog').waitFor()
            await expectGoodLooks(page, 'nodes-retire')
            await page.getByLabel('Node that takes the content').selectOption('a')
            await keys.use('Retire it')
            await item(page, 'b').getByText('retired', { exact: true }).waitFor()

            // A node that refuses tells why.
            await keys.use('Retire c')
            await keys.use('Retire it')
            await page.getByRole('alert').getByText('was started with third on c').waitFor()
            await page.keyboard.press('Escape')
            await c.stop()
            await page.getByRole('button', { name: 'Forget c' }).waitFor()
            await keys.use('Forget c')
            await keys.fill('Type c to confirm', 'b')
            await page.keyboard.press('Enter')
            await expect.poll(() => page.getByRole('button', { name: 'Forget it' }).isDisabled()).toBe(true)
            expect((await engine.nodes.list()).find(({ id }) => id === 'c')?.state).toBe('active')
            await keys.fill('Type c to confirm', 'c')
            await keys.use('A new, empty directory will run as c, with the same clusters', ' ')
            await expectGoodLooks(page, 'nodes-forget')
            await keys.use('Forget it')
            await item(page, 'c').getByText('being forgotten').waitFor()
            await expectGoodLooks(page, 'nodes-forgetting')

            await rm(c.dataDir, { recursive: true })
            await start('c')
            await item(page, 'c').getByText('forgotten', { exact: true }).waitFor(PATIENCE)
            const row = page.getByRole('row').filter({ hasText: 'lost.txt' })
            await expect.poll(() => row.textContent(), PATIENCE).toContain('lost with node c')
            await expectGoodLooks(page, 'nodes-lost')
          } finally {
            await page.close()
            for (const node of opened) await node.close()
          }
        },
        origin => ({ ...clusters, ...serverAdapters, database, node: { id: 'a', url: origin } }),
      ),
    )
  })
})
