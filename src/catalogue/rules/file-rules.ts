import { keptText } from '../../domain/text.ts'
import type { Files, ListedContent, ListedFile } from '../listed-files.ts'
import { indexed } from './dialect.ts'
import type { CatalogueDriver } from './driver.ts'
import { columns, sql } from './statement.ts'

const content = columns<ListedContent>({
  blocks: 'integer',
  dagSize: 'integer',
  fileCount: 'integer',
  announcedAt: 'integer',
})
const file = columns<ListedFile>({ path: 'text', codec: 'integer', multihash: 'bytes', size: 'integer' })

const CONTENT = sql`SELECT ${content} FROM roots WHERE id = :rootId`
const PAGE = sql`
  SELECT ${file} FROM root_files WHERE root_id = :rootId AND position >= :offset ORDER BY position LIMIT :limit`
const PAGE_OF = sql`
  SELECT ${file} FROM root_files ${indexed('root_files_by_content')}
  WHERE root_id = :rootId AND multihash = :multihash ORDER BY position LIMIT :limit OFFSET :offset`
const COUNT_OF = sql<{ count: number }>`
  SELECT COUNT(*) AS count FROM root_files WHERE root_id = :rootId AND multihash = :multihash`

export function fileRules(driver: CatalogueDriver): Files {
  return {
    content: async rootId => (await driver.first(CONTENT, { rootId })) ?? undefined,
    page: async (rootId, offset, limit) => (await driver.all(PAGE, { rootId, offset, limit })).map(asKept),
    pageOf: async (rootId, multihash, offset, limit) => {
      const total = (await driver.first(COUNT_OF, { rootId, multihash }))?.count ?? 0
      const query = { rootId, multihash, offset, limit }
      return { files: offset < total ? (await driver.all(PAGE_OF, query)).map(asKept) : [], total }
    },
  }
}

/** Makes the path valid text, because PostgreSQL cannot store other bytes. */
function asKept(listed: ListedFile): ListedFile {
  return { ...listed, path: keptText(listed.path) }
}
