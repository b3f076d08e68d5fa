// What real agents send must be understood, and nothing of it lost without a word.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/canonical/json.ts';
import { DEFAULT_TRAITS } from '../../../src/canonical/traits.ts';
import { messages } from '../../../src/protocols/messages/index.ts';
import { readCountEnvelope } from '../../../src/protocols/messages/request/envelope.ts';
import { bodyOf } from '../../../src/protocols/json/body.ts';

interface Recorded {
  path: string;
  body: JsonObject;
}

const FOLDER = new URL('../../fixtures/corpora/', import.meta.url);
const recorded: { name: string; request: Recorded }[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.jsonl'))
  .flatMap((file) =>
    readFileSync(new URL(file, FOLDER), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line, index) => ({ name: `${file} ${index + 1}`, request: JSON.parse(line) as Recorded })),
  )
  .filter(({ request }) => request.path.startsWith('/v1/messages'));

// Takes everything, so that nothing has to be changed on the way.
const traits = {
  ...DEFAULT_TRAITS,
  thinkingAdaptive: true,
  midSystem: true,
  serverTools: true,
  maxStop: 100,
};

describe('requests of real agents', () => {
  it.each(recorded)(
    '$name passes the envelope and survives decode, encode and decode again',
    ({ request }) => {
      const counting = request.path.includes('count_tokens');
      const envelope = counting
        ? readCountEnvelope(bodyOf(request.body))
        : messages.client.endpoints[0].readEnvelope(bodyOf(request.body), {});
      expect(envelope.model).toBe(request.body.model);
      const before = structuredClone(request.body);
      const decoded = messages.client.decodeRequest(request.body);
      const { body, warnings } = messages.provider.encodeRequest(decoded, envelope.model, traits);
      const again = messages.client.decodeRequest(body);
      expect(request.body).toEqual(before);
      expect(warnings.filter((warning) => warning.effect === 'dropped')).toEqual([]);
      // Attribution is left out on purpose; sampling is not taken while thinking.
      const strip = (value: typeof decoded) => ({
        ...value,
        native: value.native.filter((field) => field.path !== 'system[]'),
        temperature: undefined,
        maxOutputTokens: counting ? undefined : value.maxOutputTokens,
        reasoning: value.reasoning && { ...value.reasoning, mode: undefined, budgetTokens: undefined },
      });
      expect(strip(again)).toEqual(strip(decoded));
    },
  );
});
