import { expect, test } from 'vitest'
import { notesOf } from '../../tools/release-notes.ts'

const CHANGELOG = `# Changelog

## Unreleased

- not yet

## 0.3.0 (2026-12-01)

### Added

- a [door](docs/door.md#key), and a [wall](https://example.org/wall)

## 0.3.0-rc.1

- a window
`

test('the notes of a version are its section', () => {
  const notes = '### Added\n\n- a [door](docs/door.md#key), and a [wall](https://example.org/wall)\n'
  expect(notesOf(CHANGELOG, '0.3.0', '')).toBe(notes)
  expect(notesOf(CHANGELOG, '0.3.0-rc.1', '')).toBe('- a window\n')
})

test('links to files lead to the files of the version', () => {
  expect(notesOf(CHANGELOG, '0.3.0', 'https://example.net/tree/')).toContain(
    'a [door](https://example.net/tree/docs/door.md#key), and a [wall](https://example.org/wall)',
  )
})

test('a version without a section is an error', () => {
  expect(() => notesOf(CHANGELOG, '0.4.0', '')).toThrow('CHANGELOG.md has no section 0.4.0')
})
