// The size of the thread pool is read at its first use, so it is set before anything else is loaded. It is what the
// standalone server takes, the same for every subject and every child process.
process.env.UV_THREADPOOL_SIZE = '8'

const { runCommand } = await import('./run-command.ts')
process.exitCode = await runCommand(process.argv.slice(2))
