// The form of a key, and that only its hash stays.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { hashKey, looksLikeKey } from '../../src/accounts/access.ts';
import { makeKey, NOW, temporaryStore } from './support.ts';

describe('a new key', () => {
  it('has the promised form, and is found by its hash', async () => {
    const store = await temporaryStore();
    const { key, plaintext } = await makeKey(store);
    expect(plaintext).toMatch(/^sk-gw-[0-9A-Za-z]{43}$/);
    expect(key.id).toMatch(/^key_[0-9A-Za-z]{12}$/);
    expect(key).toMatchObject({ account: 'alice', tier: 'free', createdAt: NOW, revokedAt: null });
    expect(looksLikeKey(plaintext)).toBe(true);
    expect(await store.findKey(hashKey(plaintext))).toEqual(key);
  });

  it('shows its beginning alone, of which most is missing', async () => {
    const { key, plaintext } = await makeKey(await temporaryStore());
    expect(plaintext.startsWith(key.prefix)).toBe(true);
    expect(plaintext.length - key.prefix.length).toBeGreaterThanOrEqual(36);
    expect(JSON.stringify(key)).not.toContain(plaintext.slice(key.prefix.length));
  });

  it('is another one each time', async () => {
    const store = await temporaryStore();
    const keys = await Promise.all(Array.from({ length: 50 }, () => makeKey(store)));
    expect(new Set(keys.map(({ plaintext }) => plaintext)).size).toBe(50);
    expect(new Set(keys.map(({ key }) => key.id)).size).toBe(50);
  });
});

describe('hashKey', () => {
  it('is SHA-256 of the text', () => {
    expect(hashKey('sk-gw-x')).toEqual(createHash('sha256').update('sk-gw-x').digest('hex'));
  });
});

describe('looksLikeKey', () => {
  const body = 'aZ09'.repeat(11);
  it.each([
    [`sk-gw-${body}`, true],
    [`sk-gw-${body.slice(0, 40)}`, true],
    [`sk-gw-${body.slice(0, 39)}`, false],
    [`sk-gw-${'a'.repeat(1_000_000)}`, false],
    [`sk-gw-${body}\n`, false],
    [` sk-gw-${body}`, false],
    [`SK-GW-${body}`, false],
    [`sk-gw-${body}-`, false],
    [`sk-gw-${body}ä`, false],
    ['sk-gw-', false],
    [`sk-proj-${body}`, false],
    ['', false],
  ])('%.60s: %s', (text, expected) => {
    expect(looksLikeKey(text)).toBe(expected);
  });
});
