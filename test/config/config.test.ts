import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { serverAdapters } from '../../adapters/cli/server-adapters.ts'
import { holdfast } from '../../adapters/holdfast/index.ts'
import { parseConfig, withDefaults } from '../../src/config/config.ts'
import { HoldfastError } from '../../src/domain/errors.ts'

const TYPES = serverAdapters.adapters.map(({ type }) => type).join(', ')
const plan = { timelock: true, clusters: '*' }
const oidc = { issuer: 'https://id.example.org', clientId: 'a', redirectUri: 'https://pins.example.org/console/' }

/** Remote clusters, beside the usual one. */
function withBackend(...backends: object[]) {
  return { clusters: [{ id: 'cl0-global' }, ...backends.map((backend, i) => ({ id: `b${i}`, backend }))] }
}

function problem(value: unknown): string {
  try {
    parseConfig(value, 'config.json', serverAdapters.adapters)
  } catch (error) {
    expect(error).toBeInstanceOf(HoldfastError)
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' })
    return (error as HoldfastError).message
  }
  throw new Error('nothing was thrown')
}

test('a backend without its adapter fails with the import to add', () => {
  expect(() => parseConfig(withBackend({ type: 'kubo', api: 'http://k' }), '', [holdfast])).toThrow(
    "clusters.1.backend.type: must be one of holdfast; to use kubo, import { kubo } from 'holdfast/kubo' and pass it in adapters",
  )
  expect(() => parseConfig(withBackend({ type: 'ipfs-cluster', api: 'http://k' }), '')).toThrow(
    "import { ipfsCluster } from 'holdfast/ipfs-cluster'",
  )
  expect(problem(withBackend({ type: 'kub', api: 'http://k' }))).toMatch(
    /must be one of .*ipfs-cluster.*, did you mean kubo\?$/,
  )
})

test.each<[given: unknown, problem: string]>([
  [holdfast, 'adapters: must be an array'],
  ['kubo', 'adapters: must be an array'],
  [null, 'adapters: must be an array'],
  [[holdfast, undefined], 'adapters.1: must be an adapter, such as kubo of holdfast/kubo'],
  [['kubo'], 'adapters.0: must be an adapter, such as kubo of holdfast/kubo'],
])('adapters that are none are refused, naming the option (%#)', (given, problem) => {
  const isRefused = expect.objectContaining({ code: 'CONFIG_INVALID', message: `options: ${problem}` })
  expect(() => parseConfig({}, 'options', given as [])).toThrow(isRefused)
})

test('a complete configuration stays as it is', () => {
  const config = {
    publicUrl: 'https://pins.example.org/node',
    importRoots: ['/srv/import'],
    clusters: [
      {
        id: 'cl0-global',
        label: 'Primary',
        region: 'Global',
        country: null,
        gateways: [{ label: 'Main', publicUrl: 'https://gateway.example.org/ipfs/', url: 'http://10.0.0.1:8080' }],
      },
      { id: 'attic', label: 'Attic', region: 'Home', country: 'DE', gateways: [], dataDir: '/srv/attic' },
    ],
    defaultCluster: 'attic',
    plans: {
      team: {
        timelock: false,
        clusters: ['attic'],
        maxFileBytes: 1,
        maxDirectoryBytes: 2,
        maxDirectoryFiles: 3,
        maxStorageBytes: 4,
        maxPins: null,
        maxKeys: 100,
        maxQueuedPins: 1_000,
        maxEgressBytes: null,
        serverImport: true,
        pageLimit: { default: 5, max: 5 },
        rateLimit: { requests: 6, windowSeconds: 7 },
        accountRateLimit: null,
      },
    },
    signup: { enabled: true, plan: 'team' },
    passwordCost: 65_536,
    trustedProxies: 1,
    gc: { graceSeconds: 0, intervalSeconds: 1.5 },
  }
  expect(parseConfig(config, 'config.json', serverAdapters.adapters)).toEqual(config)
  expect(parseConfig({}, 'config.json')).toEqual({})
})

