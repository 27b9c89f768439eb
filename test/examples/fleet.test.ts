import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type EngineConfig, parseConfig } from '../../src/index.ts'
import { needsPosix } from '../support/needs.ts'
import { withTempDir } from '../support/temp-dir.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const compose = read('compose.fleet.yaml')
const nodes = ['a', 'b']
const configOf = (node: string): EngineConfig => {
  const path = `examples/deploy/fleet/${node}.json`
  return parseConfig(JSON.parse(read(path)), path)
}

/** Lines of each service in the file, by its name. */
const services = new Map(
  compose
    .slice(compose.indexOf('\nservices:\n'), compose.indexOf('\nvolumes:\n'))
    .split(/\n {2}(?=[a-z]+:\n)/)
    .slice(1)
    .map(text => [text.slice(0, text.indexOf(':')), text]),
)

test('the configurations in compose.fleet.yaml differ only in their node', () => {
  expect([...services.keys()]).toEqual(['database', 'keys', 'a', 'b', 'proxy'])
  const [first, second] = nodes.map(configOf)
  expect(compose).toContain('environment: { HOLDFAST_CONFIG: /etc/holdfast/node.json }')
  expect({ ...first, node: undefined }).toEqual({ ...second, node: undefined })
  for (const node of nodes) {
    const config = configOf(node)
    expect(config.node).toEqual({ id: node, url: `http://${node}:4100` })
    expect(config.trustedProxies).toBe(1)
    const service = services.get(node) ?? ''
    expect(service).toContain(`./examples/deploy/fleet/${node}.json:/etc/holdfast/node.json:ro`)
    expect(service).toContain(`- ${node}:/data`)
    for (const port of [4100, 4101]) {
      expect(read('examples/deploy/fleet/haproxy.cfg')).toContain(`server ${node} ${node}:${port}`)
      expect(read('examples/deploy/fleet/nginx.conf')).toContain(`server ${node}:${port} max_fails=0;`)
    }
  }
  expect(new Set(first?.clusters?.map(cluster => cluster.node))).toEqual(new Set(nodes))
})

test('the configured database name and password match the database service', () => {
  const { username, password, hostname, pathname } = new URL(configOf('a').database ?? '')
  const database = services.get(hostname) ?? ''
  const told = { POSTGRES_USER: username, POSTGRES_PASSWORD: password, POSTGRES_DB: pathname.slice(1) }
  for (const [name, value] of Object.entries(told)) expect(database).toContain(`      ${name}: ${value}\n`)
})

test('the files that compose.fleet.yaml mounts exist', () => {
  const mounted = [...compose.matchAll(/- \.\/([^:]+):/g)].map(([, path = '']) => path)
  expect(mounted).toHaveLength(3)
  for (const path of mounted) expect(existsSync(join(ROOT, path)), path).toBe(true)
})

test('one data.key is made, and copied to nodes without it', needsPosix, async () => {
  await withTempDir(async directory => {
    const [a, b] = nodes.map(node => join(directory, node)) as [string, string]
    for (const path of [a, b]) mkdirSync(path)
    const [, indented = ''] = /- \|\n([\s\S]*?)\n {4}volumes:/.exec(services.get('keys') ?? '') ?? []
    const script = indented
      .replace(/^ {8}/gm, '')
      .replace("['/a', '/b']", JSON.stringify([a, b]))
      .replace('const owner = 1000', `const owner = ${process.getuid?.()}`)
    const run = (): string[] => {
      execFileSync(process.execPath, ['-e', script])
      return [a, b].map(path => readFileSync(join(path, 'data.key'), 'utf8'))
    }
    const made = run()
    expect(made[0]).toMatch(/^[\w-]{43}\n$/)
    expect(made[1]).toBe(made[0])
    expect(run()).toEqual(made)
    expect(statSync(join(b, 'data.key')).mode & 0o777).toBe(0o600)
  })
})
