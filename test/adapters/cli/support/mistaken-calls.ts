import { HoldfastClient } from '../../../../adapters/client/index.ts'
import { createConsole } from '../../../../adapters/console/index.ts'
import { toFetch } from '../../../../adapters/fetch/index.ts'
import { createHandler, createServer, startReaders } from '../../../../adapters/node-http/index.ts'
import {
  checkBackup,
  connectAccounts,
  createEngine,
  type Engine,
  moveCatalogue,
  openAccounts,
  replaceDataKey,
  restoreBackup,
} from '../../../../src/index.ts'
import { ABSENT, type Mistake } from './mistaken-commands.ts'

export type MistakenCall = (engine: Engine, directory: string) => unknown

/** An argument that the compiler would refuse. */
// biome-ignore lint/suspicious/noExplicitAny: the calls are wrong on purpose
const wrong = (given: unknown): any => given
const client = (): HoldfastClient => new HoldfastClient({ base: 'http://127.0.0.1:9' })

/** Wrong calls of an engine, of the functions beside it, of the handlers and of the client. */
export const mistakenCalls: readonly Mistake<MistakenCall>[] = [
  [() => createEngine(wrong(undefined)), 'dataDir', 'must be the path of a directory'],
  [(_, datadir) => createEngine(wrong({ datadir })), 'unknown key datadir', 'did you mean dataDir?'],
  [(_, dataDir) => createEngine(wrong({ dataDir, netwrok: {} })), 'unknown key netwrok', 'did you mean network?'],
  [(_, directory) => createEngine({ dataDir: `${directory}/a.txt` }), 'a.txt', 'not a directory'],
  [engine => engine.pins.pin(wrong(undefined)), 'cid is missing', 'pass a CID'],
  [engine => engine.pins.pin('readme'), 'cid', 'such as bafy… or Qm…'],
  [engine => engine.pins.pin(ABSENT), 'no network to ask', 'set network.enabled'],
  [engine => engine.pins.pin(ABSENT, wrong({ nmae: '' })), 'unknown key nmae', 'did you mean name?'],
  [engine => engine.pins.pin(ABSENT, { cluster: 'nowhere' }), 'cluster', 'choose one of'],
  [engine => engine.pins.pin(ABSENT, { account: 'nobody' }), 'there is no account', 'nobody'],
  [engine => engine.pins.pin(ABSENT, wrong({ account: undefined })), 'account is undefined', 'or omit the field'],
  [engine => engine.pins.upload(wrong(5)), 'content is a number', 'not bytes'],
  [engine => engine.pins.uploadDirectory([]), 'files', 'at least one file is needed'],
  [engine => engine.pins.importDirectory('/nowhere'), 'dirPath', 'below an import root'],
  [engine => engine.pins.remove(ABSENT), 'no pin for this cid', 'see the list of pins'],
  // feature: bulk
  [engine => engine.jobs.start(wrong({ action: 'delte', ids: ['a'] })), 'action', 'one of delete, rename'],
  [engine => engine.jobs.start({ action: 'delete' }), 'exactly one', 'ids and filter'],
  [engine => engine.jobs.start({ action: 'delete', ids: wrong('a') }), 'ids', '1 to 1000 ids'],
  [
    engine => engine.jobs.start(wrong({ action: 'delete', filter: { createdBefore: new Date() } })),
    'filter.expected',
    'the number of records',
  ],
  [engine => engine.jobs.undo('none'), 'no job has this id', 'see the list of jobs'],
  // end
  [engine => engine.pins.list({ limit: 0 }), 'limit', 'a positive integer'],
  [engine => engine.pins.list(wrong({ sort: 'date' })), 'sort', 'newest, oldest'],
  [engine => engine.content.read(wrong(ABSENT)), 'cid must be text', 'pass an object such as { cid }'],
  [engine => engine.content.read({ cid: ABSENT, range: { start: -1 } }), 'range.start', 'a whole number of bytes'],
  [engine => engine.content.read(wrong({ cid: ABSENT, range: { stat: 1 } })), 'unknown key stat', 'mean start?'],
  [engine => engine.accounts.create({ email: 'ada', plan: 'free' }), 'email', 'such as someone@example.org'],
  [engine => engine.accounts.create({ email: 'a@b.org', plan: 'gold' }), 'plan', 'one of free, premium, unlimited'],
  [engine => engine.keys.adopt('nobody', 'x', 'short'), 'the key', 'must have 32 to 1,024'],
  [engine => engine.events.on(wrong('pin:craeted'), () => undefined), 'pin:craeted', 'did you mean pin:created?'],
  [
    engine => engine.events.once(wrong('pin:craeted'), { signal: AbortSignal.abort() }),
    'pin:craeted',
    'did you mean pin:created?',
  ],
  [engine => engine.takedowns.add(wrong({ cid: ABSENT, reason: 'x', status: 404 })), 'status', '410 or 451'],
  [engine => engine.collect({ graceSeconds: -1 }), 'graceSeconds', 'a number of seconds from 0'],
  [engine => engine.collect(wrong({ graceSecond: 1 })), 'unknown key graceSecond', 'did you mean graceSeconds?'],
  [(engine, directory) => engine.backup(directory), 'is neither empty nor a backup', 'name a new directory'],
  [engine => createHandler(engine, wrong({ prefx: '' })), 'createHandler: unknown key prefx', 'mean prefix?'],
  [engine => createServer(engine, wrong({ maxConection: 1 })), 'createServer: unknown key', 'mean maxConnections?'],
  [engine => startReaders(engine, wrong({ thread: 1 })), 'startReaders: unknown key thread', 'mean threads?'],
  [engine => toFetch(engine, wrong({ prefixx: '' })), 'toFetch: unknown key prefixx', 'mean prefix?'],
  [engine => createConsole(engine, wrong({ publicURL: '' })), 'unknown key publicURL', 'mean publicUrl?'],
  [() => new HoldfastClient(wrong({ base: 'http://x', keyy: '' })), 'unknown key keyy', 'mean key?'],
  [() => new HoldfastClient({ base: 'x' }), 'base', 'must be the URL of an API'],
  [() => client().pins.add(ABSENT, wrong({ nam: '' })), 'add: unknown key nam', 'mean name?'],
  [
    () =>
      client()
        .pins.all(wrong({ limitt: 1 }))
        .next(),
    'all: unknown key limitt',
    'mean limit?',
  ],
  [() => client().files.upload('', wrong({ timelok: '' })), 'unknown key timelok', 'mean timelock?'],
  [() => client().request('GET', '/x', wrong({ jsn: {} })), 'request: unknown key jsn', 'mean json?'],
  [() => openAccounts(wrong({ dataDir: '', confg: {} })), 'openAccounts: unknown key confg', 'mean config?'],
  [() => connectAccounts(wrong({ dataDir: '', catalog: 1 })), 'unknown key catalog', 'mean catalogue?'],
  [() => checkBackup(wrong({ backup: '', key: '' })), 'checkBackup: unknown key key', 'mean keys?'],
  [(_, directory) => checkBackup({ backup: directory }), 'it has no manifest', 'a finished backup'],
  [() => restoreBackup(wrong({ samenode: true })), 'restoreBackup: unknown key', 'mean sameNode?'],
  [() => moveCatalogue(wrong({ datadir: '' })), 'moveCatalogue: unknown key datadir', 'mean dataDir?'],
  [() => replaceDataKey('', wrong({ forgetSecret: true })), 'replaceDataKey: unknown key', 'mean forgetSecrets?'],
]
