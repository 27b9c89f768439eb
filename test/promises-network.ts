import type { KeptPromise } from './promises.ts'

const announcer = (name: string) => ({ file: 'test/pins/announcer.test.ts', name })

const starting = (name: string) => ({ file: 'test/network/starting-points.test.ts', name })

/** Promises about the public network and about announcements. */
export const networkPromises: readonly KeptPromise[] = [
  {
    promise: 'no request stores an origin that fails the fetch for all accounts that share it',
    file: 'src/pins/fetch/network-pinner.ts',
    find: '      this.#checkOrigins(origins)\n',
    replace: '',
    test: { file: 'test/pins/fetches/finding.test.ts', name: 'malformed origins are refused, naming' },
  },
  {
    promise: 'a fetch keeps no more origins than an attempt asks',
    file: 'src/catalogue/rules/fetch-rows.ts',
    find: '.slice(0, FETCH_ORIGINS)',
    replace: '.slice(FETCH_ORIGINS * 0)',
    test: { file: 'test/pins/fetches/finding.test.ts', name: 'origins that several accounts name do' },
  },
  {
    promise: 'the operator learns of a gateway at a private address',
    file: 'src/outgoing/gateway-client.ts',
    find: '      this.#onPrivate(base)\n',
    replace: '',
    test: { file: 'test/outgoing/gateway-client.test.ts', name: 'is refused as a number or name, without' },
  },
  {
    promise: 'a node with another identity, or on another network, announces all roots again',
    file: 'src/ledger/announcements.ts',
    find: 'known?.peer === peer && known.network === network &&',
    replace: 'known !== undefined &&',
    test: announcer('announces every root again under a new'),
  },
  {
    promise: 'what was announced under another identity is due at once',
    file: 'src/pins/announcer.ts',
    find: 'Math.max(this.#parts.clock.now() - RENEW_AFTER_MS, this.#since)',
    replace: 'Math.min(this.#parts.clock.now() - RENEW_AFTER_MS, this.#since)',
    test: announcer('resumes after a restart that interrupts'),
  },
  {
    promise: 'roots that are due do not hold up new ones',
    file: 'src/pins/announcer.ts',
    find: 'const [first] = this.#new.values()\n    if (',
    replace:
      'const due = this.#nextDue()\n    if (due !== undefined) return due\n    const [first] = this.#new.values()\n    if (',
    test: announcer('announces new roots before a thousand'),
  },
  {
    promise: 'renewals at a slow router leave room for new roots',
    file: 'src/pins/announcer.ts',
    find: 'const AT_ONCE = RENEWED_AT_ONCE + 2',
    replace: 'const AT_ONCE = RENEWED_AT_ONCE',
    test: announcer('announces new roots while the router'),
  },
  {
    promise: 'announcements leave the event loop to requests',
    file: 'src/pins/announcer.ts',
    find: '        await pause(this.#parts.clock, START_EVERY_MS, signal)\n',
    replace: '',
    test: announcer('starts at most five announcements a'),
  },
  {
    promise: 'the backlog of announcements is counted',
    file: 'src/ledger/announcements.ts',
    find: 'this.#countDue.get(before, limit)',
    replace: 'this.#countDue.get(0, limit)',
    test: announcer('counts due renewals, new roots and the'),
  },
  {
    promise: 'the network is found again by remembered peers when all bootstrap nodes are gone',
    file: 'src/network/starting-points.ts',
    find: '[...settings.bootstrap, ...this.#remembered()]',
    replace: '[...settings.bootstrap]',
    test: starting('reconnects by a remembered peer if all'),
  },
  {
    promise: 'starting points are dialled again as long as there are no peers',
    file: 'src/network/starting-points.ts',
    find: '    if (!this.#isReached()) {\n      this.#dial()\n',
    replace: '    if (!this.#isReached()) {\n',
    test: starting('logs the loss and return of all peers'),
  },
  {
    promise: 'a public network without peers is told of once',
    file: 'src/network/starting-points.ts',
    find: 'if (isAlone && !this.#isAlone) {',
    replace: 'if (isAlone) {',
    test: starting('logs the loss and return of all peers'),
  },
  {
    promise: 'peers of one network cannot fill the places of remembered peers',
    file: 'src/network/good-peers.ts',
    find: 'const isCrowded = neighbours.length >= MOST_OF_NETWORK',
    replace: 'const isCrowded = neighbours.length > MOST_PEERS',
    test: starting('are at most two per network and 64 in'),
  },
  {
    promise: 'new peers displace no remembered one that answered within a week',
    file: 'src/network/good-peers.ts',
    find: 'now - answeredAt > SILENT_MS || answeredAt > now',
    replace: 'now >= answeredAt || answeredAt > now',
    test: starting('are not replaced within a week of their'),
  },
  {
    promise: 'a root that a clock ahead had announced is announced again',
    file: 'src/ledger/announcements.ts',
    find: 'this.#before.all(ahead, aheadId, end,',
    replace: 'this.#before.all(end, aheadId, end,',
    test: announcer('announces again a root whose last'),
  },
  {
    promise: 'renewals of provider records that fall behind are logged',
    file: 'src/pins/announcer.ts',
    find: '    if (root !== undefined) this.#noteAge(root)\n    else {',
    replace: '    if (root === undefined) {',
    test: announcer('warns once while provider records'),
  },
  {
    promise: 'announcements that fail in a row pause',
    file: 'src/pins/announcer.ts',
    find: '++this.#failures >= MOST_FAILURES',
    replace: '++this.#failures < 0',
    test: announcer('pauses after failures in a row, and'),
  },
]
