import type { KeptPromise } from './promises.ts'

const doctor = 'test/adapters/cli/doctor.test.ts'
const mistakes = 'test/adapters/cli/mistakes.test.ts'
const completion = 'test/adapters/cli/completion.test.ts'

/** Promises about completions and checks of the command line. */
export const commandPromises: readonly KeptPromise[] = [
  {
    promise: 'a login that cannot be saved names the file',
    file: 'adapters/cli/saved-login.ts',
    find: '.catch(cause => {\n    throw unwritable(file, cause)\n  })\n  await writeWhole',
    replace: '\n  await writeWhole',
    test: { file: 'test/adapters/cli/login.test.ts', name: 'a configuration directory that cannot' },
  },
  {
    promise: 'a command whose output cannot be written says so',
    file: 'adapters/cli/command-line.ts',
    find: "if (topic !== 'serve' || wantsHelp(rest)) endWithReader()",
    replace: '',
    test: { file: 'test/adapters/cli/login.test.ts', name: 'output that cannot be written is an' },
  },
  {
    promise: 'an empty value of a flag is not taken for its default or for everything',
    file: 'adapters/cli/arguments.ts',
    find: 'if (isEmpty && !mayBeEmpty) throw',
    replace: 'if (isEmpty && mayBeEmpty) throw',
    test: { file: 'test/adapters/cli/empty-values.test.ts', name: 'is refused for the flag of' },
  },
  {
    promise: 'an empty path does not publish the working directory',
    file: 'adapters/cli/arguments.ts',
    find: "if (positionals.includes('')) throw",
    replace: 'if (positionals.length > 1e6) throw',
    test: { file: 'test/adapters/cli/empty-values.test.ts', name: 'is refused as an argument of' },
  },
  {
    promise: 'the answer to an upload has a link, for which no scope is needed',
    file: 'src/contract/record-fields.ts',
    find: '{ url: clusters.urlOf(record) }',
    replace: "{ url: '' }",
    test: { file: 'test/adapters/cli/content.test.ts', name: 'without the scope cluster:read' },
  },
  {
    promise: 'a command makes content public in an account whose default is private',
    file: 'adapters/cli/private-content.ts',
    find: "if (flags.public) return 'public'",
    replace: '',
    test: { file: 'test/adapters/cli/content.test.ts', name: 'content is public if asked for' },
  },
  {
    promise: 'flags of other programs work',
    file: 'adapters/cli/habits.ts',
    find: 'before.flatMap(letters).flatMap(flag => ours(flag))',
    replace: 'before',
    test: { file: 'test/adapters/cli/habits.test.ts', name: 'ls -la' },
  },
  {
    promise: 'threads of the server read the cache of compiled code',
    file: 'adapters/cli/main.ts',
    find: 'if (cache !== undefined) process.env.NODE_COMPILE_CACHE ||= cache\n',
    replace: '',
    test: { file: 'test/adapters/cli/compile-cache.test.ts', name: 'threads read the same cache' },
  },
  {
    promise: 'completions know the flags of the help',
    file: 'adapters/cli/completions.ts',
    find: '...all.map(({ name, about }) => ({ name, about }))',
    replace: '',
    test: { file: completion, name: 'suggests after' },
  },
  {
    promise: 'a completion names files only for paths',
    file: 'adapters/cli/completion-scripts.ts',
    find: '&& compopt +o default',
    replace: '&& : +o default',
    test: { file: completion, name: 'allows paths only where one belongs' },
  },
  {
    promise: 'doctor sends no key of another server',
    file: 'adapters/cli/doctor-server.ts',
    find: "...(isOthers && { HOLDFAST_API_KEY: '' })",
    replace: '',
    test: { file: doctor, name: 'gets no key that the environment' },
  },
  {
    promise: 'doctor tries no port 0',
    file: 'adapters/cli/doctor-ports.ts',
    find: "if (port === 0) return fine(check, 'the start takes any free port')",
    replace: '',
    test: { file: doctor, name: 'are free, or name what has them' },
  },
  {
    promise: 'doctor refuses a newer data directory',
    file: 'adapters/cli/doctor-disk.ts',
    find: 'if (version > newest) {',
    replace: 'if (version < 0) {',
    test: { file: doctor, name: 'is judged by its contents' },
  },
  {
    promise: 'doctor reports a disk without room',
    file: 'adapters/cli/doctor-disk.ts',
    find: 'if (free <= reserve)',
    replace: 'if (free < 0)',
    test: { file: doctor, name: 'needs room beyond the reserve' },
  },
  {
    promise: 'createHandler refuses unknown options',
    file: 'adapters/node-http/node-handler.ts',
    find: "checkFields(options, HANDLER, 'createHandler')",
    replace: '',
    test: { file: mistakes, name: 'call: createHandler: unknown key prefx' },
  },
  {
    promise: 'the declarations of the client name no schema',
    file: 'tools/client-declarations.ts',
    find: "text.replace(SCHEMAS, '').replace(STATIC, '')",
    replace: "text.replace(SCHEMAS, '')",
    test: { file: 'test/tools/client-declarations.test.ts', name: 'names no schema' },
  },
  {
    promise: 'the client refuses unknown options',
    file: 'adapters/client/client.ts',
    find: 'checkingFields(new Pins(this.#connection), known.PIN_CALLS)',
    replace: 'new Pins(this.#connection)',
    test: { file: mistakes, name: 'call: add: unknown key nam' },
  },
  {
    promise: 'an unknown event is refused',
    file: 'src/wiring/checked-events.ts',
    find: 'if (NAMES.includes(name)) return name',
    replace: 'if (name !== undefined) return name',
    test: { file: mistakes, name: 'call: pin:craeted' },
  },
  {
    promise: 'wrong arguments name the help of the command',
    file: 'adapters/cli/command-line.ts',
    find: "error.details.help === 'command'",
    replace: 'false',
    test: { file: mistakes, name: 'command: upload' },
  },
  {
    promise: 'a wrong value names all allowed ones',
    file: 'src/config/schema-problem.ts',
    find: "values.join(' or ')",
    replace: 'values[0]',
    test: { file: mistakes, name: 'configuration' },
  },
]
