// Loaded with `node --require`: the scripts of a program are compiled once in a run of the tests, and not by each of its processes.
// Node 22 and newer do so for users, too.
'use strict';
const { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const Module = require('node:module');
const { dirname, join } = require('node:path');
const process = require('node:process');
const { setTimeout } = require('node:timers');
const { constants, Script } = require('node:vm');

/** By then, a program has compiled the functions of its start. */
const SETTLED_MS = 500;

const folder = process.env.SCRIPTS_OF_TEST_RUN;
/** A process that loads a script again needs no file. */
const scripts = new Map();

function scriptOf(filename, source) {
  const known = scripts.get(filename);
  if (known !== undefined) return known.script;
  const file = join(folder, encodeURIComponent(filename));
  const cachedData = existsSync(file) ? readFileSync(file) : undefined;
  const script = new Script(Module.wrap(source.replace(/^#!.*/, '')), {
    filename,
    cachedData,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  scripts.set(filename, { script, file, isNew: cachedData === undefined });
  return script;
}

const compile = Module.prototype._compile;

/** `format`: since Node 22, which can require ES modules, too. */
Module.prototype._compile = function (source, filename, format) {
  if (format === 'module') return Reflect.apply(compile, this, [source, filename, format]);
  const module = this;
  const require = (id) => module.require(id);
  require.resolve = (request, options) => Module._resolveFilename(request, module, false, options);
  require.main = process.mainModule;
  require.cache = Module._cache;
  const run = scriptOf(filename, source).runInThisContext();
  return Reflect.apply(run, module.exports, [module.exports, require, module, filename, dirname(filename)]);
};

function write() {
  mkdirSync(folder, { recursive: true });
  for (const entry of scripts.values()) {
    if (!entry.isNew || existsSync(entry.file)) continue;
    entry.isNew = false;
    const part = `${entry.file}.${process.pid}`;
    writeFileSync(part, entry.script.createCachedData());
    renameSync(part, entry.file);
  }
}

process.on('exit', write);
setTimeout(write, SETTLED_MS).unref();
