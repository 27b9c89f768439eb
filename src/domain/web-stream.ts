/** The part of a web stream that is needed to read it, compatible with the types of all libraries. */
export interface WebStream {
  getReader(): {
    read(): Promise<{ done: boolean; value?: unknown }>
    cancel(reason?: unknown): Promise<void>
  }
}
