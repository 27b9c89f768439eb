/** What everybody has to know before content goes in; told wherever it does. */
export const PUBLIC_NOTICE = 'Everything that is pinned is public to whoever has its CID.'
