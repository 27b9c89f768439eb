import { describe, expect, test } from 'vitest'
import { deleteSome, either, SEQ } from '../../../src/catalogue/rules/dialect.ts'
import { hasUnkept, paramOf } from '../../../src/catalogue/rules/driver.ts'
import { columnNames, columns, fragment, sql, valuesOf } from '../../../src/catalogue/rules/statement.ts'

interface Hat {
  id: string
  ownerId: string | null
  isWorn: boolean
  sizes: string[]
}

const hat = columns<Hat>({ id: 'text', ownerId: 'text', isWorn: ['flag', 'worn'], sizes: 'json' })

describe('a statement of a rule', () => {
  test('numbers parameters, and repeated ones once for PostgreSQL', () => {
    const { sqlite, postgres } = sql`SELECT 1 FROM hats WHERE a = :one AND b = :two::text AND c = :one`
    expect(sqlite).toEqual({
      text: 'SELECT 1 FROM hats WHERE a = ? AND b = ?::text AND c = ?',
      names: ['one', 'two', 'one'],
    })
    expect(postgres).toEqual({
      text: 'SELECT 1 FROM hats WHERE a = $1 AND b = $2::text AND c = $1',
      names: ['one', 'two'],
    })
  })

  test('selects columns by field name, and lists those SQLite encodes', () => {
    const found = sql`SELECT ${hat} FROM hats ORDER BY ${SEQ}`
    const list = 'id, owner_id AS "ownerId", worn AS "isWorn", sizes'
    expect([found.sqlite.text, found.postgres.text]).toEqual([
      `SELECT ${list} FROM hats ORDER BY rowid`,
      `SELECT ${list} FROM hats ORDER BY seq`,
    ])
    expect(found.encoded).toEqual([
      ['isWorn', 'flag'],
      ['sizes', 'json'],
    ])
  })

  test('inserts columns by name, each with its parameter', () => {
    expect([columnNames(hat), valuesOf(hat)]).toEqual([
      'id, owner_id, is_worn, sizes',
      ':id, :ownerId, :isWorn, :sizes',
    ])
  })

  test('renders the SQL of one dialect for that dialect only', () => {
    const { sqlite, postgres } = sql`SELECT id FROM hats WHERE a = :a ${either('', 'AND node = :node')}`
    expect([sqlite.names, postgres.names]).toEqual([['a'], ['a', 'node']])
  })

  test('deletes rows by rowid in SQLite, and by array in PostgreSQL', () => {
    const { sqlite, postgres } = deleteSome('hats', fragment`WHERE a = :a LIMIT :most`)
    expect(sqlite.text).toBe('DELETE FROM hats WHERE rowid IN (SELECT rowid FROM hats WHERE a = ? LIMIT ?)')
    expect(postgres.text).toBe('DELETE FROM hats WHERE id = ANY(ARRAY(SELECT id FROM hats WHERE a = $1 LIMIT $2))')
  })
})

describe('a driver', () => {
  test('refuses a statement with a missing parameter', () => {
    expect(paramOf({ id: null }, 'id')).toBe(null)
    expect(() => paramOf({ id: null }, 'name')).toThrow('lacks the parameter name')
  })

  test.each(['a\0', 'a\ud800'])('reads no row for the text %j, and refuses to store it', text => {
    expect(hasUnkept(sql`SELECT 1 FROM hats WHERE id = :id`, [text])).toBe(true)
    expect(hasUnkept(sql`INSERT INTO hats (id) VALUES (:id)`, ['a'])).toBe(false)
    expect(() => hasUnkept(sql`UPDATE hats SET id = :id`, [text])).toThrow('U+0000')
  })
})
