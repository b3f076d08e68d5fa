// Holds the floors: a folder imports only downward, no files import each other in a circle, and each package has one owner. Type
// imports count.
import { readFileSync, readdirSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path/posix';
import type TypeScript from 'typescript';
import { describe, expect, it } from 'vitest';
import { ts } from './helpers/typescript.ts';

const ROOT = [
  'errors',
  'failures',
  'cli-error',
  'environment',
  'processes',
  'log',
  'pretty-log',
  'display-width',
  'elapsed',
  'clock',
  'histogram',
  'calendar',
  'tier',
  'limit-state',
  'ids',
  'cancellation',
  'descriptors',
  'loopback',
  'percent',
  'plural',
  'snake-case',
  'repeats',
  'write-batch',
  'error-words',
  'folders',
];
const FLOOR_1 = [...ROOT, 'canonical'];
const FLOOR_2 = [...FLOOR_1, 'protocols', 'store', 'config', 'control', 'conversations', 'repair', 'tools'];
const FLOOR_3 = [...FLOOR_2, 'accounts', 'routing', 'providers'];
const FLOOR_5 = [...FLOOR_3, 'gateway', 'observe', 'sign-in', 'server', 'admin', 'sim', 'tapes'];

/** Folders of `src`, or its own files, and what they may import besides themselves. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  errors: ['calendar', 'limit-state'],
  failures: ['errors'],
  'cli-error': [],
  environment: [],
  processes: [],
  log: ['pretty-log', 'ids'],
  'pretty-log': ['plural', 'display-width', 'elapsed'],
  elapsed: [],
  'display-width': [],
  clock: [],
  histogram: [],
  calendar: ['clock'],
  tier: ['calendar'],
  'limit-state': ['calendar', 'tier'],
  ids: [],
  cancellation: [],
  descriptors: [],
  loopback: [],
  percent: [],
  plural: [],
  'snake-case': [],
  repeats: ['clock'],
  'write-batch': [],
  'error-words': ['errors'],
  folders: [],
  canonical: ROOT,
  protocols: [...FLOOR_1, 'repair'],
  store: FLOOR_1,
  config: FLOOR_1,
  control: FLOOR_1,
  conversations: FLOOR_1,
  repair: FLOOR_1,
  tools: FLOOR_1,
  accounts: FLOOR_2,
  routing: FLOOR_2,
  providers: FLOOR_2,
  gateway: FLOOR_3,
  'sign-in': FLOOR_3,
  observe: FLOOR_3,
  server: [...FLOOR_1, 'protocols', 'config', 'control', 'accounts', 'routing', 'gateway', 'observe'],
  admin: [...FLOOR_3, 'gateway', 'observe', 'sign-in'],
  sim: [...FLOOR_1, 'protocols'],
  tapes: [...FLOOR_3, 'gateway'],
  app: FLOOR_5,
  workers: [...FLOOR_5, 'app'],
  cli: [...FLOOR_5, 'app', 'workers'],
};

/** Where a package may be imported: folders, or files (as far as given). */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  undici: ['providers/'],
  ws: ['server/websocket/'],
  'better-sqlite3': ['store/sqlite/'],
  'better-sqlite3-napi': ['store/sqlite/'],
  pg: ['store/postgres/'],
  commander: ['cli/'],
  chalk: ['cli/'],
  ora: ['cli/'],
  'string-width': ['display-width.ts'],
  yaml: ['config/load', 'tools/texts/'],
  'jsonc-parser': ['tools/texts/'],
  'toml-eslint-parser': ['tools/texts/'],
  'env-paths': ['config/load'],
  zod: ['admin/', 'config/schema', 'tapes/format'],
  // Types alone: the build writes what the program reads.
  '@pydantic/genai-prices': ['routing/price'],
  pino: ['log.ts'],
  'prom-client': ['observe/metrics'],
  '@opentelemetry/api': ['observe/traces'],
  '@opentelemetry/sdk-trace': ['observe/traces'],
  '@opentelemetry/resources': ['observe/traces'],
  '@opentelemetry/exporter-trace-otlp-http': ['observe/traces'],
  preact: ['admin/page/'],
  'preact/hooks': ['admin/page/'],
  htm: ['admin/page/'],
  uplot: ['admin/page/'],
  'node:http': ['server/', 'sim/', 'control/', 'providers/direct-client'],
  'node:https': ['server/', 'sim/', 'providers/direct-client'],
  'node:http2': ['server/', 'sim/'],
};

