/** The changes of what strangers may be given, on all nodes. Each method is one transaction. */
export interface RevisionRows {
  /** Returns the number of the newest change. Once a number is visible, so are all changes up to it. */
  newest(): Promise<number>
  /** Notes that this node and its threads follow all changes up to a number. */
  confirm(number: number): Promise<void>
  /** Returns the other nodes that have not confirmed a number, except those that have stopped or were given up. */
  unconfirmed(number: number): Promise<UnconfirmedNode[]>
}

export interface UnconfirmedNode {
  /** The configured id. */
  node: string
  /** False if the node has sent no heartbeat for a while, or if its version confirms nothing. */
  isAwaited: boolean
}
