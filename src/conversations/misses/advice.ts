// What a person can do about a conversation that misses its cache again and again for one cause.
import type { MissCause } from './cause.ts';

export const ADVICE: Readonly<Record<MissCause, string>> = {
  model: 'caches belong to one model: keep it for a whole conversation',
  parameters:
    'a setting that belongs to the prompt changes: keep effort, thinking and the form of the answer as they were',
  tools:
    'the list of tools changes: connect MCP servers before the conversation begins, and keep the order of the tools',
  system: 'the system text changes: keep dates and other changing lines out of it',
  messages:
    'earlier messages are rewritten: compactions, undone turns and edited tool results make the provider read anew',
  pause:
    'pauses are longer than the cache lives: ask for an hour (cache_control with ttl: 1h) or a day (prompt_cache_retention: 24h)',
  target:
    'requests of one conversation go to several targets: give the route the strategy priority, or fewer targets',
  key: 'requests of one conversation come with several keys: keep the key of the provider, and prompt_cache_key',
  evicted:
    'nothing of the prompt changes: the provider does not keep it; a prompt_cache_key, or a longer life of the cache, may help',
};
