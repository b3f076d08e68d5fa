// Whether this process may open another file or connection. Node has no word for it, and libuv closes new connections silently
// where it can't, so it is tried.
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/** 5 µs. */
export function descriptorsLeft(): boolean {
  try {
    closeSync(openSync(devNull, 'r'));
    return true;
  } catch (error) {
    return !isExhaustion(error);
  }
}

/** The process, or the whole machine, may open no more. */
export function isExhaustion(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'EMFILE' || code === 'ENFILE';
}
