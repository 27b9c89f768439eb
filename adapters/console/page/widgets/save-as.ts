/** Lets the browser save bytes as a file. */
export function saveAs(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  Object.assign(document.createElement('a'), { href: url, download: name }).click()
  // A revoked address ends a download that has only begun.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
