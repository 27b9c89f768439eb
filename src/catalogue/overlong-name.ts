import { LONGEST_NAME } from './records.ts'

/** Returns whether a name is over the limit. Counts code points, as the schemas of OpenAPI do: 😀 is one character. */
export function isOverlongName(name: string): boolean {
  // Only text between one and two code units per character must be counted.
  return name.length > LONGEST_NAME && (name.length > 2 * LONGEST_NAME || [...name].length > LONGEST_NAME)
}
