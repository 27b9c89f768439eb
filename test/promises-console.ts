import type { KeptPromise } from './promises.ts'

const safety = 'test/adapters/console/safety.test.ts'
const handler = 'test/adapters/console/handler.test.ts'
const proof = 'test/adapters/console/proof.test.ts'
const kept = 'test/adapters/console/kept-sign-in.test.ts'
const page = 'adapters/console/page/kept-sign-in.ts'
const selection = (name: string) => ({ file: 'test/adapters/console/page/bulk/selection.test.ts', name })
const failures = 'test/upkeep/recent-failures.test.ts'
const console = 'adapters/console/console-handler.ts'

/** Promises that keep the console apart from the content on the same node. */
export const consolePromises: readonly KeptPromise[] = [
  {
    promise: 'the console marks the sessions that it keeps',
    file: 'adapters/console/page/sign-in-view.ts',
    find: 'signIn(email, password, { keep: maySurvive() })',
    replace: 'signIn(email, password)',
    test: { file: proof, name: 'asks for the password, and makes an account' },
  },
  {
    promise: 'the console marks the sessions of the provider that it keeps',
    file: 'adapters/console/page/provider-sign-in.ts',
    find: '.sessions.finishProvider(secret, answer, { keep: maySurvive() })',
    replace: '.sessions.finishProvider(secret, answer)',
    test: { file: proof, name: 'asks the provider again in another tab' },
  },
  {
    promise: 'the console goes on with an action after the proof',
    file: 'adapters/console/page/widgets/use-load.ts',
    find: "  try {\n    await act()\n  } catch (error) {\n    if (!isHoldfastError(error, '2fa_invalid'))",
    replace:
      "  try {\n    await Promise.resolve()\n  } catch (error) {\n    if (!isHoldfastError(error, '2fa_invalid'))",
    test: { file: proof, name: 'asks for its key, and goes on with' },
  },
  {
    promise: 'the tab that asked the provider takes the answer from another tab',
    file: 'adapters/console/page/provider-sign-in.ts',
    find: '    channel.postMessage({ taken: state })\n',
    replace: '',
    test: { file: proof, name: 'asks the provider again in another tab' },
  },
  {
    promise: 'a console whose files cannot be prepared reports it and retries',
    file: console,
    find: '      prepared = undefined\n',
    replace: '',
    test: { file: handler, name: 'reports and logs files that cannot be prepared, and retries them' },
  },
  {
    promise: 'no uploaded script runs in the console',
    file: console,
    find: 'script-src $',
    replace: "script-src 'self' $",
    test: { file: safety, name: 'runs no scripts of /ipfs/, and reads nothing else of its origin' },
  },
  {
    promise: 'the console reads nothing of its origin but the API and content',
    file: console,
    find: 'connect-src $',
    replace: "connect-src 'self' $",
    test: { file: safety, name: 'runs no scripts of /ipfs/, and reads nothing else of its origin' },
  },
  {
    promise: 'no text becomes markup in the console',
    file: console,
    find: `    "require-trusted-types-for 'script'",\n`,
    replace: '',
    test: { file: safety, name: 'runs no scripts of /ipfs/, and reads nothing else of its origin' },
  },
  {
    promise: 'no module of the console becomes a service worker',
    file: console,
    find: `request.header('service-worker') !== undefined`,
    replace: 'false',
    test: { file: safety, name: 'gives its modules to no service worker of 0.1.0' },
  },
  {
    promise: 'a page that opens the console has no access to it',
    file: console,
    find: `'cross-origin-opener-policy': 'same-origin'`,
    replace: `'cross-origin-opener-policy': 'unsafe-none'`,
    test: { file: safety, name: 'cuts its link to a page of its origin that opened it' },
  },
  {
    promise: 'no page frames the console',
    file: console,
    find: `    "frame-ancestors 'none'",\n    "base-uri`,
    replace: `    "base-uri`,
    test: { file: safety, name: 'loads in no frame, not even of its own origin' },
  },
  {
    promise: 'the console gives its modules to no page on another port',
    file: console,
    find: `'cross-origin-resource-policy': 'same-origin'`,
    replace: `'cross-origin-resource-policy': 'cross-origin'`,
    test: { file: safety, name: 'neither answers nor obeys a page on a gateway’s port' },
  },
  {
    promise: 'the console refuses plain HTTP from other machines',
    file: 'adapters/console/safe-connection.ts',
    find: "(scheme === 'http' && isLoopbackName(host))",
    replace: "scheme === 'http'",
    test: { file: safety, name: 'is refused by plain HTTP from other machines, with advice' },
  },
  {
    promise: "the owner's list of failures contains no private data of clients",
    file: 'src/upkeep/recent-failures.ts',
    find: "else if (SAFE_FIELDS.has(name) && typeof value === 'string')",
    replace: "else if (typeof value === 'string')",
    test: { file: failures, name: 'records no secret, address or path of a request' },
  },
  {
    promise: 'the list of failures is bounded',
    file: 'src/upkeep/recent-failures.ts',
    find: 'if (this.#failures.length > MOST) this.#failures.shift()',
    replace: '',
    test: { file: failures, name: 'keeps the last two hundred, each of limited length' },
  },
  {
    promise: 'the history is bounded',
    file: 'src/upkeep/history.ts',
    find: 'if (this.#samples.length > MOST_SAMPLES[this.#step]) this.#samples.shift()',
    replace: '',
    test: { file: 'test/upkeep/history.test.ts', name: 'history stays bounded, and survives a clock that is set back' },
  },
  {
    promise: 'a console with a path in its public URL also starts at the local address',
    file: console,
    find: 'isPublished ? published.pathname : prefix',
    replace: 'published?.pathname ?? prefix',
    test: {
      file: 'test/adapters/console/page/addresses.test.ts',
      name: 'works on the machine itself, and behind a proxy',
    },
  },
  {
    promise: 'a console behind a proxy that strips a path links its modules with the path',
    file: console,
    find: 'isPublished ? published.pathname : prefix',
    replace: 'prefix',
    test: {
      file: 'test/adapters/console/page/addresses.test.ts',
      name: 'works on the machine itself, and behind a proxy',
    },
  },
  {
    promise: 'on a host name of content, /console/ belongs to the content',
    file: 'adapters/fetch/fetch-handler.ts',
    find: ' && engine.isContentHost?.(header) !== true',
    replace: '',
    test: { file: handler, name: 'it answers below the prefix, but on no host name of content' },
  },
  {
    promise: 'a sign-in is stored only where no content shares the origin',
    file: console,
    find: ' && gateway !== null ?',
    replace: ' ?',
    test: { file: kept, name: 'stores nothing where content shares the origin' },
  },
  {
    promise: 'an outage that the browser has cached keeps no sign-in from being stored',
    file: page,
    find: "cache: 'reload'",
    replace: "cache: 'force-cache'",
    test: { file: kept, name: 'is stored although the browser has cached an error' },
  },
  {
    promise: 'no cached page of an older version reads a stored sign-in',
    file: console,
    find: `{ 'clear-site-data': '"cache"' }`,
    replace: '{}',
    test: { file: kept, name: 'survives reloads of its tab, as a key of its' },
  },
  {
    promise: 'a sign-in is stored only after the browser has dropped its old pages',
    file: page,
    find: '    if (!(await clearOldPages())) return signedIn\n',
    replace: '',
    test: { file: kept, name: 'is out of reach for cached pages of older' },
  },
  {
    promise: 'a browser that cannot drop its old pages stores no sign-in',
    file: page,
    find: 'return wasCached && !(await isCached(PROBE))',
    replace: 'return true',
    test: { file: kept, name: 'stores nothing in a browser that does not' },
  },
  {
    promise: 'no service worker of an older version reads a stored sign-in',
    file: page,
    find: '  await Promise.all(workers.map(worker => worker.unregister()))\n',
    replace: '',
    test: { file: kept, name: 'is out of reach for service workers of' },
  },
  {
    promise: 'the console stores no pasted key',
    file: page,
    find: "kind === 'password' ? credential :",
    replace: 'kind !== null ? credential :',
    test: { file: kept, name: 'survives reloads of its tab, as a key of its' },
  },
  {
    promise: 'a sign-out ends the stored sign-in on the server',
    file: page,
    find: 'await newClient(credential).sessions.signOut()',
    replace: 'await Promise.resolve(credential)',
    test: { file: kept, name: 'survives reloads of its tab, as a key' },
  },
  {
    promise: 'a sign-in of one tab ends no other tab',
    file: 'src/access/keys/key-service.ts',
    find: 'consoleKeyName(id, randomId(this.#random, CONSOLE_NAME_BYTES))',
    replace: "consoleKeyName(id, '0')",
    test: { file: kept, name: 'keeps its own key while other tabs sign in' },
  },
  {
    promise: 'the end of all sign-ins reaches tabs that nobody reloads',
    file: page,
    find: '    return { ...kept, user }\n',
    replace: '    return signedIn\n',
    test: { file: kept, name: 'ends everywhere on demand, in tabs' },
  },
  {
    promise: 'an ended session keeps the uploads of its tab',
    file: 'adapters/console/page/app.ts',
    find: '    uploads.pause()\n    setReason',
    replace: '    drop(uploads)\n    setReason',
    test: { file: kept, name: 'that ends keeps the uploads, which go on' },
  },
  {
    promise: 'no upload goes on for another user',
    file: 'adapters/console/page/app.ts',
    find: '    if (userId.current !== next.user.id) drop(uploads)\n',
    replace: '',
    test: { file: kept, name: 'that ends gives no uploads to another user' },
  },
  {
    promise: 'all that match are the pins that matched when the user selected them',
    file: 'adapters/console/page/bulk/selection-bar.ts',
    find: 'Date.parse(first.createdAt) + 1)',
    replace: 'Date.parse(first.createdAt) + 3_600_000)',
    test: selection('includes all pins that match, on every page'),
  },
  {
    promise: 'the console finds a job again after a reload',
    file: 'adapters/console/page/app.ts',
    find: '    void jobs.resume().catch(() => undefined)\n',
    replace: '',
    test: selection('finds its job again after a reload'),
  },
  {
    promise: 'the console can undo the deletion of a single pin',
    file: 'adapters/console/page/bulk/job-list.ts',
    find: 'ids.length === 0 || ids.length > MOST_RECORDS',
    replace: 'ids.length >= 0',
    test: { file: 'test/adapters/console/page/pins.test.ts', name: 'are deleted at once, after a confirmation' },
  },
]
