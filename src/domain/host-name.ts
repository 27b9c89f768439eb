/** Returns the host name in a `Host` header, in lower case. Null for an invalid header, unsafe in response headers. */
export function hostNameOf(header: string | undefined): string | null {
  if (header === undefined || !/^[a-z0-9.\-_[\]:]+$/i.test(header) || !URL.canParse(`http://${header}`)) return null
  return new URL(`http://${header}`).hostname.toLowerCase()
}

/** Returns whether a host name is a loopback name, as the Secure Contexts standard defines. */
export function isLoopbackName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}