test('defaults of plans and clusters are filled in, once', () => {
  const config = parseConfig(
    { publicUrl: 'http://x.test//', plans: { team: plan }, clusters: [{ id: 'cl0-global' }] },
    '',
  )
  expect(config).toEqual({
    publicUrl: 'http://x.test',
    plans: {
      team: {
        ...plan,
        maxFileBytes: null,
        maxDirectoryBytes: null,
        maxDirectoryFiles: null,
        maxStorageBytes: null,
        maxPins: null,
        maxKeys: 100,
        maxQueuedPins: 1_000,
        maxEgressBytes: null,
        serverImport: true,
        pageLimit: { default: 20, max: 100 },
        rateLimit: null,
        accountRateLimit: null,
      },
    },
    clusters: [{ id: 'cl0-global', label: 'cl0-global', region: '', country: null, gateways: [] }],
  })
  expect(parseConfig(config, '', serverAdapters.adapters)).toEqual(config)
})

test.each<[unknown, string]>([
  [null, 'must be object'],
  [[], 'must be object'],
  [{ zz: 1, yy: 2 }, 'unknown keys zz, yy'],
  [{ netwrok: {} }, 'unknown key netwrok, did you mean network?'],
  [{ clusters: [{ id: 'a', gatewys: [] }] }, 'clusters.0: unknown key gatewys, did you mean gateways?'],
  [{ plans: { team: { ...plan, maxPinz: 1 } } }, 'plans.team: unknown key maxPinz, did you mean maxPins?'],
  [{ plans: { team: {} } }, 'plans.team: timelock, clusters missing'],
  [{ plans: { team: { ...plan, clusters: 5 } } }, 'plans.team.clusters: must be "*" or must be array'],
  [{ plans: { team: { ...plan, clusters: ['cl9'] } } }, 'plans.team.clusters: cl9 is not one of the clusters'],
  [{ plans: { team: { ...plan, maxPins: '5' } } }, 'plans.team.maxPins: must be integer or must be null'],
  [{ plans: { team: { ...plan, maxPins: -1 } } }, 'plans.team.maxPins: must be >= 0 or must be null'],
  [{ plans: { team: { ...plan, rateLimit: { requests: 5 } } } }, 'plans.team.rateLimit: windowSeconds missing'],
  [
    { plans: { team: { ...plan, rateLimit: { requests: 5, windowSeconds: 0 } } } },
    'plans.team.rateLimit.windowSeconds: must be > 0',
  ],
  [
    { plans: { team: { ...plan, pageLimit: { default: 9, max: 8 } } } },
    'plans.team.pageLimit.default: must not be over max, 8',
  ],
  [{ plans: { 'a b': plan } }, 'plans.a b: the name of a plan must be 1 to 64 of the characters A-Z a-z 0-9 _ . -'],
  [{ publicUrl: 'pins.example.org' }, 'publicUrl: must be an http or https URL'],
  [{ publicUrl: 'ftp://x.test' }, 'publicUrl: must be an http or https URL'],
  [{ publicUrl: 'http://x.test/?a' }, 'publicUrl: must be a URL without query, fragment or credentials'],
  [{ publicUrl: 'http://a:b@x.test' }, 'publicUrl: must be a URL without query, fragment or credentials'],
  [{ importRoots: '/srv' }, 'importRoots: must be array'],
  [{ defaultCluster: 'cl9' }, 'defaultCluster: cl9 is not one of the clusters'],
  [{ clusters: [{ id: 'a' }] }, 'defaultCluster: is required, because cl0-global is not one of the clusters'],
  [{ clusters: [{ id: 'a' }, { id: 'a' }], defaultCluster: 'a' }, 'clusters.1.id: a occurs twice'],
  [{ clusters: [{ label: 'A' }] }, 'clusters.0: id missing'],
  [withBackend({}), 'clusters.1.backend: type missing'],
  [withBackend({ type: 'Kubo', api: 1 }), `clusters.1.backend.type: must be one of ${TYPES}, did you mean kubo?`],
  [withBackend({ type: 'ipfs-cluster' }), 'clusters.1.backend: api missing'],
  [withBackend({ type: 'ipfs-cluster', api: 'c:9094' }), 'clusters.1.backend.api: must be an http or https URL'],
  [
    withBackend({ type: 'ipfs-cluster', api: 'http://c', replicationMin: 0 }),
    'clusters.1.backend.replicationMin: must be -1 or must be >= 1',
  ],
  [
    withBackend({ type: 'ipfs-cluster', api: 'http://c', replicationMin: 2, replicationMax: 1 }),
    'clusters.1.backend.replicationMax: must be at least replicationMin, 2',
  ],
  [
    withBackend({ type: 'ipfs-cluster', api: 'http://c', replicationMin: 2, replicationMax: -1 }),
    'clusters.1.backend.replicationMax: must be -1 if, and only if, replicationMin is -1',
  ],
  [
    withBackend({ type: 'ipfs-cluster', api: 'http://c', replicationMax: 2 }),
    'clusters.1.backend.replicationMax: requires replicationMin',
  ],
  [
    withBackend(
      { type: 'ipfs-cluster', api: 'http://c/' },
      { type: 'ipfs-cluster', api: 'http://c', replicationMin: 2 },
    ),
    'clusters.2.backend: names the same place as b0, so all its fields must be equal',
  ],
  [withBackend({ type: 'kubo' }), 'clusters.1.backend: api missing'],
  [withBackend({ type: 'kubo', api: 'http://k', cluster: 'x' }), 'clusters.1.backend: unknown key cluster'],
  [withBackend({ type: 'kubo', api: 'k:5001' }), 'clusters.1.backend.api: must be an http or https URL'],
  [
    withBackend({ type: 'kubo', api: 'http://u:p@k' }),
    'clusters.1.backend.api: must be a URL without query, fragment or credentials',
  ],
  [
    withBackend({ type: 'kubo', api: 'http://k', gateways: ['http://k:8080', 'k'] }),
    'clusters.1.backend.gateways.1: must be an http or https URL',
  ],
  [
    withBackend({ type: 'kubo', api: 'http://k', authFile: 'a', authEnv: 'b' }),
    'clusters.1.backend: has both authFile and authEnv',
  ],
  [
    withBackend({ type: 'holdfast', url: 'http://k', cluster: 'x' }),
    'clusters.1.backend: needs either keyFile or keyEnv',
  ],
  [
    withBackend({ type: 'kubo', api: 'http://k/api/v0/' }, { type: 'kubo', api: 'http://k', cacheBytes: 0 }),
    'clusters.2.backend: names the same place as b0, so all its fields must be equal',
  ],
  [
    { clusters: [{ id: 'cl0-global', gateways: [{ label: 'A', publicUrl: '/ipfs/' }] }] },
    'clusters.0.gateways.0.publicUrl: must be an http or https URL',
  ],
  [{ signup: { enabled: true, plan: 'gold' } }, 'signup.plan: must be one of free, premium, unlimited'],
  [{ signup: { open: true } }, 'signup: unknown key open'],
  [{ oidc: { issuer: 'https://id' } }, 'oidc: clientId missing'],
  [{ oidc: { ...oidc, clientSecret: 'x' } }, 'oidc: unknown key clientSecret'],
  [{ oidc: { ...oidc, issuer: 'id.example.org' } }, 'oidc.issuer: must be an http or https URL'],
  [
    { oidc: { ...oidc, issuer: 'http://id.example.org' } },
    'oidc.issuer: must be an https URL, or http on a loopback address',
  ],
  [
    { oidc: { ...oidc, clientSecretEnv: 'A', clientSecretFile: 'b' } },
    'oidc.clientSecretEnv: must not be set beside clientSecretFile',
  ],
  [{ oidc: { issuer: 'https://id', clientId: 'a' } }, 'oidc.redirectUri: is required, because publicUrl is not set'],
  [
    { oidc: { ...oidc, redirectUri: 'http://pins.example.org/console/' } },
    'oidc.redirectUri: must be an https URL, or http on a loopback address',
  ],
  [
    { oidc: { issuer: oidc.issuer, clientId: 'a' }, publicUrl: 'http://pins.example.org' },
    'publicUrl: must be an https URL, or http on a loopback address, because oidc redirects to it',
  ],
  [{ oidc: { ...oidc, scope: 'profile' } }, 'oidc.scope: must contain openid'],
  [{ oidc: { ...oidc, plan: 'gold' } }, 'oidc.plan: must be one of free, premium, unlimited'],
  [{ oidc: { ...oidc, groups: [{ group: 'a' }] } }, 'oidc.groups.0: plan missing'],
  [
    { oidc: { ...oidc, groups: [{ group: 'a', plan: 'gold' }] } },
    'oidc.groups.0.plan: must be one of free, premium, unlimited',
  ],
  [
    {
      oidc: {
        ...oidc,
        groups: [
          { group: 'a', plan: 'free' },
          { group: 'a', plan: 'premium' },
        ],
      },
    },
    'oidc.groups.1.group: a occurs twice',
  ],
  [{ passwordCost: 3_000 }, 'passwordCost: must be a power of two'],
  [{ passwordCost: 512 }, 'passwordCost: must be >= 1024'],
  [{ trustedProxies: -1 }, 'trustedProxies: must be >= 0'],
  [{ gc: { graceSeconds: -1 } }, 'gc.graceSeconds: must be >= 0'],
])('%j is refused by name', (value, message) => {
  expect(problem(value)).toBe(`config.json: ${message}`)
})

