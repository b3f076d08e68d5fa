// Tells the outside which targets are out of turn: the log at each change, and the store for `gateway models`.
import type { Clock } from '../clock.ts';
import { withoutKeys, type Logger } from '../log.ts';
import type { Health } from '../routing/health.ts';
import type { Store, TargetHealth } from '../store/store.ts';

/** An open breaker is believed so long without a word; it is told again before that. */
const BELIEVED_MS = 60_000;

/** The returned function compares what is known now with what was told last, and tells the difference. */
export function createHealthPublisher(deps: {
  health: Health;
  store: Store;
  clock: Clock;
  log: Logger;
}): () => Promise<void> {
  const { health, store, clock, log } = deps;
  const told = new Map<string, TargetHealth>();

  function outOfTurn(): Map<string, TargetHealth> {
    const found = new Map<string, TargetHealth>();
    for (const [key, { breaker, coolingMs }] of health.states()) {
      const target = withoutKeys(key);
      if (breaker !== 'closed') {
        found.set(target, { target, state: 'failing', until: clock.now() + BELIEVED_MS });
      } else if (coolingMs > 0) {
        found.set(target, { target, state: 'cooling', until: Math.ceil(clock.now() + coolingMs) });
      }
    }
    return found;
  }

  function isNews(next: TargetHealth): boolean {
    const last = told.get(next.target);
    return last === undefined || last.state !== next.state || next.until - last.until > BELIEVED_MS / 2;
  }

  return async () => {
    const now = outOfTurn();
    const news = [...now.values()].filter(isNews);
    const well = [...told.keys()].filter((target) => !now.has(target));
    if (news.length === 0 && well.length === 0) return;
    for (const { target, state } of news) {
      if (told.get(target)?.state !== state) log.warn('a target is out of turn', { target, state });
    }
    for (const target of well) log.info('a target is in turn again', { target });
    for (const next of news) told.set(next.target, next);
    for (const target of well) told.delete(target);
    await store.publishHealth(news, well);
  };
}
