// Whether this process can open another file or connection. Node can't report it, and libuv closes new connections silently if
// none is left, so the gateway tries it.
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/** Opens and closes a file: cheap enough for each new connection. */
export function descriptorsLeft(): boolean {
  try {
    closeSync(openSync(devNull, 'r'));
    return true;
  } catch (error) {
    return !isExhaustion(error);
  }
}

/** The error means that the process, or the whole machine, can open no more. */
export function isExhaustion(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === 'EMFILE' || code === 'ENFILE';
}
