// Written by tools/option-names.ts from the types of the options: npm run docs

export const HANDLER = 'console metrics metricsFor metricsToken prefix'

export const SERVER = 'console maxConnections metrics metricsFor metricsToken prefix'

export const GATEWAY_SERVER = 'maxConnections metrics'

export const READERS = 'host logger memoryBytes metrics port threads'

export const METRICS = 'memory memory.limit memory.used process'

export const GRACEFUL_STOP = 'clock drainMs readers server'