/** What is wrong with the imports of a file; `path` below `src`. */
function faults(path: string, source: string): string[] {
  return importsOf(source).flatMap((name) => {
    const problem = name.startsWith('.')
      ? floorFault(path, join(dirname(path), name))
      : ownerFault(path, name);
    return problem === undefined ? [] : [`${path} imports ${name}: ${problem}`];
  });
}

function importsOf(source: string): string[] {
  return ts.preProcessFile(source, true, true).importedFiles.map(({ fileName }) => fileName);
}

/** Files that import each other, directly or through others; each circle once. */
function circles(sources: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, from: readonly string[]): void => {
    const start = from.indexOf(path);
    if (start >= 0) found.push([...from.slice(start), path].join(' -> '));
    if (start >= 0 || done.has(path)) return;
    for (const name of importsOf(sources.get(path) ?? '')) {
      if (name.startsWith('.')) visit(join(dirname(path), name), [...from, path]);
    }
    done.add(path);
  };
  for (const path of sources.keys()) visit(path, []);
  return found;
}

function houseOf(path: string): string {
  return (path.split('/')[0] ?? '').replace(/\.ts$/, '');
}

function floorFault(path: string, target: string): string | undefined {
  const [from, to] = [houseOf(path), houseOf(target)];
  const allowed = MAY_IMPORT[from];
  if (allowed === undefined) return `${from} stands on no floor`;
  if (from === to) return protocolFault(path, target);
  // Observers are fed with the trace of a request, and know nothing else of the gateway.
  if (from === 'observe' && target === 'gateway/trace.ts') return undefined;
  return allowed.includes(to) ? undefined : `${from} must not know ${to}`;
}

/** Folders and files of `src/cli`: each imports from its own row and from those before. */
const CLI_FLOORS = [
  ['context.ts'],
  ['args', 'ui'],
  ['read-config.ts', 'database.ts', 'audited.ts', 'running.ts'],
  ['inventory.ts'],
  ['check', 'init', 'tools'],
  ['commands'],
  ['program.ts'],
  ['main.ts'],
];

function cliFloor(path: string): number {
  const floor = CLI_FLOORS.findIndex((names) => names.includes(path.split('/')[1] ?? ''));
  if (floor < 0) throw new Error(`${path} stands on no floor`);
  return floor;
}

/** What the folders of protocols share; it knows none of them. */
const SHARED = ['interface', 'shared', 'json', 'sse'];

/** Folders of protocols do not know one another; nor the registry, which knows them all. */
function protocolFault(path: string, target: string): string | undefined {
  const [house, own, file] = path.split('/');
  if (house !== 'protocols' || file === undefined) return undefined;
  const [, other, otherFile] = target.split('/');
  if (otherFile === undefined)
    return other === 'registry.ts' ? `${own} must not know the registry` : undefined;
  return own === other || SHARED.includes(other ?? '') ? undefined : `${own} must not know ${other}`;
}

function ownerFault(path: string, name: string): string | undefined {
  const parts = name.split('/');
  const bare = name.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
  const owners = OWNERS[bare];
  if (owners !== undefined) {
    return owners.some((owner) => path.startsWith(owner)) ? undefined : `it belongs to ${owners.join(', ')}`;
  }
  if (bare.startsWith('node:')) return undefined;
  return builtinModules.includes(bare) ? 'written without node:' : 'the package has no owner';
}