test('the example of the documentation is a configuration', () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/reference/configuration.md'), 'utf8')
  const example = /```json\n([^`]+)```/.exec(text)?.[1] ?? ''
  expect(parseConfig(JSON.parse(example), '').plans).toHaveProperty('team.maxPins', null)
})

test('schema defaults apply only to omitted fields', () => {
  const complete = withDefaults(parseConfig({ pin: { maxDepth: 7 }, disk: { reserveBytes: 0 } }, 'config.json'))
  expect(complete).toEqual({
    backupRoots: [],
    backupBytesPerSecond: 104_857_600,
    repairBytesPerSecond: 20_000_000,
    repairContentsPerSecond: 50,
    pin: {
      findTimeoutSeconds: 20,
      waitSeconds: 20,
      stallSeconds: 30,
      attemptSeconds: 21_600,
      maxBlocks: 10_000_000,
      maxDepth: 7,
    },
    signup: { enabled: false, plan: 'free' },
    tracing: false,
    passwordCost: 32_768,
    trustedProxies: 0,
    uploads: { fromUrls: 'public', maxConcurrent: 256, maxPerAccount: 64 },
    gc: { graceSeconds: 60, intervalSeconds: 30 },
    bulk: { undoSeconds: 600 },
    audit: { keepDays: 365, maxEntries: 100_000 },
    verify: { everyDays: 30 },
    webhooks: { allowPrivate: false },
    reconcile: { everyHours: 12, sample: 4 },
    disk: { reserveBytes: 0 },
    gateway: {
      mode: 'own',
      ownOrigin: false,
      maxConcurrentRequests: 1_024,
      maxDurationSeconds: 3_600,
      retrievalTimeoutSeconds: 10,
      routing: true,
    },
  })
  expect(withDefaults(withDefaults({}))).toEqual(withDefaults({}))
})

test('input is not changed, and two configurations share nothing', () => {
  const given = { gc: {} }
  withDefaults(given).backupRoots.push('/elsewhere')
  expect(given).toEqual({ gc: {} })
  expect(withDefaults({}).backupRoots).toEqual([])
})
