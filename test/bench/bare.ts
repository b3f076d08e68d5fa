// The reference `bare`: node:http and undici's dispatch, bodies streamed through both ways, nothing parsed.
// Run as `node bare.js PORT STUB`.
import { bareServer } from './proxy.ts';

const [port = '', stub = ''] = process.argv.slice(2);

bareServer(stub).listen(Number(port), '127.0.0.1');
