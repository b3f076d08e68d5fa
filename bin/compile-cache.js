// Where Node may keep compiled code: what stands there is run, so it must be a folder that nobody else can write.
import { lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/** The folder, made with 0700 where it does not exist; undefined: there is none that is safe. */
export function compileCache(env) {
  const folder = join(userCache(env), 'gateway', 'compile-cache');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return isPrivate(folder) ? folder : undefined;
  } catch {
    // A home that is read-only or does not exist: each start compiles anew.
    return undefined;
  }
}

function userCache({ XDG_CACHE_HOME, LOCALAPPDATA }) {
  // A relative one is invalid by the specification, and would be the folder that is worked in.
  if (XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME)) return XDG_CACHE_HOME;
  if (process.platform === 'win32') return LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local');
  return process.platform === 'darwin' ? join(homedir(), 'Library', 'Caches') : join(homedir(), '.cache');
}

/** The user's own with 0700, in folders that nobody else could have changed it by. Windows keeps its own rights. */
function isPrivate(folder) {
  if (process.platform === 'win32') return true;
  const { uid, mode } = lstatSync(folder);
  if (uid !== process.getuid() || (mode & 0o777) !== 0o700) return false;
  for (let above = dirname(realpathSync(folder)); ; above = dirname(above)) {
    const { uid: owner, mode: rights } = lstatSync(above);
    if (owner !== uid && owner !== 0) return false;
    if ((rights & WRITABLE_BY_OTHERS) !== 0 && (rights & STICKY) === 0) return false;
    if (above === dirname(above)) return true;
  }
}
