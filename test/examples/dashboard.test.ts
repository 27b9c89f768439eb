import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { HoldfastClient } from '../../adapters/client/index.ts'
import { fixedPort } from '../support/fixed-port.ts'
import { needs } from '../support/needs.ts'
import { ServerProcess, temporaryDirectory } from '../support/server-process.ts'

const DEPLOY = join(import.meta.dirname, '../../examples/deploy')
/** The Kubo of the second cluster never answers. */
const CLUSTERS = [{ id: 'cl0-global' }, { id: 'kubo', backend: { type: 'kubo', api: 'http://127.0.0.1:9' } }]
const hasPrometheus = spawnSync('prometheus', ['--version']).status === 0

interface Dashboard {
  panels: ReadonlyArray<{ title: string; targets?: ReadonlyArray<{ expr: string }> }>
}

const { panels } = JSON.parse(readFileSync(join(DEPLOY, 'grafana.json'), 'utf8')) as Dashboard
const questions = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const))

let directory: ReturnType<typeof temporaryDirectory>
let server: ServerProcess
let prometheus: ChildProcess | undefined
let prometheusUrl: string

beforeAll(async () => {
  directory = temporaryDirectory()
  const config = join(directory.path, 'config.json')
  writeFileSync(config, JSON.stringify({ backupRoots: ['backups'], clusters: CLUSTERS }))
  const args = ['--config', config]
  server = await ServerProcess.start(join(directory.path, 'data'), args, { HOLDFAST_METRICS: 'all' }, 200_000)
  await fetch(`${server.url}/api/v3/users/me`)
  await sendContent()
  if (!hasPrometheus) return
  const target = new URL(server.url).host
  const scraped = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(DEPLOY, 'alerts.yml')],
    scrape_configs: [{ job_name: 'holdfast', static_configs: [{ targets: [target] }] }],
  }
  const file = join(directory.path, 'prometheus.json')
  writeFileSync(file, JSON.stringify(scraped))
  const port = await fixedPort()
  prometheusUrl = `http://127.0.0.1:${port}`
  const stored = `--storage.tsdb.path=${join(directory.path, 'prometheus')}`
  const flags = [`--config.file=${file}`, stored, `--web.listen-address=127.0.0.1:${port}`]
  prometheus = spawn('prometheus', flags, { stdio: 'ignore' })
  const areThere = async () => expect(await answers('sum_over_time(up[1m]) > 3')).not.toEqual([])
  await vi.waitFor(areThere, { timeout: 100_000, interval: 500 })
}, 200_000)

afterAll(async () => {
  if (prometheus?.exitCode === null) {
    prometheus.kill('SIGTERM')
    await once(prometheus, 'exit')
  }
  await ServerProcess.killAll()
  directory.remove()
})

/** Uploads a file, and has the gateway send it. */
async function sendContent(): Promise<void> {
  const [, key = ''] = /^API key of the owner, .*: (\S+)$/m.exec(server.stdout) ?? []
  const { cid } = await new HoldfastClient({ base: server.url, key }).files.upload(Buffer.from('content'))
  expect(await (await fetch(`${server.url}/ipfs/${cid}`)).text()).toBe('content')
}

async function ask(path: string): Promise<Record<string, unknown>> {
  const response = await fetch(`${prometheusUrl}/api/v1/${path}`).catch(() => null)
  if (response === null) return {}
  const { status, data, error } = (await response.json()) as { status: string; data: object; error?: string }
  expect([status, error]).toEqual(['success', undefined])
  return data as Record<string, unknown>
}

/** Returns the series that a query has now. */
async function answers(query: string): Promise<unknown[]> {
  const { result = [] } = await ask(`query?query=${encodeURIComponent(query)}`)
  return result as unknown[]
}

test('the dashboard uses existing metrics', async () => {
  const names = questions.flatMap(([, query]) => query.match(/(holdfast|process|nodejs)_\w+/g) ?? [])
  expect(names.length).toBeGreaterThan(25)
  const unreported = async () => {
    const reported = await (await fetch(`${server.url}/metrics`)).text()
    return names.filter(name => !reported.includes(`# TYPE ${name.replace(/_bucket$/, '')} `))
  }
  // The first answer may come before the node has looked for backups.
  await expect.poll(unreported, { timeout: 60_000 }).toEqual([])
})

describe('with Prometheus', needs(hasPrometheus, 'there is no prometheus'), () => {
  /** Series that exist only after an event. */
  const eventual = new Set(['Event loop'])

  test.each(questions)('%s: %s', async (title, query) => {
    const asked = query.replaceAll('$instance', '.+').replaceAll('$__rate_interval', '1m')
    const series = await answers(asked)
    if (!eventual.has(title)) expect(series).not.toEqual([])
  })

  test('Prometheus evaluates each alert', async () => {
    const { groups } = (await ask('rules')) as { groups: Array<{ rules: Array<{ name: string; health: string }> }> }
    const rules = groups.flatMap(group => group.rules)
    expect(rules.length).toBeGreaterThan(5)
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([])
  })
})
