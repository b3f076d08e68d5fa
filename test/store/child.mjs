// A process of its own on a shared database: child.mjs STORE TASK FILE …, with the compiled store. What it did is said in
// lines of JSON.
import { Buffer } from 'node:buffer';
import process from 'node:process';

const [compiled, task, file, ...rest] = process.argv.slice(2);
const { openStore } = await import(compiled);
const key = { id: 'key_one', accountId: 1, tier: 'free' };
/** The new count of account 1; undefined: the limit is reached. */
async function admit(store, limit) {
  const { outcome, used } = await store.admit(key, limit, 0);
  return outcome === 'admitted' ? used : undefined;
}
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const tasks = {
  /** Opens at a given time, so that several do it at once. */
  async open() {
    while (Date.now() < Number(rest[0]));
    const store = await openStore(file);
    say({ admitted: await admit(store, 1000) });
    await store.close();
  },
  /** Asks for many admissions at once. */
  async admit() {
    const [count, limit] = rest.map(Number);
    const store = await openStore(file);
    say('ready');
    await new Promise((resolve) => process.stdin.once('data', resolve));
    const answers = await Promise.all(Array.from({ length: count }, () => admit(store, limit)));
    say(answers.filter((used) => used !== undefined));
    await store.close();
    process.stdin.destroy();
  },
  /** Asks at once for many admissions of each key. */
  async batch() {
    const [count, limit] = rest.map(Number);
    const store = await openStore(file);
    say('ready');
    await new Promise((resolve) => process.stdin.once('data', resolve));
    const asked = JSON.parse(rest[2]).flatMap((one) =>
      Array.from({ length: count }, () => store.admit(one, limit, 0)),
    );
    say((await Promise.all(asked)).length);
    await store.close();
  },
  /** Admits and says so, one after the other, so many times at most, until it is killed or fails. */
  async oneByOne() {
    const store = await openStore(file);
    for (let left = Number(rest[0]); left > 0; left -= 1) {
      try {
        say({ used: await admit(store, 1e9) });
      } catch (error) {
        say({ kind: error.kind });
        // Not through close, whose checkpoint would fail for want of space.
        process.exit(0);
      }
    }
  },
  /** Deletes what is old. */
  async prune() {
    const [now, keep] = rest.map(Number);
    const store = await openStore(file);
    say('ready');
    await store.prune(now, keep);
    say('done');
    await store.close();
  },
  /** Writes as the command line does. */
  async write() {
    const [name, count] = rest;
    for (let n = 0; n < Number(count); n += 1) {
      const store = await openStore(file);
      const id = `key_${name}_${n}`;
      await store.createKey({
        ...{
          id,
          hash: Buffer.from(id.padEnd(32)),
          prefix: 'p',
          account: `account ${n}`,
          tier: 'free',
          label: null,
        },
        ...{ permissions: ['chat'], models: null, createdAt: n, expiresAt: null },
      });
      await store.revokeKey(id, 1);
      await store.assignTier(`account ${n}`, name);
      await store.close();
    }
    say('done');
  },
};

await tasks[task]();
