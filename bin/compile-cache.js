// The folder of Node's compile cache. Node runs the code in it, so no other user may be able to write it.
'use strict';
const { lstatSync, mkdirSync, realpathSync, statSync } = require('node:fs');
const { homedir } = require('node:os');
const { dirname, isAbsolute, join } = require('node:path');

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/** The path of the folder, created with mode 0700 if necessary; undefined: no safe folder is possible. */
exports.compileCache = function compileCache(env) {
  const folder = join(userCache(env), 'gateway', 'compile-cache');
  try {
    makeFolder(folder);
    return isPrivate(folder) ? folder : undefined;
  } catch {
    // The home folder is read-only or missing: every start compiles the code again.
    return undefined;
  }
};

/** As in src/folders.ts: Node's own `recursive` never returns in a place that has no folders, such as /proc. */
function makeFolder(folder) {
  if (statSync(folder, { throwIfNoEntry: false }) !== undefined) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
}

function userCache({ XDG_CACHE_HOME, LOCALAPPDATA }) {
  // The specification declares a relative path invalid. It would point into the current folder.
  if (XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME)) return XDG_CACHE_HOME;
  if (process.platform === 'win32') return LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local');
  return process.platform === 'darwin' ? join(homedir(), 'Library', 'Caches') : join(homedir(), '.cache');
}

/** Whether the folder belongs to the user with mode 0700, and no other user can replace it through a parent folder. On Windows
 *  the rights of the profile apply. */
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
