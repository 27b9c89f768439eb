import type { KeptPromise } from './promises.ts'

const page = 'adapters/console/page'
const content = 'test/adapters/console/page/content.test.ts'
const pins = 'test/adapters/console/page/pins.test.ts'
const account = 'test/adapters/console/page/account.test.ts'
const contents = 'test/adapters/console/page/contents.test.ts'
const keyboard = 'test/adapters/console/page/keyboard.test.ts'
const owner = 'test/adapters/console/page/owner.test.ts'
const list = (name: string) => ({ file: 'test/adapters/console/page/list-first.test.ts', name })
const selection = 'test/adapters/console/page/bulk/selection.test.ts'
const states = (part: string, name: string) => ({ file: `test/adapters/console/page/states-${part}.test.ts`, name })

/** Promises of the console to its users. */
export const pagePromises: readonly KeptPromise[] = [
  {
    promise: 'a list whose last page was deleted shows the page before',
    file: `${page}/widgets/pager.ts`,
    find: 'if (page > last) onPage(last)',
    replace: 'if (page < 1) onPage(last)',
    test: { file: selection, name: 'on the last page is deleted, and the' },
  },
  {
    promise: 'the console shows no name whose characters are reordered',
    file: `${page}/content/folder-tree.ts`,
    find: 'const shown = visibleText(name)',
    replace: 'const shown = name',
    test: { file: contents, name: 'show names without characters that' },
  },
  {
    promise: 'browsers show the progress of an upload',
    file: 'adapters/client/progress-fetch.ts',
    find: '    sending.upload.onprogress = ({ loaded }) => onProgress(loaded)\n',
    replace: '',
    test: { file: content, name: 'shows the progress of a large file, cancels and retries it' },
  },
  {
    promise: 'a cancelled upload stops sending',
    file: `${page}/content/upload-queue.ts`,
    find: '    this.#running.get(id)?.abort()\n',
    replace: '',
    test: {
      file: 'test/adapters/console/page/upload-queue.test.ts',
      name: 'are cancelled, while sent or waiting, and retried',
    },
  },
  {
    promise: 'an upload retried right after its cancellation survives the end of the first attempt',
    file: `${page}/content/upload-queue.ts`,
    find: '!controller.signal.aborted',
    replace: 'true',
    test: {
      file: 'test/adapters/console/page/upload-queue.test.ts',
      name: 'retried at once survive the end of their first attempt',
    },
  },
  {
    promise: 'the console asks before it closes during an upload',
    file: `${page}/app.ts`,
    find: "  addEventListener('beforeunload', ask)\n",
    replace: '',
    test: { file: content, name: 'keeps uploading in other views, and asks before closing' },
  },
  {
    promise: 'a file dropped outside the target does not replace the console',
    file: `${page}/app.ts`,
    find: "  addEventListener('drop', keep)\n",
    replace: '',
    test: { file: content, name: 'ignores a file that is dropped outside of the target' },
  },
  {
    promise: 'a page that failed to load while the server was unavailable is loaded again',
    file: `${page}/widgets/use-load.ts`,
    find: 'if (isOut) retry = setTimeout(reload,',
    replace: 'if (false) retry = setTimeout(reload,',
    test: { file: pins, name: 'are listed again after an outage' },
  },
  {
    promise: 'a shortcut never takes a key from a text field',
    file: `${page}/shortcuts.ts`,
    find: 'event.altKey || isTyping(event.target)',
    replace: 'event.altKey',
    test: { file: keyboard, name: 'goes to views, rows and the search by shortcuts' },
  },
  {
    promise: 'the owner sees which accounts have used most of their plan',
    file: `${page}/owner/usage-alert.ts`,
    find: 'if (used < NEAR) return null',
    replace: 'if (used < 1) return null',
    test: { file: 'test/adapters/console/page/owner.test.ts', name: 'warns of accounts that have used most' },
  },
  {
    promise: 'the shortcuts can be turned off',
    file: `${page}/shortcuts.ts`,
    find: '    if (!isOn) return\n',
    replace: '',
    test: { file: keyboard, name: 'shows its shortcuts, and can turn them off' },
  },
  {
    promise: 'a preview runs no script of the content',
    file: `${page}/content/preview.ts`,
    find: "? undefined : ''",
    replace: "? undefined : 'allow-scripts'",
    test: { file: contents, name: 'have no preview as pages' },
  },
  {
    promise: 'only the gateway’s own origin shows content in the console',
    file: 'adapters/console/console-handler.ts',
    find: ': [`frame-src${content}`]',
    replace: ': [`frame-src *`]',
    test: { file: 'test/adapters/console/handler.test.ts', name: 'allows frames only of the gateway’s own origin' },
  },
  {
    promise: 'the console loads a folder when it is opened',
    file: `${page}/content/folder-tree.ts`,
    find: 'const [isOpen, setOpen] = useState(false)',
    replace: 'const [isOpen, setOpen] = useState(true)',
    test: { file: contents, name: 'show a folder as a tree' },
  },
  {
    promise: 'deleting from one cluster leaves the others',
    file: `${page}/content/pin-view.ts`,
    find: 'cluster === undefined ? here : await client.pins.status(cid, { signal })',
    replace: 'here',
    test: { file: pins, name: 'have a page with details and content' },
  },
  {
    promise: 'the console shows what a node waits for',
    file: 'adapters/console/page/owner/nodes-card.ts',
    find: '    ${waits.map(wait => html`<p class="hint" key=${wait}>${wait}</p>`)}\n',
    replace: '',
    test: { file: 'test/adapters/console/page/states-owner.test.ts', name: 'looks good with much to show' },
  },
  {
    promise: 'the console waits for the answer before it says that content is deleted',
    file: `${page}/widgets/action-form.ts`,
    find: 'if (!(await run(act))) return',
    replace: 'void run(act)',
    test: { file: pins, name: 'stay if the server refuses to delete them' },
  },
  {
    promise: 'any page of a long list takes one request',
    file: `${page}/content/pin-list-view.ts`,
    find: 'return of === undefined ? client.pins.page(page, asked)',
    replace: 'return of === undefined ? client.pins.page(1, options).then(() => client.pins.page(page, asked))',
    test: { file: pins, name: 'are shown by the thousand, with a link to the last page' },
  },
  {
    promise: 'the filters of the console take one line',
    file: `${page}/style.css`,
    find: '.choosing {\n  flex: 5 1 0;\n',
    replace: '.choosing {\n  flex-wrap: wrap;\n  flex: none;\n  width: 20rem;\n',
    test: list('has its filters in one line at every width'),
  },
  {
    promise: 'the list of the console opens a folder in place',
    file: `${page}/content/pin-rows.ts`,
    find: 'setOpened(opened === id ? null : id)',
    replace: 'setOpened(null)',
    test: list('tells types by icons, and opens folders in place'),
  },
  {
    promise: 'several uploads take the place of one bar, unless one failed',
    file: `${page}/content/uploads-view.ts`,
    find: 'isOpen ?? (uploads.length === 1 || failed > 0)',
    replace: 'isOpen ?? uploads.length === 1',
    test: list('folds several uploads into a bar, and unfolds failed ones'),
  },
  {
    promise: 'the console says before a pin by CID that nobody is there to ask',
    file: `${page}/content/no-peers.ts`,
    find: 'value.count > 0',
    replace: 'value.count === 0',
    test: list('says before a pin by CID that no peer is connected'),
  },
  {
    promise: 'the owner sees the pins of one account, and acts on none',
    file: `${page}/owner/account-pins.ts`,
    find: ' of=${{ id, email: nameOf(id) }}',
    replace: '',
    test: {
      file: 'test/adapters/console/page/account-pins.test.ts',
      name: 'are listed for the owner, private ones with a lock',
    },
  },
  {
    promise: 'the owner lists the uploads of the account that the path names',
    file: 'src/contract/admin/admin-accounts.ts',
    find: 'listUploads(pins, id, query)',
    replace: "listUploads(pins, '', query)",
    test: { file: 'test/contract/admin.test.ts', name: 'uploads of an account are listed, private ones too' },
  },
  {
    promise: 'an upload waits for a server that restarts',
    file: `${page}/content/upload-queue.ts`,
    find: 'if (isOn() && isAway(error) && misses < MOST_MISSES) this.#again(id, misses, wordsFor(error))\n      else',
    replace: '',
    test: {
      file: 'test/adapters/console/page/upload-queue.test.ts',
      name: 'wait for a server that is away, and then go on',
    },
  },
  {
    promise: 'the owner ends the sessions of an account in the console',
    file: `${page}/owner/accounts-view.ts`,
    find: 'change(() => client.owner.endSessions(id),',
    replace: 'change(async () => id,',
    test: {
      file: 'test/adapters/console/page/owner.test.ts',
      name: 'ends all sessions of an account, but not its keys',
    },
  },
  {
    promise: 'signing out of the console ends the session at the node',
    file: `${page}/app.ts`,
    find: '    else await signOutKept(credential).catch(() => undefined)\n',
    replace: '',
    test: {
      file: account,
      name: 'signs in by password, shows its usage, and signs out',
    },
  },
  {
    promise: 'an ended session leads to a new sign-in',
    file: `${page}/session.ts`,
    find: '    if (answer.status === 401) onEnded?.()\n',
    replace: '',
    test: { file: account, name: 'asks for sign-in after a reload, and when the session has ended' },
  },
  {
    promise: 'the QR code contains the secret',
    file: `${page}/account/second-factor-view.ts`,
    find: 'setup.otpauthUrl',
    replace: 'setup.secret',
    test: { file: account, name: 'turns a second factor on by QR code, and off' },
  },
  {
    promise: "the console's text has enough contrast in light and dark",
    file: `${page}/style.css`,
    find: '--quiet: light-dark(#56616e',
    replace: '--quiet: light-dark(#9aa4ae',
    test: states('door', 'looks good with a key, a password, a code and a link'),
  },
  {
    promise: 'a phone shows the list of pins without scrolling sideways',
    file: `${page}/style.css`,
    find: '    grid-template-columns: auto minmax(0, 1fr) auto;\n    align-items: center;\n',
    replace: '    grid-template-columns: 20rem 20rem;\n',
    test: states('content', 'looks good with uploads in every state'),
  },
  {
    promise: 'no button touches the field above it',
    file: `${page}/style.css`,
    find: 'form > .row {\n  margin-top: 1rem;',
    replace: 'form > .row {\n  margin-top: 0;',
    test: states('owner', 'looks good while nothing has happened, and in an outage'),
  },
  {
    promise: 'a user of the keyboard sees the focus in each task',
    file: `${page}/style.css`,
    find: '  outline: 3px solid var(--accent);\n',
    replace: '  outline: none;\n',
    test: {
      file: 'test/adapters/console/page/keyboard-tasks.test.ts',
      name: 'makes and revokes keys, tokens and webhooks',
    },
  },
  {
    promise: 'a key pressed in a new view is not lost to a later move of the focus',
    file: `${page}/app.ts`,
    find: '  useLayoutEffect(() => {\n    document.title',
    replace: '  useEffect(() => {\n    document.title',
    test: { file: keyboard, name: 'begins at the content of a new view, before the next key' },
  },
  {
    promise: 'a late answer replaces no newer selection',
    file: `${page}/bulk/use-selection.ts`,
    find: 'now === from',
    replace: 'true',
    test: { file: selection, name: 'stays as chosen while the pins that match are counted' },
  },
  {
    promise: 'a dialog over a selection asks for all that it changes',
    file: `${page}/bulk/selection-bar.ts`,
    find: 'disabled=${isBusy} onClick=${() => setAsked(action)}',
    replace: 'onClick=${() => setAsked(action)}',
    test: { file: selection, name: 'stays as chosen while the pins that match are counted' },
  },
  {
    promise: 'a change of an account is not lost during another one',
    file: `${page}/owner/accounts-view.ts`,
    find: 'last.current.then(() => run(act))',
    replace: 'run(act)',
    test: { file: owner, name: 'makes a change of an account after the one before' },
  },
  {
    promise: 'the audit log is read again with the same filter',
    file: `${page}/owner/audit-view.ts`,
    find: '    setAsked(next)\n    // The same filter may match new entries.\n    reload()\n',
    replace: '    setAsked(next)\n',
    test: { file: owner, name: 'filters, pages and exports the audit log' },
  },
]
