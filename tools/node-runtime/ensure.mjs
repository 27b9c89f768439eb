// Runs before every npm script, on the host's own Node: installs the dependencies of a bare clone and makes
// sure that the main script will get a Node.js new enough. Plain JavaScript, no imports from node_modules;
// everything it says goes to standard error, so a script's standard output stays its own.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FLOOR = [22, 19]
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const installed = ['node_modules/.package-lock.json', 'node_modules/vitest/package.json'].every(file =>
  existsSync(join(root, file)),
)

if (!installed) {
  const npm = process.env.npm_execpath
  if (npm === undefined) stop('run this through npm, for example `npm start`')
  console.error('holdfast: installing dependencies, once per clone ...')
  // `npm run --silent` hands its log level down; a failed install must still say why.
  const env = { ...process.env, npm_config_loglevel: 'error' }
  const args = [npm, 'ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund']
  const { status } = spawnSync(process.execPath, args, { cwd: root, env, stdio: ['ignore', 2, 2] })
  if (status !== 0) stop(`npm ci failed with exit code ${status}`)
}

// By name, not process.execPath: this is the Node that the main script is about to get.
const { stdout } = spawnSync('node', ['-p', 'process.versions.node'], {
  encoding: 'utf8',
  shell: process.platform === 'win32',
})
const version = (stdout ?? '').trim()
const [major = 0, minor = 0] = version.split('.').map(Number)
if (major < FLOOR[0] || (major === FLOOR[0] && minor < FLOOR[1])) {
  stop(
    `Node.js ${FLOOR.join('.')} or newer is needed, found ${version || 'none'}. ` +
      'On this platform npm has no Node.js to bring along: install one and run the command again.',
  )
}

function stop(reason) {
  console.error(`holdfast: ${reason}`)
  process.exit(1)
}
