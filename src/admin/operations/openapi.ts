// The OpenAPI 3.1 document of the admin API, made from the same rows and schemas that answer requests.
import { z } from 'zod';
import type { Operation } from '../operation.ts';
import * as schemas from '../schemas.ts';
import { RequestUnderWay } from './views/schemas.ts';

type Json = Record<string, unknown>;

const JSON_TYPE = 'application/json';
const PROBLEM_TYPE = 'application/problem+json';

/** Problems that every operation may answer. */
const COMMON_PROBLEMS: Readonly<Record<number, string>> = {
  400: 'The path, the query or the body is not valid',
  401: 'No valid token or session',
  403: 'Not allowed: a token with the scope read, a missing x-gateway-csrf, a page of another origin',
  429: 'Too many wrong credentials were sent, or the token waits for two reports already',
  503: 'The database cannot be used now',
};
const OTHER_PROBLEMS: Readonly<Record<number, string>> = {
  404: 'There is no such thing',
  409: 'It conflicts with what is there',
  412: 'It was changed since the tag that If-Match names',
  413: 'The body is too large',
  415: 'The body is not declared as JSON',
};

/** Schemas that the document defines by name; all others are written inline. */
const NAMED = {
  Account: schemas.Account,
  Tier: schemas.Tier,
  Key: schemas.Key,
  CreatedKey: schemas.CreatedKey,
  Usage: schemas.Usage,
  UsageSummary: schemas.UsageSummary,
  Model: schemas.Model,
  Target: schemas.Target,
  Route: schemas.Route,
  Request: schemas.Request,
  RequestUnderWay,
  AuditRow: schemas.AuditRow,
  Session: schemas.Session,
  Problem: schemas.Problem,
};

export function openApiDocument(operations: readonly Operation[], version: string): Json {
  const registry = z.registry<{ id?: string }>();
  for (const [id, schema] of Object.entries(NAMED)) registry.add(schema, { id });
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const path = fullPath(operation);
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describe(operation, registry) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'local-llm-gateway admin API',
      version,
      description:
        'Accounts, keys, usage and health of a running gateway. Lists are pages: `next` is the `cursor` of the next one. ' +
        'Every GET has an `ETag` for `If-None-Match`, that of an account or a key also for `If-Match`.',
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }, { session: [] }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: Object.fromEntries(
        Object.entries(NAMED).map(([id, schema]) => [id, schemaOf(schema, registry, id)]),
      ),
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'gateway admin tokens create' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'gateway_admin',
          description:
            'Made by POST /admin/session from the link of gateway dashboard. The name ends with _PORT where the URL has a port. ' +
            'Writes need the header x-gateway-csrf, too.',
        },
        member: {
          type: 'apiKey',
          in: 'cookie',
          name: 'gateway_admin',
          description: "Made by POST /admin/session/member from a key; reads the key's own account alone.",
        },
      },
    },
  };
}

export const API = '/admin/api/v1';

/** Paths of sessions are not below the path of the API. */
export function fullPath({ path }: Operation): string {
  return path.startsWith('/admin/') ? path : `${API}${path}`;
}

function describe(operation: Operation, registry: z.core.$ZodRegistry<{ id?: string }>): Json {
  const { id, summary, tag, params, query, body, reply, status, problems, scope, audience } = operation;
  const problem = { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } };
  const statuses = [
    ...Object.keys(COMMON_PROBLEMS).map(Number),
    ...(body === undefined ? [] : [413, 415]),
    ...problems,
  ];
  const failures = [...new Set(statuses)]
    .sort((a, b) => a - b)
    .map((code) => {
      const description = COMMON_PROBLEMS[code] ?? OTHER_PROBLEMS[code] ?? 'A problem';
      return [String(code), { description, content: problem }];
    });
  return {
    operationId: id,
    summary,
    tags: [tag],
    ...(operation.public && { security: [] }),
    ...(audience === 'member' && { security: [{ member: [] }] }),
    ...(audience === 'both' && { security: [{ session: [] }, { member: [] }] }),
    ...(scope === 'write' && !operation.public && { 'x-scope': 'write' }),
    parameters: [
      ...parameters(params, 'path', registry),
      ...parameters(query, 'query', registry),
      ...(operation.conditional ? [IF_MATCH] : []),
    ],
    ...(body !== undefined && {
      requestBody: { required: true, content: { [JSON_TYPE]: { schema: schemaOf(body, registry) } } },
    }),
    responses: {
      [status]: {
        description: 'Done',
        content: { [operation.replyType ?? JSON_TYPE]: { schema: schemaOf(reply, registry) } },
      },
      ...(operation.method === 'GET' && operation.replyType === undefined
        ? { 304: { description: 'Not changed since the ETag that If-None-Match names' } }
        : {}),
      ...Object.fromEntries(failures),
    },
  };
}

const IF_MATCH: Json = {
  name: 'if-match',
  in: 'header',
  required: false,
  description: 'The ETag of the GET of this item: if it was changed since, nothing is done (412)',
  schema: { type: 'string' },
};

function parameters(
  schema: z.ZodObject,
  place: 'path' | 'query',
  registry: z.core.$ZodRegistry<{ id?: string }>,
): Json[] {
  const { properties = {}, required = [] } = schemaOf(schema, registry) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...value }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description !== undefined && { description }),
    schema: value,
  }));
}

/** `self`: the name under which the document defines this schema. */
function schemaOf(schema: z.ZodType, registry: z.core.$ZodRegistry<{ id?: string }>, self?: string): unknown {
  const ids = new Set(Object.keys(NAMED));
  const made = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const id = registry.get(zodSchema as unknown as z.ZodType)?.id;
      if (id === undefined || id === self || !ids.has(id)) return;
      for (const member of Object.keys(jsonSchema)) delete jsonSchema[member as keyof typeof jsonSchema];
      jsonSchema.$ref = `#/components/schemas/${id}`;
    },
  });
  const { $schema: _, ...rest } = made;
  return rest;
}
