// Written by tools/option-names.ts from the types of the options: npm run docs

export const FETCH = 'console prefix remoteAddress'
