/** A refusal of the command `serve`, which an engine does not know. */
export interface CommandCase {
  /** Files whose refusal the case reaches. */
  from: readonly string[]
  /** Text of the configuration file. A function gets the number of a port that is taken. */
  config: string | ((taken: number) => string)
  env?: Readonly<Record<string, string>>
  /** Limit of open files. */
  descriptors?: number
}

const PLAIN = JSON.stringify({ network: { enabled: false } })

/** Options of Node.js with which a package is missing. */
const without = (name: string) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(
    `import { registerHooks } from 'node:module'
     registerHooks({ resolve(name, context, next) { if (name === '${name}') throw new Error('gone'); return next(name, context) } })`,
  )}`,
})

const withField = (fields: object): string => JSON.stringify({ network: { enabled: false }, ...fields })
const OIDC = { issuer: 'https://id.example.org', clientId: 'holdfast', clientSecretEnv: 'SECRET' }

export const COMMAND_CASES: Readonly<Record<string, CommandCase>> = {
  'a configuration that is no JSON': { from: ['adapters/cli/settings.ts'], config: '{' },
  'a flag in the configuration': { from: ['adapters/cli/settings.ts'], config: withField({ port: 1 }) },
  'a short key of the owner': {
    from: ['adapters/cli/serve.ts'],
    config: PLAIN,
    env: { HOLDFAST_BOOTSTRAP_KEY: 'short' },
  },
  'a low limit of open files': { from: ['adapters/cli/descriptors.ts'], config: PLAIN, descriptors: 90 },
  'tracing without its package': {
    from: ['adapters/opentelemetry/index.ts'],
    config: withField({ tracing: true }),
    env: without('@opentelemetry/api'),
  },
  'a provider without its package': {
    from: ['adapters/oidc/index.ts'],
    config: withField({ publicUrl: 'https://pins.example.org', oidc: OIDC }),
    env: { ...without('openid-client'), SECRET: 'secret' },
  },
  'PostgreSQL without its package': {
    from: ['adapters/postgres/database/postgres.ts'],
    config: withField({ database: 'postgres://127.0.0.1:1/none' }),
    env: without('pg'),
  },
  'a port of the network that is taken': {
    from: ['src/network/network-node.ts'],
    config: taken => JSON.stringify({ network: { listen: [`/ip4/127.0.0.1/tcp/${taken}`] } }),
  },
}
