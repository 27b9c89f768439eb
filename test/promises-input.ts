import type { KeptPromise } from './promises.ts'

const urlReader = 'test/features/url-uploads/url-reader.test.ts'

const contract = 'test/contract/contract.test.ts'
const body = 'test/http/json-body.test.ts'
const options = 'test/wiring/given-options.test.ts'
const testEngines = 'test/testing/test-engine.test.ts'
const everyday = 'test/pins/everyday.test.ts'
const texts = 'test/wiring/given-texts.test.ts'
const sender = 'test/features/webhooks/webhook-sender.test.ts'
const inflated = 'test/content/car/inflated.test.ts'
const records = 'test/pins/records.test.ts'
const fields = 'MUST refuse a field with U+0000 or half a'

/** Promises on what clients send, and on what they learn by it. */
export const inputPromises: readonly KeptPromise[] = [
  {
    promise: 'a name of 255 characters may take 510 code units',
    file: 'src/catalogue/overlong-name.ts',
    find: ' && (name.length > 2 * LONGEST_NAME || [...name].length > LONGEST_NAME)',
    replace: '',
    test: { file: records, name: 'a name of 255 code points' },
  },
  {
    promise: 'a search takes each name that a record may have',
    file: 'src/pins/lists/list-search.ts',
    find: '!isOverlongName(text)',
    replace: 'text.length <= LONGEST_NAME',
    test: { file: records, name: 'a name of 255 code points' },
  },
  {
    promise: 'an unknown key of the configuration names its likeness',
    file: 'src/config/schema-problem.ts',
    find: 'const names = namesAt(schema, unknown.schemaPath)',
    replace: 'const names: string[] = []',
    test: { file: 'test/config/config.test.ts', name: 'is refused by name' },
  },
  {
    promise: 'an engine for tests has an identity of its own',
    file: 'src/storage/empty-database.ts',
    find: "sqlite.exec('UPDATE node_identity",
    replace: "sqlite.exec('UPDATE node_identity SET id = id -- ",
    test: { file: testEngines, name: 'has the same database as any engine, and its' },
  },
  {
    promise: 'an engine for tests leaves no directory',
    file: 'src/testing/test-engine.ts',
    find: 'engine.stop().finally(remove)',
    replace: 'engine.stop()',
    test: { file: testEngines, name: 'starts engines that share nothing, and deletes' },
  },
  {
    promise: 'an unknown option of a method is refused',
    file: 'src/domain/known-fields.ts',
    find: 'if (fields !== undefined) check(',
    replace: 'if (fields === null) check(',
    test: { file: options, name: 'refuse an unknown key, naming the nearest' },
  },
  {
    promise: 'account: undefined is no omitted account',
    file: 'src/wiring/own-account.ts',
    find: 'if (!isOmitted) throw',
    replace: 'if (accounts === null) throw',
    test: { file: everyday, name: 'are never those of the only account' },
  },
  {
    promise: 'several accounts have no default',
    file: 'src/wiring/own-account.ts',
    find: 'if (total > 1) throw',
    replace: 'if (total > 9) throw',
    test: { file: everyday, name: 'need an account if there are several' },
  },
  {
    promise: 'an unknown option of createEngine names its likeness',
    file: 'src/wiring/setup.ts',
    find: 'if (unknown.length > 0) throw new HoldfastError',
    replace: 'if (unknown.length > 9) throw new HoldfastError',
    test: { file: options, name: 'with the nearest name' },
  },
  {
    promise: 'keys of a JSON object are counted before it is parsed',
    file: 'src/http/json-body.ts',
    find: '      if (count > MAX_KEYS) throw tooMuch(`${MAX_KEYS} keys in one object`)\n',
    replace: '',
    test: { file: body, name: 'with more keys is refused with the field' },
  },
  {
    promise: 'levels of JSON are counted before it is parsed',
    file: 'src/http/json-body.ts',
    find: 'if (keys.push(0) > MAX_LEVELS) throw',
    replace: 'if (keys.push(0) < 0) throw',
    test: { file: body, name: 'with more levels is refused with the field' },
  },
  {
    promise: 'values of JSON are counted before it is parsed',
    file: 'src/http/json-body.ts',
    find: '    if (values > MAX_VALUES) throw tooMuch(`${MAX_VALUES} values`)\n',
    replace: '',
    test: { file: body, name: 'with more empty arrays is refused with the field' },
  },
  {
    promise: 'a JSON body has 16 KiB at most where no credential is needed',
    file: 'src/contract/contract-route.ts',
    find: "rest.access === 'public' ? MAX_PUBLIC_JSON_BYTES : MAX_JSON_BYTES",
    replace: 'MAX_PUBLIC_JSON_BYTES > 0 ? MAX_JSON_BYTES : 0',
    test: { file: contract, name: 'MUST refuse a JSON body above 16 KiB where' },
  },
  {
    promise: 'malformed requests count against their address',
    file: 'src/http/pipeline.ts',
    find: "  'VALIDATION',\n",
    replace: '',
    test: { file: 'test/http/pipeline.test.ts', name: 'malformed requests count against an' },
  },
  {
    promise: 'a catalogue neither stores nor looks for a text it cannot keep',
    file: 'src/catalogue/rules/driver.ts',
    find: "typeof value === 'string' && !isText(value)",
    replace: "typeof value === 'string' && value.includes('\\0')",
    test: { file: 'test/catalogue/rules/statement.test.ts', name: 'reads no row for the text' },
  },
  {
    promise: 'a CID that the node reads can be taken down, however long',
    file: 'src/contract/admin/takedown-routes.ts',
    find: 'maxLength: LONGEST_BASE32',
    replace: 'maxLength: 512',
    test: { file: 'test/contract/admin.test.ts', name: 'a takedown of a long CID is accepted and lifted' },
  },
  {
    promise: 'a query value with U+0000 is refused',
    file: 'src/http/pipeline.ts',
    find: '    checkTexts(value, `${name} in the query`)\n',
    replace: '',
    test: { file: contract, name: fields },
  },
  {
    promise: 'a refused constant names the values that are allowed',
    file: 'src/contract/body-reader.ts',
    find: "if (error.keyword === 'const') return",
    replace: "if (error.keyword === 'never') return",
    test: { file: 'test/contract/admin.test.ts', name: 'a wrong status of a takedown' },
  },
  {
    promise: 'a JSON text with U+0000 is refused',
    file: 'src/contract/body-reader.ts',
    find: "    checkTexts(isFields(body) ? withoutIdentifiers(body, properties) : body, '')\n",
    replace: '',
    test: { file: contract, name: fields },
  },
  {
    promise: 'an id in a JSON body with U+0000 is like any that is unknown',
    file: 'src/contract/body-reader.ts',
    find: 'properties[name] !== identifier',
    replace: 'name in body',
    test: { file: contract, name: 'MUST answer an id or CID with U+0000 as' },
  },
  {
    promise: 'a field of a form with U+0000 is refused',
    file: 'src/contract/form-fields.ts',
    find: '    checkTexts(text, `field ${quoted(name)}`)\n',
    replace: '',
    test: { file: contract, name: fields },
  },
  {
    promise: 'an id in a path with U+0000 reaches no catalogue',
    file: 'src/http/router.ts',
    find: 'isText(value) ? value : raw',
    replace: 'isText(raw) ? value : raw',
    test: { file: 'test/http/router.test.ts', name: 'a parameter with U+0000 stays percent-encoded' },
  },
  {
    promise: 'programs are refused the texts that requests are',
    file: 'src/engine.ts',
    find: 'checkingCalls<PinService>(pins.service, given.PIN_CALLS)',
    replace: 'pins.service',
    test: { file: texts, name: 'is refused in a call, naming the field' },
  },
  {
    promise: 'a configuration with U+0000 is refused',
    file: 'src/config/config.ts',
    find: '  if (unkept !== null) return fail(unkept, UNKEPT)\n',
    replace: '',
    test: { file: texts, name: 'is refused in a configuration, naming' },
  },
  {
    promise: 'names in a DAG are listed as every catalogue can keep them',
    file: 'src/ledger/root-table.ts',
    find: 'path: keptText(file.path)',
    replace: 'path: file.path',
    test: { file: texts, name: 'is listed as its mark' },
  },
  {
    promise: 'what others say in an error can be kept',
    file: 'src/domain/errors.ts',
    find: 'super(keptText(message), ',
    replace: 'super(message, ',
    test: {
      file: 'test/domain/text.test.ts',
      name: 'an error message is storable in catalogues, whatever input it quotes',
    },
  },
  {
    promise: 'a webhook does not tell which names lead into a private network',
    file: 'src/features/webhooks/webhook-sender.ts',
    find: 'return isTimeout(error)',
    replace: "if (error instanceof PrivateAddressError) return 'is private'\n  return isTimeout(error)",
    test: { file: sender, name: 'a name with address 10.0.0.1 receives no' },
  },
  {
    promise: 'a pin does not tell which names lead into a private network',
    file: 'src/outgoing/gateway-client.ts',
    find: "return { kind: 'failed', reason: UNREACHED, final: true }",
    replace: "return { kind: 'failed', reason: String(error), final: true }",
    test: { file: 'test/outgoing/gateway-client.test.ts', name: 'is refused as a number or name, without' },
  },
  {
    promise: 'two Host headers are refused',
    file: 'adapters/node-http/node-exchange.ts',
    find: 'hosts === 1 ||',
    replace: 'hosts >= 1 ||',
    test: {
      file: 'test/adapters/node-http/adapter.test.ts',
      name: 'two Host headers are refused in JSON, on every server and mount',
    },
  },
  {
    promise: 'a mount for Request and Response refuses two Host headers',
    file: 'adapters/fetch/fetch-handler.ts',
    find: "request.headers.get('host')?.includes(',') === true",
    replace: "request.headers.get('host') === ','",
    test: {
      file: 'test/adapters/fetch/handler.test.ts',
      name: 'a request with two Host headers is refused',
    },
  },
  {
    promise: 'the country of a cluster is a text',
    file: 'src/contract/cluster-routes.ts',
    find: 'given.country || region',
    replace: "given.country ?? ''",
    test: { file: contract, name: "MUST list the plan's clusters in configured order" },
  },
  {
    promise: 'the name of an account is a text',
    file: 'src/contract/account/user-fields.ts',
    find: 'account.name ?? account.email',
    replace: "account.name ?? ''",
    test: { file: contract, name: 'MUST change the name by key, the email' },
  },
  {
    promise: 'a walk remembers no more blocks than its bound',
    file: 'src/content/dag/links.ts',
    find: '    if (seen.size >= maxBlocks) throw tooMany(maxBlocks)\n',
    replace: '',
    test: { file: 'test/content/dag/block-links.test.ts', name: 'end a walk at the first one over the limit' },
  },
  {
    promise: 'a DAG in a CAR has as many blocks as a fetched one',
    file: 'src/pins/upload/car-importer.ts',
    find: 'onMissing, ...bounds, signal }',
    replace: 'onMissing, ...bounds, maxBlocks: Number.POSITIVE_INFINITY, signal }',
    test: { file: inflated, name: 'pin.maxBlocks applies to CARs, and below identity CIDs' },
  },
  {
    promise: 'below an identity CID are as many blocks as in a fetched DAG',
    file: 'src/pins/pinner.ts',
    find: 'cid.multihash.code === HASH.identity ? this.#parts.maxBlocks : ADMITTED',
    replace: 'ADMITTED',
    test: { file: inflated, name: 'pin.maxBlocks applies to CARs, and below identity CIDs' },
  },
  {
    promise: 'a sample of a cluster remembers no more blocks than its bound',
    file: 'src/upkeep/read-sample.ts',
    find: 'concurrency: READ_AT_ONCE, maxBlocks,',
    replace: 'concurrency: READ_AT_ONCE, maxBlocks: Number.POSITIVE_INFINITY,',
    test: { file: 'test/upkeep/read-sample.test.ts', name: 'a sample over its block limit ends without a problem' },
  },
  {
    promise: 'an upload from a URL follows no redirect to a private address',
    file: 'src/outgoing/redirects.ts',
    find: '    if (!isAllowed(url)) throw new PrivateAddressError()\n',
    replace: '',
    test: { file: urlReader, name: 'never reaches a private address by a redirect' },
  },
  {
    promise: 'an upload from a URL checks the address that it connects to',
    file: 'src/features/url-uploads/url-reader.ts',
    find: 'lookup: allowPrivate ? undefined : lookup',
    replace: 'lookup: undefined',
    test: { file: urlReader, name: 'connects to the checked address of a name that changes' },
  },
  {
    promise: 'an upload from a URL ends although its server still sends',
    file: 'src/features/url-uploads/url-reader.ts',
    find: '      const { signal } = deadline\n',
    replace: '      const signal = given\n',
    test: { file: urlReader, name: 'is given up if its server stalls' },
  },
]
