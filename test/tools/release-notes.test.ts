import { expect, test } from 'vitest'
import { notesOf } from '../../tools/release-notes.ts'

const CHANGELOG = `# Changelog

## Unreleased

- not yet

## 0.3.0 (2026-12-01)

### Added

- a door

## 0.3.0-rc.1

- a window
`

test('the notes of a version are its section', () => {
  expect(notesOf(CHANGELOG, '0.3.0')).toBe('### Added\n\n- a door\n')
  expect(notesOf(CHANGELOG, '0.3.0-rc.1')).toBe('- a window\n')
})

test('a version without a section is an error', () => {
  expect(() => notesOf(CHANGELOG, '0.4.0')).toThrow('CHANGELOG.md has no section 0.4.0')
})
