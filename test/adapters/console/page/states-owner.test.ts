import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, test } from 'vitest'
import { HoldfastClient, type KnownNode } from '../../../../adapters/client/index.ts'
import { MemoryCluster } from '../../../clusters/memory-cluster.ts'
import { inBrowser } from '../../../support/browser.ts'
import { type ConsoleServer, fillInKey } from '../../../support/console-server.ts'
import { expectGoodLooks } from '../../../support/looks.ts'
import { withTempDir } from '../../../support/temp-dir.ts'
import { consoles, goTo, keep } from './opened.ts'

const LONG_EMAIL = `${'a-long-name'.repeat(5)}@example.org`
const CLAIMED = 'bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm'
const STEP_MS = 60_000

/** With a text that appears when the section is complete, on a node where nothing has happened. */
const QUIET = [
  ['overview', /^at most .* \/ min$/],
  ['work', 'The configuration names no directory of backups.'],
  ['webhooks', 'No deliveries yet.'], // feature: webhooks
  ['clusters', 'This node runs alone.'],
  ['network', 'Networking is off'],
  ['takedowns', 'No takedowns.'],
  ['failures', 'None since the start of the node.'],
] as const

describe('the owner’s part of the console', inBrowser, () => {
  const { signedIn, atDoor } = consoles()
  const looksOf = (page: Page) => (name: string, isBusy?: boolean) => expectGoodLooks(page, `node-${name}`, isBusy)
  const dialog = (page: Page) => page.getByRole('dialog')
  const main = (page: Page) => page.locator('#main')

  test('looks good while nothing has happened, and in an outage', () =>
    signedIn(async ({ page, server }) => {
      const look = looksOf(page)
      for (const [section, shown] of QUIET) {
        await goTo(page, `owner/${section}`)
        await main(page).getByText(shown).first().waitFor()
        await look(`quiet-${section}`)
      }
      await goTo(page, 'owner/audit')
      await page.getByLabel('Action').fill('key.revoke')
      await page.getByRole('button', { name: 'Apply' }).click()
      await page.getByText('No entries match.').waitFor()
      await look('quiet-audit')
      server.answerWith((_, outgoing) => outgoing.writeHead(503).end())
      await goTo(page, 'owner/accounts')
      await page.getByText('Trying again…').first().waitFor()
      await look('outage')
    }))

  test('looks good with much to show', () =>
    withTempDir(root => {
      const far = new MemoryCluster()
      far.reportedPeers = [
        { peer: '12D3KooWGRUuSomeLongNameOfAPeerInAClusterOfIPFS', freeBytes: 2_048, error: null },
        { peer: 'p2', freeBytes: 4_096, error: 'its disk is gone' },
      ]
      const away = new MemoryCluster()
      away.reportedPeers = null
      const clusters = ['near', 'far', 'away'].map(id => ({ id, label: '', region: '', country: null, gateways: [] }))
      return signedIn(
        async ({ page, server }) => {
          const look = looksOf(page)
          await fill(server, root)
          await stub(page)
          await goTo(page, 'owner/overview')
          await page.getByText('nobody answers').first().waitFor()
          await look('overview')
          await page.getByRole('button', { name: '3 days' }).click()
          await page.getByText('36 hours ago').first().waitFor()
          await look('overview-days')
          await page.getByRole('button', { name: 'Free it now' }).click()
          await look('collection')
          await page.keyboard.press('Escape')
          await page.getByRole('button', { name: 'Check all of it now' }).click()
          await page.getByText('1 block damaged').waitFor()
          await look('verification')
          for (const [section, shown] of [
            ['accounts', '80 % of its plan'],
            ['work', 'so far'],
            ['webhooks', 'answered 500'], // feature: webhooks
            ['clusters', MOVES[0]],
            ['network', 'Dialled by'],
            ['takedowns', 'A claim'],
            ['failures', 'content taken down'],
            ['audit', 'account.create'], // feature: audit
          ] as const) {
            await goTo(page, `owner/${section}`)
            await main(page).getByText(shown).first().waitFor()
            await look(section)
          }
          await goTo(page, 'owner/clusters')
          await page.getByRole('button', { name: 'Retire one' }).click()
          await look('node-retire')
          await page.keyboard.press('Escape')
          await page.getByRole('button', { name: 'Forget three' }).click()
          await dialog(page).getByLabel('Type three to confirm').fill('thre')
          await look('node-forget')
          await page.keyboard.press('Escape')
          await goTo(page, 'owner/accounts')
          await page.getByRole('button', { name: 'New account' }).click()
          await look('account-dialog')
          await dialog(page).getByLabel('Email').fill('owner@localhost')
          await dialog(page).getByRole('button', { name: 'Make the account' }).click()
          await page.getByRole('alert').waitFor()
          await look('account-refused')
          await dialog(page).getByLabel('Email').fill('new@example.org')
          await dialog(page).getByRole('button', { name: 'Make the account' }).click()
          await page.locator('.secret').waitFor()
          await look('account-made')
          await page.getByRole('button', { name: 'Done' }).click()
          await page.getByRole('button', { name: 'Password link for new@example.org' }).click()
          await page.locator('.secret').waitFor()
          await look('account-link')
          await page.getByRole('button', { name: 'Done' }).click()
          await page.getByRole('button', { name: 'Delete new@example.org' }).click()
          await look('account-delete')
        },
        { config: { clusters, defaultCluster: 'near', backends: { far, away }, backupRoots: [root], plans: PLANS } },
      )
    }))

  test('looks good to a user who is no owner', () =>
    atDoor(async ({ page, server: { engine } }) => {
      const user = await engine.accounts.create({ email: 'user@example.org', plan: 'free' })
      await fillInKey(page, (await engine.keys.create(user.id, { name: 'all', scopes: ['files:read'] })).secret)
      await goTo(page, 'owner')
      await page.getByRole('alert').first().waitFor()
      await expectGoodLooks(page, 'node-not-an-owner')
    }))
})

