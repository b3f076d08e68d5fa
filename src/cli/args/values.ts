// Values of options and arguments, checked as they are read: what is wrong here is wrong usage.
import { InvalidArgumentError } from 'commander';
import { PROTOCOL_NAMES } from '../../canonical/request.ts';
import type { Permission } from '../../store/store.ts';

const LONGEST_NAME = 128;

/** Controls, halves of characters, and what takes no room on a screen or turns its direction. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]|\u034f|\u17b4|\u17b5/u;

/** An account's name or a key's label: 1 to 128 characters that can be seen, no space at either end. */
export function parseName(text: string): string {
  const length = [...text].length;
  if (length < 1 || length > LONGEST_NAME) {
    throw new InvalidArgumentError(`A name has 1 to ${LONGEST_NAME} characters; this has ${length}.`);
  }
  if (UNSEEN.test(text)) throw new InvalidArgumentError('A name has no control or zero-width characters.');
  if (text.trim() !== text) throw new InvalidArgumentError('A name has no space at its beginning or end.');
  return text;
}

function parseList(text: string): string[] {
  const items = text.split(',').map((item) => item.trim());
  if (items.some((item) => item === '')) throw new InvalidArgumentError('Give names separated by commas.');
  return [...new Set(items)];
}

const PERMISSIONS: readonly Permission[] = PROTOCOL_NAMES;

export function parsePermissions(text: string): Permission[] {
  const asked = parseList(text);
  const foreign = asked.find((item) => !PERMISSIONS.some((permission) => permission === item));
  if (foreign !== undefined) {
    throw new InvalidArgumentError(
      `Unknown permission ${JSON.stringify(foreign)}; there are ${PERMISSIONS.join(' and ')}.`,
    );
  }
  return PERMISSIONS.filter((permission) => asked.includes(permission));
}

export function parseModels(text: string): string[] {
  return parseList(text).map((item) => {
    if (/\p{Cc}/u.test(item)) throw new InvalidArgumentError('A model name has no control characters.');
    return item;
  });
}

const HIGHEST_PORT = 65_535;

export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= HIGHEST_PORT))
    throw new InvalidArgumentError(`A port is a whole number from 0 to ${HIGHEST_PORT}.`);
  return port;
}

/** Collects an option that may be given several times. */
export function collect(value: string, before: string[] | undefined): string[] {
  return [...(before ?? []), value];
}