/** Outside these folders, no word of a wire format. */
const WIRE_FOLDERS = ['protocols', 'config', 'sim'];
/** Whole texts and names of members. */
const WIRE_WORDS: ReadonlySet<string> = new Set(
  `chat messages cache_control prompt_cache_key stream_options include_usage tool_call_id tool_use tool_use_id tool_choice
  finish_reason stop_reason stop_sequences max_tokens max_completion_tokens output_config response_format prompt_tokens
  completion_tokens content_block message_start message_stop top_k mcp_servers extra_content`.split(/\s+/),
);
/** Members of canonical values are called so, too. */
const NAMES_OF_MEMBERS = new Set(['chat', 'messages']);
/** Wherever they stand in a text. */
const WIRE_PIECES = /anthropic-|x-api-key|x-ratelimit|\[DONE\]|\/chat\/|\/messages/;
/** Of the registry; an import of its folder is a path. */
const ONE_PROTOCOL = /^protocols\??\.(?:chat|messages)$/;

const MAY_HOLD = new RegExp(
  `['"\`](?:chat|messages)['"\`]|protocols\\??\\.|${WIRE_PIECES.source}|\\b(?:${[...WIRE_WORDS].filter((word) => !NAMES_OF_MEMBERS.has(word)).join('|')})\\b`,
);

/** Files that may hold some words, and why. */
const WIRE_ALLOWED: Readonly<Record<string, readonly string[]>> = {
  // The list of the protocols' names; `messages` is a place of a canonical request as well.
  'canonical/request.ts': ['chat', 'messages'],
  'canonical/history.ts': ['messages'],
  // A cause of cache misses: a place of a canonical request.
  'conversations/misses/cause.ts': ['messages'],
  // Values of the configuration's flags, and of the facts about models that stand behind them.
  'routing/models/hosts.data.ts': ['prompt_cache_key', 'max_completion_tokens'],
  'routing/models/openai.data.ts': ['max_completion_tokens'],
  'canonical/traits.ts': ['max_tokens', 'max_completion_tokens', 'cache_control'],
  // What models write in their texts.
  'repair/forms/calls.ts': ['tool_call_id'],
  // OpenTelemetry's name of what a model does.
  'observe/conventions.ts': ['chat'],
  // A line to be copied for a first request.
  'cli/ui/banner.ts': ['/v1/chat/completions'],
  // A command to be copied.
  'admin/page/views/requests/curl.ts': [
    'chat',
    'max_tokens',
    '/v1/chat/completions',
    '/v1/messages',
    '/v1/responses',
  ],
  // Names of packages, and settings of clients.
  'tools/setups.ts': ['chat', 'max_tokens', 'v1/chat/completions'],
  'tools/editors.ts': ['chat', 'max_tokens', 'tool_use', 'prompt_cache_key', '/v1/chat/completions'],
  'tools/settings.ts': ['/v1/chat/completions'],
  'tools/connected-tools.ts': ['x-api-key'],
  'tools/tools.ts': ['npm install -g @anthropic-ai/claude-code'],
};

/** Words of a wire format in a file's code; comments are free. */
function wireWords(path: string, source: string): string[] {
  // Most files are not parsed for it.
  if (WIRE_FOLDERS.includes(houseOf(path)) || !MAY_HOLD.test(source)) return [];
  const allowed = WIRE_ALLOWED[path] ?? [];
  const found = new Set<string>();
  const visit = (node: TypeScript.Node): void => {
    const word = wireWord(node);
    if (word !== undefined && !allowed.includes(word)) found.add(word);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, source, ts.ScriptTarget.Latest));
  return [...found].map((word) => `${path}: ${word}`);
}

function wireWord(node: TypeScript.Node): string | undefined {
  if (ts.isIdentifier(node)) {
    return WIRE_WORDS.has(node.text) && !NAMES_OF_MEMBERS.has(node.text) ? node.text : undefined;
  }
  if (ts.isPropertyAccessExpression(node)) {
    const { expression, name } = node;
    const access = ts.isIdentifier(expression) ? `${expression.text}.${name.text}` : '';
    return ONE_PROTOCOL.test(access) ? access : undefined;
  }
  const isText = ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node);
  if (!isText && !ts.isRegularExpressionLiteral(node)) return undefined;
  return WIRE_WORDS.has(node.text) || WIRE_PIECES.test(node.text) ? node.text : undefined;
}

