/** Every form and page for adding content shows this text. */
export const PUBLIC_NOTICE = 'Everything pinned is public: anyone with its CID can read it.'
