// Written by tools/option-names.ts from the types of the options: npm run docs

export const CONSOLE = 'logger prefix publicUrl'
