// Holds src/protocols/README.md against the code that it describes.
import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DEFAULT_TRAITS } from '../../src/canonical/traits.ts';
import { FLAG_NAMES, readFlag } from '../../src/config/schema/flags.ts';
import { CHAT_FIELDS } from '../../src/protocols/chat/fields.ts';
import { MESSAGES_FIELDS } from '../../src/protocols/messages/fields.ts';

import { OLLAMA_FIELDS } from '../../src/protocols/ollama/fields.ts';
import { RESPONSES_FIELDS } from '../../src/protocols/responses/fields.ts';
import type { LedgerRow } from '../../src/protocols/shared/ledger.ts';

const FOLDER = new URL('../../src/protocols/', import.meta.url);
const README = readFileSync(new URL('README.md', FOLDER), 'utf8');

/** The rows of the table under a heading, their cells without marks. */
function rowsUnder(heading: string): string[][] {
  const lines = README.split('\n');
  const start = lines.indexOf(heading);
  expect(start).toBeGreaterThan(-1);
  const length = lines.slice(start + 1).findIndex((line) => line.startsWith('#'));
  return lines
    .slice(start + 1, start + 1 + length)
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .slice(2, -2)
        .split(' | ')
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
}

function fates(ledger: Readonly<Record<string, { fate: string }>>): string[][] {
  return Object.entries(ledger).map(([field, { fate }]) => [field, fate]);
}

describe('the field ledger', () => {
  it.each([
    ['### Chat clients, towards a messages provider', fates(CHAT_FIELDS)],
    ['### Messages clients, towards a chat provider', fates(MESSAGES_FIELDS)],
    ["### Ollama's clients, towards every provider", fates(OLLAMA_FIELDS)],
  ])('says under "%s" what the code does', (heading, ledger) => {
    expect(rowsUnder(heading).map(([field, fate]) => [field, fate])).toEqual(ledger);
  });

  const rows = (ledger: Readonly<Record<string, LedgerRow>>) => Object.entries(ledger);

  it('says of responses clients what the code does, towards each of the others', () => {
    const heading = '### Responses clients, towards a chat or a messages provider';
    expect(rowsUnder(heading).map((row) => row.slice(0, 3))).toEqual(
      rows(RESPONSES_FIELDS).map(([field, { fate, toward }]) => [field, toward?.chat ?? fate, fate]),
    );
  });

  it('says what a responses provider takes besides', () => {
    const besides = rows(CHAT_FIELDS).flatMap(([field, { toward }]) =>
      toward?.responses === undefined ? [] : [[field, toward.responses]],
    );
    const heading = '### Chat clients, towards a responses provider';
    expect(rowsUnder(heading).map(([field, fate]) => [field, fate])).toEqual(besides);
    expect(rows(MESSAGES_FIELDS).filter(([, { toward }]) => toward !== undefined)).toEqual([]);
  });
});

describe('the flags', () => {
  const rows = rowsUnder('## The flags');
  const memberOf = (flag: string): string =>
    flag.replace(/_[a-z]/g, (letter) => letter.slice(1).toUpperCase());

  it('are all listed, and none more', () => {
    expect(rows.map(([flag]) => flag).sort()).toEqual([...FLAG_NAMES].sort());
  });

  it('have the defaults that are written', () => {
    const shown = (value: unknown): string =>
      Array.isArray(value) ? (value.length === 0 ? 'none' : 'all') : String(value);
    const defaults = new Map<string, unknown>(Object.entries(DEFAULT_TRAITS));
    expect(rows.map(([flag, , , value]) => [flag, value])).toEqual(
      rows.map(([flag = '']) => [flag, shown(defaults.get(memberOf(flag)))]),
    );
  });

  it('take the values that are written', () => {
    for (const [flag = '', , values = ''] of rows) {
      if (values.startsWith('a ')) continue;
      for (const word of values.split(', ')) {
        const value = word === 'true' || word === 'false' ? word === 'true' : word;
        expect([flag, readFlag(flag, value)]).toEqual([flag, { traits: { [memberOf(flag)]: value } }]);
      }
    }
  });

  it('are heeded by an encoder, a decoder or a repair', () => {
    const code = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
      // What refusals teach is heeded by the encoders, or by nobody.
      .filter((path) => path.endsWith('.ts') && !path.startsWith('refusals'))
      .map((path) => readFileSync(new URL(path.replaceAll('\\', '/'), FOLDER), 'utf8'))
      .join('\n');
    const members = FLAG_NAMES.map(memberOf);
    expect(members.filter((member) => !new RegExp(`\\b${member}\\b`).test(code))).toEqual([]);
  });
});
