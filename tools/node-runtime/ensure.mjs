// Runs before every npm script, on the host's own Node. Installs what the script needs on a bare clone: what the
// server runs on, or everything with `--dev`. Then checks that the script gets a Node.js new enough.
// Plain JavaScript without imports from node_modules. Writes to standard error only.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FLOOR = [22, 19]
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const isDev = process.argv.includes('--dev')
const isInstalled = existsSync(join(root, 'node_modules/.package-lock.json'))

if (!isInstalled || (isDev && !existsSync(join(root, 'node_modules/vitest/package.json')))) install()

// By name, not process.execPath: the script gets this Node.
const { stdout } = spawnSync('node', ['-p', 'process.versions.node'], {
  encoding: 'utf8',
  shell: process.platform === 'win32',
})
const version = (stdout ?? '').trim()
if (!isNewEnough(version)) {
  stop(
    `Node.js ${FLOOR.join('.')} or newer is needed, found ${version || 'none'}. ` +
      'On this platform npm has no Node.js to bring along: install one and run the command again.',
  )
}

function install() {
  const npm = process.env.npm_execpath
  if (npm === undefined) stop('run this through npm, for example `npm start`')
  console.error(`holdfast: installing ${isDev ? 'all dependencies' : 'what the server needs'}, once per clone ...`)
  // `npm ci` empties node_modules, which a running server may still load from. `npm install` adds to it.
  const how = isInstalled ? ['install', '--no-save'] : ['ci']
  // The workspaces bring a Node.js of 189 MB, which a server on a newer one never starts.
  const what = isDev
    ? ['--include=dev']
    : ['--omit=dev', ...(isNewEnough(process.versions.node) ? ['--no-workspaces'] : [])]
  // `npm run --silent` hands its log level down; a failed install must still say why.
  const env = { ...process.env, npm_config_loglevel: 'error' }
  const args = [npm, ...how, ...what, '--include=optional', '--no-audit', '--no-fund']
  const { status } = spawnSync(process.execPath, args, { cwd: root, env, stdio: ['ignore', 2, 2] })
  if (status !== 0) stop(`npm ${how[0]} failed with exit code ${status}`)
}

function isNewEnough(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > FLOOR[0] || (major === FLOOR[0] && minor >= FLOOR[1])
}

function stop(reason) {
  console.error(`holdfast: ${reason}`)
  process.exit(1)
}
