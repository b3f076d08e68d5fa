import { describe, expect, it } from 'vitest';
import { readRefusal } from '../../../src/protocols/refusals/read-refusal.ts';
import { SILENT, WORDED } from './wordings.ts';

describe('what a refusal says', () => {
  it.each(WORDED)('$name', ({ body, says }) => {
    expect(readRefusal(body)).toEqual(says);
  });

  it.each(SILENT)('nothing: %s', (body) => {
    expect(readRefusal(body)).toEqual([]);
  });

  it('the same behind a text, in a list, and in another body', () => {
    for (const { body, says } of WORDED) {
      expect(
        readRefusal(
          JSON.stringify({ error: { message: 'Provider returned error', metadata: { raw: body } } }),
        ),
      ).toEqual(says);
    }
  });

  it('no name is longer than a path', () => {
    const msg = 'Extra inputs are not permitted';
    for (const loc of [
      ['body', 'a'.repeat(50_000)],
      ['body', ...Array<string>(2000).fill('a1')],
    ]) {
      expect(readRefusal(JSON.stringify({ detail: [{ loc, msg }] }))).toEqual([]);
      expect(readRefusal(JSON.stringify({ error: { message: msg, param: loc.join('.') } }))).toEqual([]);
    }
  });

  it('takes time linear in a hostile body', () => {
    const pieces = [
      "'messages.2' : ",
      'property ',
      'unsupported parameter: a',
      '"',
      "['",
      ' -> ',
      'x'.repeat(5000),
      '{"error":',
      '[',
      "'loc': ('body', ",
    ];
    for (const piece of pieces) {
      const text = piece.repeat(Math.ceil(64_000 / piece.length));
      const startedAt = performance.now();
      readRefusal(text);
      readRefusal(JSON.stringify({ error: { message: text } }));
      readRefusal(JSON.stringify({ error: { message: text.replaceAll(' ', '\n') } }));
      expect(performance.now() - startedAt).toBeLessThan(500);
    }
  });

  it('never says that the conversation, the tools or their meaning may be left out', () => {
    const meaning = [
      'messages',
      'messages[0]',
      'messages[0].content',
      'messages[1].tool_calls[0].function.name',
      'input',
      'input[0].output',
      'tools',
      'tools[0].function.parameters',
      'tools[0].input_schema',
      'model',
      'system',
      'prompt',
      'n',
      'stream',
    ];
    for (const path of meaning) {
      expect(
        readRefusal(JSON.stringify({ error: { message: `Unknown parameter: '${path}'.`, param: path } })),
      ).toEqual([]);
      expect(
        readRefusal(
          JSON.stringify({ type: 'error', error: { message: `${path}: Extra inputs are not permitted` } }),
        ),
      ).toEqual([]);
    }
  });
});
