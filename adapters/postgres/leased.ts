/** What no other node is at, of rows that are leased; this node, by its parameter, knows by itself what it is at. */
export function free(node: string): string {
  return `(leased_until IS NULL OR leased_until < clock_timestamp() OR leased_by = ${node})`
}
