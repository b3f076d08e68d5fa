// The command line of the benchmark.
import { parseArgs } from 'node:util';
import type { SoakLength } from './soak.ts';
import type { Gateway } from './targets.ts';

export const HELP = `npm run bench -- [options]

Processor time, latency and memory of the gateway beside two references:
  bare    node:http and undici, bodies streamed through, nothing parsed
  floor   the body buffered, parsed and written anew, one row upserted in SQLite
and beside itself: on PostgreSQL (GATEWAY_TEST_POSTGRES, or the server of the tests), observed (metrics on, the page open),
with two workers.

  --quick              some minutes, less exact
  --only TEXT          rows whose name holds TEXT; may be given again
  --json               one JSON document on stdout
  --gate               exit 1 where a release gate is missed
  --soak               a million requests, ten minutes at least: does memory stay?
  --soak-requests N  --soak-minutes N

  --gateway-cmd CMD    another gateway; {port} is where it must listen on 127.0.0.1, {stub} the providers' base URL
  --gateway-key KEY    the key that it takes
  --gateway-chat-model NAME  --gateway-messages-model NAME  --gateway-responses-model NAME
                       what it calls a model of a provider that speaks that protocol; {kind} is the model

Exit code 0: every route answered with the right text (with --gate: and every gate holds).`;

export interface Options {
  quick: boolean;
  json: boolean;
  gate: boolean;
  only: string[];
  soak?: SoakLength;
  gateway?: Gateway;
}

/** Undefined: help is wanted. */
export function readOptions(args: string[]): Options | undefined {
  const { values } = parseArgs({
    args,
    options: {
      help: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      gate: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      soak: { type: 'boolean', default: false },
      'soak-requests': { type: 'string', default: '1000000' },
      'soak-minutes': { type: 'string', default: '10' },
      'gateway-cmd': { type: 'string' },
      'gateway-key': { type: 'string', default: 'none' },
      'gateway-chat-model': { type: 'string', default: 'chat/{kind}' },
      'gateway-messages-model': { type: 'string', default: 'messages/{kind}' },
      'gateway-responses-model': { type: 'string', default: 'responses/{kind}' },
    },
  });
  if (values.help) return undefined;
  const command = values['gateway-cmd'];
  const models = {
    chat: values['gateway-chat-model'],
    messages: values['gateway-messages-model'],
    responses: values['gateway-responses-model'],
  };
  const length = { requests: Number(values['soak-requests']), minutes: Number(values['soak-minutes']) };
  return {
    quick: values.quick,
    json: values.json,
    gate: values.gate,
    only: values.only,
    ...(values.soak ? { soak: length } : {}),
    ...(command === undefined ? {} : { gateway: { command, key: values['gateway-key'], models } }),
  };
}
