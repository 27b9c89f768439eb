// Reads the CIDs of its standard input through the router in its first argument. Prints the number of right texts.
import { text } from 'node:stream/consumers'
import { countVerified } from './verified-pins.ts'

const [router = ''] = process.argv.slice(2)
process.stdout.write(String(await countVerified(router, (await text(process.stdin)).split('\n'))))
process.exit()
