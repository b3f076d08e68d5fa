// The reference `floor`: the least that a gateway does which reads and counts. The body is buffered, parsed and written
// anew, and one row is upserted. Run as `node floor.js PORT STUB DATABASE`.
import { createServer } from 'node:http';
import type Sqlite from 'better-sqlite3';
import { createPool, forward } from './proxy.ts';

const [port = '', stub = '', file = ''] = process.argv.slice(2);
const pool = createPool(stub);
// The gateway's choice of the two packages: src/store/sqlite/driver.ts.
const engine = Number.parseInt(process.versions.node, 10) >= 22 ? 'better-sqlite3-napi' : 'better-sqlite3';
const { default: Database } = (await import(engine)) as { default: typeof Sqlite };
const database = new Database(file);
database.pragma('journal_mode = WAL');
database.pragma('synchronous = NORMAL');
database.exec(
  'CREATE TABLE hours (account TEXT, hour INTEGER, requests INTEGER, PRIMARY KEY (account, hour))',
);
const upsert = database.prepare(
  `INSERT INTO hours VALUES (?, ?, 1)
   ON CONFLICT DO UPDATE SET requests = requests + 1 WHERE requests < 1000000000 RETURNING requests`,
);
const HOUR_MS = 3_600_000;

createServer({ noDelay: true }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString());
    const body = Buffer.from(JSON.stringify(value));
    upsert.get('bench', Math.floor(Date.now() / HOUR_MS));
    const headers = ['content-type', 'application/json', 'content-length', String(body.length)];
    forward(pool, { path: request.url ?? '/', headers, body }, response);
  });
}).listen(Number(port), '127.0.0.1');
