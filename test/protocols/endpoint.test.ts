// The rows of endpoints: patterns of paths, and what every protocol's table must hold.
import { describe, expect, it } from 'vitest';
import { pathReader } from '../../src/protocols/interface/endpoint.ts';
import { allProtocols } from '../../src/protocols/registry.ts';

describe('a pattern of a path', () => {
  it.each([
    ['/v1/responses/{id}', '/v1/responses/resp_1', { id: 'resp_1' }],
    ['/v1/responses/{id}', '/v1/responses/a%20b%', { id: 'a%20b%' }],
    ['/v1/responses/{id}/input_items', '/v1/responses/a%20b/input_items', { id: 'a b' }],
    ['/v1/models/{model}:generateContent', '/v1/models/gemini-2.5:generateContent', { model: 'gemini-2.5' }],
    ['/v1/batches/{id}/files/{file}', '/v1/batches/b/files/f', { id: 'b', file: 'f' }],
  ])('%s reads %s', (pattern, path, values) => {
    expect(pathReader(pattern)(path)).toEqual(values);
  });

  it.each([
    ['/v1/responses/{id}', '/v1/responses/'],
    ['/v1/responses/{id}', '/v1/responses'],
    ['/v1/responses/{id}', '/v1/responses/resp_1/'],
    ['/v1/responses/{id}', '/v1/responses/a/b'],
    ['/v1/responses/{id}', '/v1/responses/a%2Fb'],
    ['/v1/responses/{id}', '/x/v1/responses/resp_1'],
    ['/v1/a.b/{id}', '/v1/aXb/1'],
  ])('%s is not %s', (pattern, path) => {
    expect(pathReader(pattern)(path)).toBe(undefined);
  });
});

describe.each(allProtocols)("$name's endpoints", ({ client, provider }) => {
  it('begin with that of the outline', () => {
    expect(client.endpoints[0].path).toBe(client.path);
    expect(provider.path).toBe(client.path);
  });

  it('stand once each', () => {
    const rows = client.endpoints.map(({ method, path }) => `${method} ${path}`);
    expect(new Set(rows).size).toBe(rows.length);
  });
});

it('no two protocols have the same endpoint', () => {
  const rows = allProtocols.flatMap(({ client }) =>
    client.endpoints.map(({ method, path }) => `${method} ${path}`),
  );
  expect(new Set(rows).size).toBe(rows.length);
});
