// A process of its own on a shared database: child.mjs STORE TASK FILE …, with the compiled store. What it did is said in
// lines of JSON.
import { Buffer } from 'node:buffer';
import process from 'node:process';
import { setInterval } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';

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
  /** Rounds of so many requests at once, each held, then settled at a random cost; tells each admission and each refusal. */
  async spend() {
    const [count, most] = rest.map(Number);
    const keys = JSON.parse(rest[2]);
    const limits = [{ kind: 'cost', per: 'month', most }];
    const store = await openStore(file);
    say('ready');
    await new Promise((resolve) => process.stdin.once('data', resolve));
    for (const [round, asking] of keys.entries()) {
      const estimate = 1 + ((round * 7) % 20);
      const took = [];
      let refusedEarly = 0;
      let refused = 0;
      let admittedLate = 0;
      await Promise.all(
        Array.from({ length: count }, async (_, index) => {
          // Some come while others are under way.
          await sleep(index % 5);
          const asked = { key: asking, limits, tokens: estimate, cost: estimate };
          const given = await store.hold(asked, Date.now());
          const [{ spent, held }] = given.standings;
          if (given.outcome === 'full') {
            refused += 1;
            if (spent + held < most) refusedEarly += 1;
            return;
          }
          if (spent + held - estimate >= most) admittedLate += 1;
          await sleep((index * 3) % 11);
          const cost = Math.floor(Math.random() * 30);
          const { hold } = given;
          const { accountId } = asking;
          const end = { tokens: cost, fresh: cost, cost, estimated: false, unpriced: false };
          await store.settle({ hold, accountId, limits: [], ...end }, Date.now());
          took.push(cost);
        }),
      );
      say({ round, took, refused, refusedEarly, admittedLate, estimate });
    }
    await store.close();
    process.stdin.destroy();
  },
  /** Holds so much of a key's account at an address, and hangs. */
  async hold() {
    const [address, cost, asking = JSON.stringify(key)] = rest;
    const store = await openStore(file);
    store.serveAt(address);
    const limits = [{ kind: 'cost', per: 'month', most: 1000 }];
    const { outcome } = await store.hold(
      { key: JSON.parse(asking), limits, tokens: 1, cost: Number(cost) },
      Date.now(),
    );
    say(outcome);
    setInterval(() => undefined, 1000);
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