const PLANS = { five: { maxPins: 5, timelock: false, clusters: '*' as const } }

/** Fills a node with accounts, jobs, a backup, takedowns and failures. */
async function fill(server: ConsoleServer, root: string): Promise<void> {
  const { engine, origin, key } = server
  const client = new HoldfastClient({ base: origin, key })
  for (let i = 0; i < 6; i++) await keep(server, 'x'.repeat(100_000 * i + 1), `file ${i}`)
  const { token } = await client.owner.createAccount({ email: LONG_EMAIL, plan: 'five', name: 'A long name' })
  const user = new HoldfastClient({ base: origin, key: token })
  const made = []
  for (let i = 0; i < 4; i++) made.push(await user.files.upload(`pin ${i}`))
  const disabled = await client.owner.createAccount({ email: 'disabled@example.org', plan: 'free' })
  await client.owner.setDisabled(disabled.id, true)
  // feature: bulk
  const job = await user.jobs.deleteRecords([made[0]?.uploadId ?? ''])
  await user.jobs.undo((await user.jobs.untilEnded(job)).id)
  // end
  await mkdir(join(root, 'nightly'))
  const manifest = { createdAt: new Date(Date.now() - 3 * 86_400_000).toISOString() }
  await writeFile(join(root, 'nightly', 'manifest.json'), JSON.stringify(manifest))
  await engine.takedowns.add({ cid: CLAIMED, reason: 'A claim' })
  await engine.takedowns.add({
    cid: 'bafkqaaa',
    path: 'a/long/path/to/one/file.mp4',
    status: 451,
    reason: 'A judgment',
  })
}

const LOST = { account: 'x', clusterId: 'near', cid: CLAIMED, name: null, size: 1_234_567, node: 'five' }

const MOVES: [string, string] = [
  'records of eu, cl0-global (in no configuration) move to one',
  '2 records wait until one has the content',
]
let numbers = 0
function node(id: string, of: Partial<KnownNode>): KnownNode {
  return {
    ...{ id, url: `http://${id}.internal:4100`, number: ++numbers, state: 'up', membership: 'active', isLocked: true },
    ...{ since: new Date(Date.now() - 7_200_000).toISOString(), seenAt: null, records: 1_234, bytes: 5e9, total: null },
    ...of,
  }
}

