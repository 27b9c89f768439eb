import type { Mistake } from './mistaken-commands.ts'

const kubo = { type: 'kubo', api: 'http://127.0.0.1:5001' }

/** Wrong configurations. */
export const mistakenConfigs: readonly Mistake<unknown>[] = [
  [5, 'config', 'must be object'],
  [{ netwrok: {} }, 'unknown key netwrok', 'did you mean network?'],
  [{ network: { preset: 'open' } }, 'network.preset', 'must be "public" or "private"'],
  [{ network: { enabled: 'yes' } }, 'network.enabled', 'must be boolean'],
  [{ network: { bootstrap: ['/ip4/192.0.2.1/tcp/4001'] } }, 'network.bootstrap.0', 'must end in /p2p/'],
  [{ network: { listen: ['4001'] } }, 'network.listen.0', 'is not a multiaddr'],
  [{ network: { gateways: ['ftp://example.org'] } }, 'network.gateways.0', 'an http or https URL'],
  [{ publicUrl: 'pins.example.org' }, 'publicUrl', 'an http or https URL'],
  [{ publicUrl: 'https://pins.example.org/?a=1' }, 'publicUrl', 'without query'],
  [{ gateway: { publicUrl: 'dweb' } }, 'gateway.publicUrl', 'an http or https URL'],
  [{ trustedProxies: -1 }, 'trustedProxies', 'must be >= 0'],
  [{ clusters: [] }, 'clusters', 'not have fewer than 1'],
  [{ clusters: [{ label: 'Berlin' }] }, 'clusters.0', 'id missing'],
  [{ clusters: [{ id: 'a' }, { id: 'a' }] }, 'clusters.1.id', 'occurs twice'],
  [{ clusters: [{ id: 'a', backend: { type: 'kubbo' } }] }, 'clusters.0.backend.type', 'one of holdfast, kubo'],
  [{ clusters: [{ id: 'a', backend: { type: 'kubo' } }] }, 'clusters.0.backend', 'api missing'],
  [{ clusters: [{ id: 'a', backend: { ...kubo, gatway: '' } }] }, 'unknown key gatway', 'did you mean gateways?'],
  [{ plans: { team: { clusters: 'all' } } }, 'plans.team', 'timelock missing'],
  [{ plans: { team: { colour: 'red' } } }, 'plans.team', 'unknown key colour'],
  [{ passwordCost: 3 }, 'passwordCost', 'must be >= 1024'],
  [{ importRoots: '/srv' }, 'importRoots', 'must be array'],
  [{ database: 'mysql://localhost' }, 'database', 'postgres'],
  [{ disk: { reserveBytes: -1 } }, 'disk.reserveBytes', 'must be >= 0'],
  [{ signup: { enabled: 'no' } }, 'signup.enabled', 'must be boolean'],
  [{ node: { id: 'a' } }, 'node', 'url missing'],
  [{ backupRoots: [''] }, 'backupRoots.0', 'not have fewer than 1 characters'],
]
