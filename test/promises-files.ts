import type { KeptPromise } from './promises.ts'

const audits = 'test/gateway/audits.test.ts'
const attributes = 'test/content/unixfs/new-attributes.test.ts'
const commands = 'test/adapters/cli/content.test.ts'
const handedOver = 'test/adapters/fleet/handed-over.test.ts'

/** Promises about names and attributes of files that are uploaded, listed and downloaded. */
export const filePromises: readonly KeptPromise[] = [
  {
    promise: 'only the root of a file of several chunks has its attributes',
    file: 'src/content/unixfs/file-tree.ts',
    find: 'isTop ? attributes : NO_ATTRIBUTES',
    replace: 'attributes',
    test: { file: attributes, name: 'to a file: two levels' },
  },
  {
    promise: 'a file of one chunk has its attributes in that chunk',
    file: 'src/content/unixfs/unixfs-import.ts',
    find: 'storeWrapped(staged, last, isOnly ? attributes : NO_ATTRIBUTES)',
    replace: 'storeWrapped(staged, last)',
    test: { file: attributes, name: 'to a file: one block' },
  },
  {
    promise: 'a time before 1970 is stored as Kubo stores it',
    file: 'src/content/unixfs/attributes.ts',
    find: 'BigInt.asUintN(64, BigInt(value))',
    replace: 'BigInt(-value)',
    test: { file: attributes, name: 'to a file: before 1970' },
  },
  {
    promise: 'a HAMT has the attributes of its directory',
    file: 'src/content/unixfs/directory.ts',
    find: 'Buffer.concat([shard.marshal(), attributes])',
    replace: 'shard.marshal()',
    test: { file: attributes, name: 'with a HAMT above the limit' },
  },
  {
    promise: 'an import by server path stores attributes only on request',
    file: 'src/pins/upload/uploader.ts',
    find: 'preserveMtime && { mtime }',
    replace: '{ mtime }',
    test: { file: attributes, name: 'to directories and links, from entries and by server path' },
  },
  {
    promise: 'a malformed attribute of a form is refused',
    file: 'src/domain/file-attributes.ts',
    find: "if (!/^[0-7]{1,6}$/.test(mode)) throw new HoldfastError('VALIDATION', `${where}mode must be an octal number`)",
    replace: '',
    test: { file: 'test/http/multipart.test.ts', name: 'attributes mode=649' },
  },
  {
    promise: 'a repeated attribute of a form is refused',
    file: 'src/domain/file-attributes.ts',
    find: 'query.getAll(name).length > 1',
    replace: 'false',
    test: { file: 'test/http/multipart.test.ts', name: 'attributes mode=0644&mode=0600' },
  },
  {
    promise: 'an upload names no more directories than its plan allows files',
    file: 'src/pins/upload/uploader.ts',
    find: 'if (entry.isCounted === true) budget.startDirectory()\n',
    replace: '\n',
    test: { file: 'test/pins/quotas.test.ts', name: 'names no more directories' },
  },
  {
    promise: 'a file that is handed over keeps its attributes',
    file: 'src/contract/uploads/hand-over.ts',
    find: 'name: `file${attributeQuery(attributes)}`',
    replace: "name: 'file'",
    test: { file: handedOver, name: 'keep names as bytes' },
  },
  {
    promise: 'entries of a directory that is handed over keep their attributes',
    file: 'src/contract/uploads/file-routes.ts',
    find: 'name: `files${attributeQuery(attributes)}`',
    replace: "name: 'files'",
    test: { file: handedOver, name: 'keep names as bytes' },
  },
  {
    promise: 'a file name of a form is kept as bytes',
    file: 'src/http/form-headers.ts',
    find: 'filename === undefined ? undefined : textOfBytes(bytesOf(filename))',
    replace: "filename === undefined ? undefined : bytesOf(filename).toString('utf8')",
    test: { file: 'test/http/multipart.test.ts', name: 'file names are bytes' },
  },
  {
    promise: 'an import by server path reads names as bytes',
    file: 'src/content/open-directory.ts',
    find: "typeof name === 'string' ? name : textOfBytes(name)",
    replace: 'name.toString()',
    test: { file: 'test/content/server-directory.test.ts', name: 'imports every name and target as bytes' },
  },
  {
    promise: 'an upload goes on without the names that a form cannot carry',
    file: 'adapters/cli/local-files.ts',
    find: 'if (what !== null) return void leftOut.push({ path, what })\n    try',
    replace: "if (what !== null) throw new HoldfastError('INVALID_PATH', what)\n    try",
    test: { file: commands, name: 'a folder goes without the names that a form cannot carry' },
  },
  {
    promise: 'an upload of the command line stores attributes only on request',
    file: 'adapters/cli/local-files.ts',
    find: '...(preserveMtime && { mtime })',
    replace: 'mtime',
    test: { file: commands, name: 'a single file keeps its permissions and its time' },
  },
  {
    promise: 'a single download has the permissions and the time of its file',
    file: 'adapters/cli/get-command.ts',
    find: 'asTar ? PLAIN : await attributesOf(client, place)',
    replace: 'PLAIN',
    test: { file: commands, name: 'a single file keeps its permissions and its time' },
  },
  {
    promise: 'a name that the file system refuses is written percent-encoded',
    file: 'adapters/cli/local-name.ts',
    find: 'if (!REFUSALS.includes((error as NodeJS.ErrnoException).code)) throw error',
    replace: 'throw error',
    test: { file: 'test/adapters/cli/unpack.test.ts', name: 'a name that the file system refuses' },
  },
  {
    promise: 'a TAR of an earlier version is not confirmed',
    file: 'src/gateway/representations/archive-response.ts',
    find: '.x-tar.v${TAR_VERSION}"',
    replace: '.x-tar"',
    test: { file: audits, name: 'attributes.archive-version' },
  },
  {
    promise: 'a symbolic link keeps its time in a TAR',
    file: 'src/gateway/representations/tar-stream.ts',
    find: "...attributesOf(node), name: path, type: 'symlink'",
    replace: "name: path, type: 'symlink'",
    test: { file: audits, name: 'in-process > attributes.archive' },
  },
  {
    promise: 'a page of entries without attributes has no columns for them',
    file: 'src/gateway/pages/listing-page.ts',
    find: "COLUMNS.filter(({ textOf }) => listing.entries.some(entry => textOf(entry) !== ''))",
    replace: 'COLUMNS',
    test: { file: audits, name: 'attributes.page' },
  },
  {
    promise: 'X-Ipfs-Path has the stored form of a name',
    file: 'src/gateway/gateway.ts',
    find: 'path: { ...path, names: resolved.given }',
    replace: 'path',
    test: { file: audits, name: 'names.forms' },
  },
  {
    promise: 'an archive is of the asked name, in no other Unicode form',
    file: 'src/gateway/gateway.ts',
    find: "['raw', 'car', 'tar'].includes(choice.format)",
    replace: "['raw', 'car'].includes(choice.format)",
    test: { file: audits, name: 'in-process > names.forms' },
  },
  {
    promise: 'a file below its own host has no Last-Modified',
    file: 'src/gateway/representations/file-response.ts',
    find: 'path.isIsolated || mtime > now ?',
    replace: 'mtime > now ?',
    test: { file: audits, name: 'in-process > attributes.no-last-modified' },
  },
]
