import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { ChildServer } from '../child-server.ts'

export interface Nginx {
  pid: number
  url: string
  files: string
  stop(): Promise<void>
}

/** Starts nginx with a number of processes, which serves plain files unchecked. */
export async function startNginx(program: string, dir: string, processes: number): Promise<Nginx> {
  const port = await freePort()
  const files = join(dir, 'files')
  await mkdir(files)
  const config = join(dir, 'nginx.conf')
  await writeFile(config, configOf(dir, port, processes))
  const args = ['-c', 'exec "$0" "$@" 2>&1', program, '-p', dir, '-c', config, '-e', 'stderr']
  const server = await ChildServer.run('/bin/sh', args, process.env, /start worker process \d+/)
  return { pid: server.pid, url: `http://127.0.0.1:${port}`, files, stop: () => server.stop() }
}

function configOf(dir: string, port: number, processes: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    name => `  ${name}_temp_path ${join(dir, name)};`,
  )
  return [
    // Started by root, nginx would run its workers as a user who may not read this directory.
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    'daemon off;',
    `worker_processes ${processes};`,
    `pid ${join(dir, 'nginx.pid')};`,
    'error_log stderr notice;',
    'events { worker_connections 256; }',
    'http {',
    '  access_log off;',
    '  sendfile on;',
    '  keepalive_requests 100000000;',
    '  client_max_body_size 0;',
    ...temporary,
    `  server { listen 127.0.0.1:${port}; root ${join(dir, 'files')}; location = /sink { return 200; } }`,
    '}',
    '',
  ].join('\n')
}

/** Returns a port that was free a moment ago. nginx cannot choose one and report it. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
