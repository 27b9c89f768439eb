/** Of the software; package.json says the same, which a test checks. */
export const VERSION = '0.2.0'
