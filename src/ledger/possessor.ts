/** Owner of a root that strangers may read. Any other owner is a random number, which an account keeps. */
export const PUBLIC = 0
