// Written by tools/option-names.ts from the types of the options: npm run docs

export const PLUGIN = 'console engine logLevel logSerializers metrics metricsFor metricsToken prefix'
