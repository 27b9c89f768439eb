declare module 'html-encoding-sniffer' {
  /** Returns the encoding that a page or an XML document names, or the default. */
  export default function namedEncoding(bytes: Uint8Array, options: { xml?: boolean; defaultEncoding: string }): string
}
