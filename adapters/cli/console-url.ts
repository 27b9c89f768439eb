/** Returns the URL of the console. Without HTTPS, the console works only on the server's own machine. */
export function consoleUrl(publicUrl: string | undefined, local: string): string {
  return `${publicUrl?.startsWith('https:') ? publicUrl.replace(/\/$/, '') : local}/console/`
}

/** Returns the URL that sets a password. The token is in its fragment, which browsers send to no server. */
export function passwordLinkUrl(console: string, token: string): string {
  return `${console}#/password?token=${token}`
}
