/** Returns the names of a database and of the files that SQLite keeps beside it. */
export function databaseFiles(file: string): string[] {
  return ['', '-journal', '-wal', '-shm'].map(suffix => file + suffix)
}
