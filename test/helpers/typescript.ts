// The compiler, for tests that look into sources. Through `import`, Node would first read its nine megabytes for the names of its exports.
import { createRequire } from 'node:module';
import type TypeScript from 'typescript';

export const ts = createRequire(import.meta.url)('typescript') as typeof TypeScript;
