/** Every form and page for adding content shows this text. */
export const PUBLIC_NOTICE = 'Pinned content is public unless you make it private: anyone with its CID can read it.'