/** Changes real answers to states that only days, several machines or damage bring about. */
async function stub(page: Page): Promise<void> {
  const change = (path: string, to: (answer: Record<string, unknown>) => unknown): Promise<unknown> =>
    page.route(`**/admin/v1${path}`, async route => {
      const response = await route.fetch()
      await route.fulfill({ response, json: to(await response.json()) })
    })
  await change('/history*', answer => ({
    ...answer,
    samples: Array.from({ length: 150 }, (_, i) => {
      const wave = 1 + Math.sin(i / 9)
      const at = new Date(Date.now() - (149 - i) * STEP_MS * (Number(answer.stepSeconds) / 60)).toISOString()
      const counts = { requests: Math.round(400 * wave), refused: Math.round(40 * wave), failed: i % 40 === 0 ? 25 : 0 }
      return {
        ...counts,
        at,
        sentBytes: 4e6 * wave,
        receivedBytes: 9e5 * (3 - wave),
        storedBytes: 1e9 + i * 4e6,
      }
    }),
  }))
  await change('/stats', answer => ({
    ...answer,
    pins: { pinned: 812_345, pinning: 12, queued: 1_024, failed: 7 },
    garbageBlocks: 1_234,
  }))
  await change('/nodes', () => ({
    nodes: [
      node('one', {}),
      node('two', { url: `http://${'two'.repeat(20)}.internal:4100`, state: 'leaving' }),
      node('three', { state: 'down', isLocked: false }),
      node('four', { membership: 'retiring', total: 4_000, waits: MOVES }),
      node('five', { state: 'down', isLocked: false, membership: 'forgetting', total: 1_600 }),
      node('other', {}),
      node('six', { state: 'down', isLocked: false, membership: 'retired', records: 0, bytes: 0, total: 12 }),
      node('seven', { state: 'down', isLocked: false, membership: 'forgotten', records: 0, bytes: 0, total: 1 }),
    ],
  }))
  await change('/lost*', () => ({
    next: 'the next page',
    records: [
      { ...LOST, uploadId: 'u1', status: 'failed', reason: 'lost with node five', name: 'a photograph.jpg' },
      {
        ...LOST,
        uploadId: 'u2',
        status: 'pinning',
        reason: 'the node five was given up: the content is fetched again',
      },
    ],
  }))
  await change('/backups', answer => ({
    ...answer,
    hasRoots: true,
    newestAt: new Date(Date.now() - 3 * 86_400_000),
    running: { blocks: 12_345, bytes: 67_890_123 },
  }))
  const at = new Date(Date.now() - 60_000).toISOString()
  // feature: webhooks
  await change('/deliveries*', () => ({
    deliveries: (['failed', 'waiting', 'delivered'] as const).map((state, i) => ({
      ...{ id: `${i}`, account: 'x', host: 'hooks.example.org', event: 'pin:created', state, at, attempts: 3 },
      nextAttemptAt: state === 'waiting' ? new Date(Date.now() + 90_000).toISOString() : null,
      lastStatus: state === 'delivered' ? 200 : 500,
      lastError: state === 'failed' ? 'answered 500, eight times' : null,
    })),
    next: null,
  }))
  // end
  const id = '12D3KooWEyoppNCUx8Yx66oV9fJnriXwCcXwDDUA2kj6vnc6iDEp'
  await change('/peers', answer => ({
    ...answer,
    peerId: id,
    addresses: [`/ip4/127.0.0.1/tcp/4001/p2p/${id}`, `/dns4/node.example.org/tcp/443/tls/ws/p2p/${id}`],
    peers: [{ id, address: `/ip4/192.0.2.7/tcp/4001/p2p/${id}`, direction: 'outbound', since: at }],
    count: 1,
  }))
  await page.route('**/admin/v1/verify', route => {
    const damaged = [{ cid: CLAIMED, reason: 'the bytes have another hash', roots: [CLAIMED] }]
    const line = { done: true, blocks: 812, bytes: 4e9, damaged, damagedBlocks: 1 }
    return route.fulfill({ contentType: 'application/x-ndjson', body: `${JSON.stringify(line)}\n` })
  })
}
