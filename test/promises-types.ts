import type { KeptPromise } from './promises.ts'

const audits = 'test/gateway/audits.test.ts'
const types = 'test/gateway/representations/content-type.test.ts'
const conditions = 'test/gateway/http/conditions.test.ts'
const ROOM = 'src/gateway/representations'

/** Promises about the media type of a file, conditions and mistaken paths. */
export const typePromises: readonly KeptPromise[] = [
  {
    promise: 'a page without a known ending is a page',
    file: `${ROOM}/text-type.ts`,
    find: "if (!isXml && HTML_DOCTYPE.test(rest)) return 'text/html'",
    replace: '',
    test: { file: audits, name: 'type.ending' },
  },
  {
    promise: 'only bytes that begin like HTML are HTML',
    file: `${ROOM}/text-type.ts`,
    find: "HTML_ELEMENT.test(rest) ? 'text/html' : null",
    replace: "rest.startsWith('<') ? 'text/html' : null",
    test: { file: audits, name: 'type.ending' },
  },
  {
    promise: 'text that begins like a short signature is text',
    file: `${ROOM}/told-by-bytes.ts`,
    find: 'text !== null && !TEXT_SIGNATURE.test(text)',
    replace: 'false',
    test: { file: audits, name: 'type.ending' },
  },
  {
    promise: 'the library never tells a type that browsers run',
    file: `${ROOM}/told-by-bytes.ts`,
    find: '?? !isActive(type)',
    replace: '?? true',
    test: { file: types, name: 'never makes bytes a type that browsers run' },
  },
  {
    promise: 'an error of the library is a file of unknown type',
    file: `${ROOM}/told-by-bytes.ts`,
    find: '  } catch {\n    return BINARY\n  }',
    replace: '  } catch (error) {\n    throw error\n  }',
    test: { file: types, name: 'an error of the library' },
  },
  {
    promise: 'the library gets at most 4 KiB',
    file: `${ROOM}/content-type.ts`,
    find: 'end: Math.min(LOOKED_AT_BYTES, file.size)',
    replace: 'end: file.size',
    test: { file: types, name: 'the library gets at most 4 KiB' },
  },
  {
    promise: 'ranges do not read the start of a file again',
    file: `${ROOM}/content-type.ts`,
    find: '  if (last?.name === name) return last.type\n',
    replace: '',
    test: { file: types, name: 'reads the start of a file once' },
  },
  {
    promise: 'endings of server programs tell no type',
    file: `${ROOM}/content-type.ts`,
    find: '    if (SERVER_PROGRAMS.has(ending)) return null\n',
    replace: '',
    test: { file: audits, name: 'type.ending' },
  },
  {
    promise: 'text that is not UTF-8 gets no charset',
    file: `${ROOM}/charset.ts`,
    find: 'text === null || ESCAPES',
    replace: 'text !== null && ESCAPES',
    test: { file: audits, name: 'type.charset' },
  },
  {
    promise: 'a page that names its encoding gets no charset',
    file: `${ROOM}/charset.ts`,
    find: "  if (namesEncoding(type, start)) return ''\n",
    replace: '',
    test: { file: audits, name: 'type.charset' },
  },
  {
    promise: 'a file with another type than before has another ETag',
    file: `${ROOM}/file-response.ts`,
    find: "isAsBefore ? '' : `.v${TYPE_VERSION}`",
    replace: "''",
    test: { file: audits, name: 'type.change' },
  },
  {
    promise: 'a file with another type than before is not cached for good',
    file: `${ROOM}/file-response.ts`,
    find: '      ...(!isAsBefore && listingHeaders(lookup, etag)),\n',
    replace: '',
    test: { file: audits, name: 'type.change' },
  },
  {
    promise: 'the bytes of a requested identity CID never make it a page',
    file: `${ROOM}/file-response.ts`,
    find: 'isPage && isIdentity(blocks.root) ?',
    replace: 'false ?',
    test: { file: audits, name: 'type.identity' },
  },
  {
    promise: 'If-Match is compared strongly',
    file: 'src/gateway/http/conditions.ts',
    find: 'lists(wanted, etag, isSameStrongly)',
    replace: 'lists(wanted, etag, isSameWeakly)',
    test: { file: conditions, name: 'If-Match' },
  },
  {
    promise: 'If-Unmodified-Since is ignored beside If-Match',
    file: 'src/gateway/http/conditions.ts',
    find: '  } else if (modified !== null && unmodifiedSince !== null && modified > unmodifiedSince) {',
    replace: '  }\n  if (modified !== null && unmodifiedSince !== null && modified > unmodifiedSince) {',
    test: { file: conditions, name: 'of content with a modification date' },
  },
  {
    promise: 'conditions on a missing page do not apply to the page that replaces it',
    file: 'src/gateway/site/site-rules.ts',
    find: "  'if-match',\n",
    replace: '',
    test: { file: audits, name: 'type.site' },
  },
  {
    promise: '/ipfs/ipfs/<cid> redirects below the same prefix',
    file: 'src/gateway/site/routing.ts',
    find: "const up = '../'.repeat(rest.split('/').length - 1)",
    replace: "const up = '/ipfs/'",
    test: { file: audits, name: 'path.doubled' },
  },
  {
    promise: 'an encoded slash after the CID has a hint',
    file: 'src/gateway/http/root-hint.ts',
    find: "root.includes('/') && ",
    replace: 'false && ',
    test: { file: audits, name: 'path.hints' },
  },
  {
    promise: 'entity-bytes before the content is refused',
    file: `${ROOM}/archive-response.ts`,
    find: ' || (end <= 0 && start < end)',
    replace: '',
    test: { file: audits, name: 'car.outside' },
  },
]
