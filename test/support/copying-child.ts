// Makes a database and copies it: `node copying-child.ts DATABASE COPY`.
import { Database } from '../../src/storage/database.ts'

const [, , file = '', copy = ''] = process.argv
const database = new Database(file)
database.prepare('CREATE TABLE rows (id INTEGER PRIMARY KEY, bytes BLOB)').run()
database.prepare('INSERT INTO rows VALUES (1, randomblob(8000000))').run()
await database.copyTo(copy)
database.close()
