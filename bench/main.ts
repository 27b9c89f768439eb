// libuv reads the size of its thread pool at the first use, so it must be set before any import.
// All subjects and child processes get the size that the standalone server uses.
process.env.UV_THREADPOOL_SIZE = '8'

const { runCommand } = await import('./run-command.ts')
process.exitCode = await runCommand(process.argv.slice(2))
