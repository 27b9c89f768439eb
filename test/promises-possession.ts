import type { KeptPromise } from './promises.ts'

const content = (name: string) => ({ file: 'test/content/possession.test.ts', name })
const accounts = (name: string) => ({ file: 'test/pins/fetches/possession.test.ts', name })
const ways = (name: string) => ({ file: 'test/pins/fetches/possession-ways.test.ts', name })
const fleet = (name: string) => ({ file: 'test/adapters/fleet/possession.test.ts', name })

/** Promises about blocks that a request did not send: knowing a CID gives nobody the bytes of another account. */
export const possessionPromises: readonly KeptPromise[] = [
  {
    promise: 'a root claims a stored block only if its party may use it',
    file: 'src/ledger/claims.ts',
    find: "if (found?.state !== 'durable' || !this.#mayUse(rootId, found.id, by)) return null",
    replace: "if (found?.state !== 'durable' || by.owner < 0) return null",
    test: content('is usable through a root of another owner'),
  },
  {
    promise: 'a fetch adopts no block of another account',
    file: 'src/ledger/claims.ts',
    find: "if (found?.state !== 'durable' || !this.#mayUse(rootId, found.id, by)) return null",
    replace: "if (found?.state !== 'durable' || by.owner < 0) return null",
    test: accounts('gets nothing through a root of its own that links'),
  },
  {
    promise: 'a root keeps what it has claimed',
    file: 'src/ledger/claims.ts',
    find: 'return this.#blocks.isNeededBy(rootId, blockId) || ',
    replace: 'return rootId < 0 || ',
    test: content('stays usable for the staged root that has'),
  },
  {
    promise: 'a block on another system is noted only if its party may use it',
    file: 'src/ledger/claims.ts',
    find: "(found.state !== 'durable' || !this.#mayUse(rootId, found.id, by))) return null",
    replace: "(found.state !== 'durable' || by.owner < 0)) return null",
    test: content('is noted without its bytes only if nobody else'),
  },
  {
    promise: 'a block belongs to the owners of its roots',
    file: 'src/ledger/block-table.ts',
    find: 'WHERE ${LIVE_ROOT} AND r.owner IN (0, ?)\n',
    replace: 'WHERE ${LIVE_ROOT} AND r.owner >= min(0, ?)\n',
    test: content('is usable through a root of another owner'),
  },
  {
    promise: 'what a request has sent is usable for its roots',
    file: 'src/ledger/block-table.ts',
    find: 'return this.isNeededBy(by.sentRoot, blockId) || ',
    replace: 'return by.owner < 0 || ',
    test: content('stays usable for the staged root that has'),
  },
  {
    promise: 'a root on another system is found only by its owner',
    file: 'src/ledger/root-table.ts',
    find: '(`${LIVE} ${IS_OWN} AND',
    replace: '(`${LIVE} owner >= min(?, 0) AND',
    test: content('is found by its root if that is public'),
  },
  {
    promise: 'strangers read through no root of an account on another system',
    file: 'src/ledger/root-table.ts',
    find: '${LIVE} ${IS_PUBLIC} AND ${LIVE_ROOT} AND',
    replace: '${LIVE} owner >= 0 AND ${LIVE_ROOT} AND',
    test: content('is found by its root if that is public'),
  },
  {
    promise: 'strangers read through no root of an account',
    file: 'src/ledger/open-blocks.ts',
    find: '${OPEN}\n    WHERE owner = 0 AND rootId >',
    replace: '${OPEN}\n    WHERE rootId >',
    test: content('is public or private through its roots'),
  },
  {
    promise: 'no root of an account pays for public reads',
    file: 'src/ledger/open-blocks.ts',
    find: 'AND r.barred = 0 AND r.owner = 0 LIMIT ?',
    replace: 'AND r.barred = 0 LIMIT ?',
    test: content('is found by its root if that is public'),
  },
  {
    promise: 'a party reads only blocks that it may use',
    file: 'src/content/taken-source.ts',
    find: 'this.#held.mayUse(this.backendId, cid.multihash.bytes, this.by)\n    if',
    replace: 'this.by.owner >= 0\n    if',
    test: content('is not read beside a block that the party may'),
  },
  {
    promise: 'a staged DAG gives only what it has claimed',
    file: 'src/content/dag/staged-dag.ts',
    find: 'if (cid.multihash.code !== HASH.identity && !this.has(cid)) {',
    replace: 'if (cid.multihash.code !== HASH.identity && this.rootId < 0) {',
    test: content('gives only the blocks that it has claimed'),
  },
  {
    promise: 'fetches of two owners share no request',
    file: 'src/content/dag/fetch.ts',
    find: 'const key = `${owner} ${cid}`',
    replace: 'const key = `${owner < 0} ${cid}`',
    test: { file: 'test/content/dag/shared-blocks.test.ts', name: 'fetches of two owners share no request' },
  },
  {
    promise: 'a pin takes no whole root of another owner',
    file: 'src/pins/pinner.ts',
    find: 'held.find(pin.home.id, identityOf(pin.cid), pin.target.owner)',
    replace: 'held.findOfAny(pin.home.id, identityOf(pin.cid))',
    test: accounts('gets the answers for unknown CIDs by a pin'),
  },
  {
    promise: 'a pin takes no root whose records have ended',
    file: 'src/pins/pinner.ts',
    find: ' || !held.isLive(root.id, clock.now())',
    replace: '',
    test: accounts('is absent for a pin, before it is collected'),
  },
  {
    promise: 'a pin copies no content of another account from a cluster',
    file: 'src/content/taken-source.ts',
    find: 'this.#held.locate(bytes, by)\n',
    replace: 'this.#held.locate(bytes, { ...by, owner: 4_711, now: by.now, sentRoot: 0 } as Possessor)\n',
    test: ways('is not copied from the cluster'),
  },
  {
    promise: 'a fetch copies nothing of another account from another system',
    file: 'src/wiring/found-beside.ts',
    find: '    if (clusters.possessed.isOfOthers(cid, id, by)) continue\n',
    replace: '',
    test: fleet('is not fetched from a cluster on another'),
  },
  {
    promise: 'a fetch of an account is not told to strangers',
    file: 'src/wiring/gateway-module.ts',
    find: 'fetches.find(id, identityOf(cid), PUBLIC)',
    replace: 'fetches.find(id, identityOf(cid), 7)',
    test: ways('tells strangers of a fetch only if its content'),
  },
  {
    promise: 'a pin copies nothing of another account from another node',
    file: 'adapters/postgres/holds/shared-places.ts',
    find: '=> `${table}.owner = 0`',
    replace: '=> `${table}.owner >= 0`',
    test: fleet('is pinned only if a root is public'),
  },
  {
    promise: 'a fetch copies nothing of another account from another node',
    file: 'adapters/postgres/holds/shared-places.ts',
    find: '=> `${table}.owner = 0`',
    replace: '=> `${table}.owner >= 0`',
    test: fleet('is fetched for no pin, neither from the'),
  },
]