const SRC = new URL('../src/', import.meta.url);
const FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('.ts'));

describe('the house', () => {
  it('imports only downward, and every package at its owner', () => {
    expect(FILES.length).toBeGreaterThan(50);
    expect(FILES.flatMap((path) => faults(path, readFileSync(new URL(path, SRC), 'utf8')))).toEqual([]);
  });

  it('has no circle of files', () => {
    const sources = new Map(FILES.map((path) => [path, readFileSync(new URL(path, SRC), 'utf8')]));
    expect(circles(sources)).toEqual([]);
  });

  it('has floors within the command line', () => {
    const up = FILES.filter((path) => path.startsWith('cli/')).flatMap((path) =>
      importsOf(readFileSync(new URL(path, SRC), 'utf8'))
        .filter((name) => name.startsWith('.'))
        .map((name) => join(dirname(path), name))
        .filter((target) => target.startsWith('cli/') && cliFloor(target) > cliFloor(path))
        .map((target) => `${path} -> ${target}`),
    );
    // `gateway run` starts a gateway as `gateway serve` does.
    expect(up).toEqual([
      'cli/tools/reach.ts -> cli/commands/running/serving/control.ts',
      'cli/tools/reach.ts -> cli/commands/running/serving/lifecycle.ts',
    ]);
  });

  it('has no folder of more than 14 entries', () => {
    const folders = readdirSync(SRC, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name));
    expect(folders.length).toBeGreaterThan(20);
    expect(folders.filter((folder) => readdirSync(folder).length > 14)).toEqual([]);
  });

  it('gives every dependency an owner', () => {
    const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
      dependencies: Record<string, string>;
      optionalDependencies?: Record<string, string>;
    };
    const names = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
    expect(names.filter((name) => OWNERS[name] === undefined)).toEqual([]);
  });
});

describe('what depends on the version of Node', () => {
  const sources = ['../src/', '../test/'].flatMap((folder) =>
    readdirSync(new URL(folder, import.meta.url), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.m?[jt]s$/.test(path))
      .map((path) => [folder + path, readFileSync(new URL(folder + path, import.meta.url), 'utf8')] as const),
  );
  const filesWith = (pattern: RegExp): string[] =>
    sources.filter(([, source]) => pattern.test(source)).map(([path]) => path);

  it('is not read from a stream without a size: one chunk, or all that it holds', () => {
    expect(filesWith(/\.read\(\) as Buffer/)).toEqual([]);
  });

  it('is opened as the SQLite engine in one place, which knows both packages', () => {
    expect(filesWith(/^import (?!type)[^;]*from 'better-sqlite3|import\('better-sqlite3/m)).toEqual([]);
  });
});

it('keeps the words of the wire formats in their folders', () => {
  expect(FILES.flatMap((path) => wireWords(path, readFileSync(new URL(path, SRC), 'utf8')))).toEqual([]);
});

describe('a circle of files', () => {
  it.each([
    ['of two', { 'a.ts': `import { b } from './b.ts';`, 'b.ts': `import { a } from './a.ts';` }],
    [
      'of three, types too',
      {
        'x/a.ts': `import type { B } from './b.ts';`,
        'x/b.ts': `export * from '../c.ts';`,
        'c.ts': `const a = await import('./x/a.ts');`,
      },
    ],
  ])('is found once: %s', (_, sources) => {
    expect(circles(new Map(Object.entries(sources)))).toHaveLength(1);
  });

  it('is not a file that two others import', () => {
    const sources = { 'a.ts': `import './b.ts'; import './c.ts';`, 'b.ts': `import './c.ts';`, 'c.ts': '' };
    expect(circles(new Map(Object.entries(sources)))).toEqual([]);
  });
});

