import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fixedPort } from './fixed-port.ts'

const DEPLOY = join(import.meta.dirname, '../../examples/deploy/fleet')
const PAUSE_MS = 50

/** A node behind the proxy, by the URLs of its ports. */
interface Upstream {
  id: string
  url: string
  gateway: string
}

/** How to run a proxy with one of the files in `examples/deploy/fleet`. */
interface Program {
  config: string
  version: string[]
  /** Returns the configuration for the test's ports. */
  prepare(text: string, ports: { api: number; gateway: number }, directory: string): string
  check(file: string): string[]
  run(file: string): string[]
}

const PROGRAMS = {
  haproxy: {
    config: 'haproxy.cfg',
    version: ['-v'],
    prepare: (text, { api, gateway }) =>
      text.replace('bind :8080', `bind 127.0.0.1:${api}`).replace('bind :8081', `bind 127.0.0.1:${gateway}`),
    check: file => ['-c', '-f', file],
    run: file => ['-db', '-f', file],
  },
  caddy: {
    config: 'Caddyfile',
    version: ['version'],
    prepare: (text, { api, gateway }) =>
      `{\n\tadmin off\n}\n${text}`
        .replace('\npins.example.org {', `\nhttp://127.0.0.1:${api} {`)
        .replace('\ncontent.example.org {', `\nhttp://127.0.0.1:${gateway} {`),
    check: file => ['validate', '--adapter', 'caddyfile', '--config', file],
    run: file => ['run', '--adapter', 'caddyfile', '--config', file],
  },
  nginx: {
    config: 'nginx.conf',
    version: ['-v'],
    prepare: (text, { api, gateway }, directory) => {
      const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        name => `${name}_temp_path ${join(directory, name)};`,
      )
      const site = text
        .replace('listen 8080;', `listen 127.0.0.1:${api};`)
        .replace('listen 8081;', `listen 127.0.0.1:${gateway};`)
      return `daemon off; pid ${join(directory, 'nginx.pid')};\nevents {} http { access_log off; ${temp.join(' ')}\n${site}\n}`
    },
    check: file => ['-e', 'stderr', '-t', '-c', file],
    run: file => ['-e', 'stderr', '-c', file],
  },
} satisfies Record<string, Program>

export type ProxyName = keyof typeof PROGRAMS
export const PROXIES = Object.keys(PROGRAMS) as ProxyName[]

export function hasProxy(name: ProxyName): boolean {
  return spawnSync(name, PROGRAMS[name].version).status === 0
}

/** A real proxy with the example configuration of a fleet. */
export interface FleetProxy {
  /** Base URL for the API. */
  url: string
  /** Base URL for the gateway. */
  gateway: string
  /** Lines of its log that report errors, or a node that is down. */
  errors(): string[]
  stop(): Promise<void>
}

/**
 * Starts a proxy before these nodes. Resolves when it answers for one of them. The caller stops it.
 *
 * @throws Error if the proxy refuses the configuration
 */
export async function startFleetProxy(name: ProxyName, nodes: readonly Upstream[]): Promise<FleetProxy> {
  const program: Program = PROGRAMS[name]
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-proxy-'))
  const api = await fixedPort(1)
  const file = join(directory, program.config)
  const text = withNodes(readFileSync(join(DEPLOY, program.config), 'utf8'), nodes)
  writeFileSync(file, program.prepare(text, { api, gateway: api + 1 }, directory))
  const checked = spawnSync(name, program.check(file), { encoding: 'utf8' })
  if (checked.status !== 0) throw new Error(`${name} refuses ${file}: ${checked.stdout}${checked.stderr}`)
  const child = spawn(name, program.run(file), {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, HOME: directory },
  })
  let log = ''
  child.stderr.on('data', (text: Buffer) => {
    log += text
  })
  const url = `http://127.0.0.1:${api}`
  const stop = async (): Promise<void> => {
    await end(child)
    rmSync(directory, { recursive: true, force: true })
  }
  while (!(await isReady(url))) {
    if (child.exitCode !== null) throw new Error(`${name} ended: ${log}`)
    await sleep(PAUSE_MS)
  }
  const errors = (): string[] => log.split('\n').filter(line => /"level":"error"|upstream|error|is DOWN/i.test(line))
  return { url, gateway: `http://127.0.0.1:${api + 1}`, errors, stop }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

async function isReady(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/ready`)
    await answer.arrayBuffer()
    return answer.status === 200
  } catch {
    return false
  }
}

/** Replaces the nodes `a` and `b` of a configuration. */
function withNodes(text: string, nodes: readonly Upstream[]): string {
  const at = (url: string): string => new URL(url).host
  const lineOf = (line: string, { id, url, gateway }: Upstream): string =>
    line.replace('server a a:', `server ${id} a:`).replace('a:4100', at(url)).replace('a:4101', at(gateway))
  return text
    .split('\n')
    .flatMap(line => {
      if (/\bserver (b )?b:/.test(line)) return []
      if (/\bserver (a )?a:/.test(line)) return nodes.map(node => lineOf(line, node))
      const all = (urls: string[]): string => urls.map(at).join(' ')
      return line
        .replace('a:4100 b:4100', all(nodes.map(({ url }) => url)))
        .replace('a:4101 b:4101', all(nodes.map(({ gateway }) => gateway)))
    })
    .join('\n')
}
