/** Shown wherever content can be added. */
export const PUBLIC_NOTICE = 'Everything pinned is public: anyone with its CID can read it.'