describe('a word of a wire format', () => {
  it.each([
    ['a protocol by its name', `if (protocol.name === 'messages') return;`],
    ['a protocol of the registry', `const { path } = protocols.chat.client;`],
    ['a folder of one protocol', `import { chat } from '../protocols/chat/index.ts';`],
    ['a header', `const key = headers['x-api-key'];`],
    ['a header in a text', 'const line = `anthropic-version: ${version}`;'],
    ['a member that is read', `const { stream_options: options } = value;`],
    ['a member that is written', `const body = { cache_control: mark };`],
    ['a path', `const url = base + '/messages/count_tokens';`],
    ['a terminal frame', `if (data.trim() === '[DONE]') return;`],
  ])('is found: %s', (_, source) => {
    expect(wireWords('gateway/a.ts', source)).toHaveLength(1);
    expect(wireWords('protocols/chat/a.ts', source)).toEqual([]);
  });

  it.each([
    ['a comment', `// chat's stream_options, x-api-key`],
    ['a canonical member', `const { messages } = request; repair(request.messages);`],
    ['a word among others', `say('for most messages clients');`],
  ])('is not: %s', (_, source) => {
    expect(wireWords('gateway/a.ts', source)).toEqual([]);
  });
});

describe('what the house refuses', () => {
  it.each([
    ['upward', 'canonical/a.ts', `import { x } from '../protocols/sse.ts';`],
    ['upward, types too', 'protocols/a.ts', `import type { X } from '../routing/auto.ts';`],
    ['upward, types in place too', 'store/store.ts', `let x: import('../accounts/access.ts').Key;`],
    ['upward, by a hand-on', 'config/a.ts', `export * from '../gateway/relay.ts';`],
    ['upward, later', 'gateway/a.ts', `const x = await import('../server/server.ts');`],
    ['upward, for its effect', 'clock.ts', `import './app.ts';`],
    ['beside, on floor 0', 'clock.ts', `import { x } from './errors.ts';`],
    ['beside, on floor 2', 'store/a.ts', `import { x } from '../config/config.ts';`],
    ['beside, on floor 3', 'accounts/a.ts', `import { x } from '../routing/auto.ts';`],
    ['beside, on floor 4', 'observe/a.ts', `import { x } from '../gateway/relay.ts';`],
    ['beside, on floor 5', 'sim/a.ts', `import { x } from '../server/server.ts';`],
    ['past what a server may know', 'server/a.ts', `import { x } from '../store/store.ts';`],
    ['another protocol', 'protocols/chat/a.ts', `import { x } from '../messages/errors.ts';`],
    [
      'a protocol from what protocols share',
      'protocols/shared/a.ts',
      `import { x } from '../chat/index.ts';`,
    ],
    ['the registry from a protocol', 'protocols/chat/a.ts', `import { x } from '../registry.ts';`],
    ['from a folder without a floor', 'utils/a.ts', `import { x } from '../errors.ts';`],
    ['into a folder without a floor', 'cli/a.ts', `import { x } from '../utils/a.ts';`],
    ['another owner', 'gateway/a.ts', `import { request } from 'undici';`],
    ['the server of HTTP', 'providers/client.ts', `import { request } from 'node:http';`],
    ['a package of a package', 'gateway/a.ts', `import x from 'zod/v4';`],
    ['an unknown package', 'cli/a.ts', `import x from 'left-pad';`],
    ['Node without its prefix', 'cli/a.ts', `import { readFileSync } from 'fs';`],
  ])('%s', (_, path, source) => {
    expect(faults(path, source)).toHaveLength(1);
  });

  it.each([
    ['downward', 'gateway/a.ts', `import { x } from '../protocols/chat/index.ts';`],
    ['within a folder', 'cli/commands/a.ts', `import { x } from '../output.ts';`],
    [
      'within a protocol',
      'protocols/chat/a.ts',
      `import { x } from './usage.ts';\nimport { y } from '../sse.ts';`,
    ],
    ['its own package', 'cli/commands/a.ts', `import { Command } from 'commander';`],
    ['Node', 'ids.ts', `import { randomBytes } from 'node:crypto';`],
  ])('but not: %s', (_, path, source) => {
    expect(faults(path, source)).toEqual([]);
  });
});
