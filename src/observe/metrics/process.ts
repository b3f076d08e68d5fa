// The usual metrics of a Node process (CPU, memory, descriptors, event loop, collector), by prom-client. Loaded only if metrics are on.

/** Gauges whose names say that they are counters, and that are read from undocumented members of Node. */
const LEFT_OUT = ['active_handles', 'active_requests', 'active_resources'].flatMap((name) => [
  `nodejs_${name}`,
  `nodejs_${name}_total`,
]);
/** Milliseconds between two measurements of the event loop. */
const EVENT_LOOP_MS = 20;

let loaded: Promise<() => Promise<string>> | undefined;

/** One registry for the process: it measures the process, and never stops. The result writes the text format. */
export function processMetrics(): Promise<() => Promise<string>> {
  return (loaded ??= load());
}

async function load(): Promise<() => Promise<string>> {
  const { collectDefaultMetrics, Registry } = await import('prom-client');
  const register = new Registry();
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: EVENT_LOOP_MS });
  for (const name of LEFT_OUT) register.removeSingleMetric(name);
  return () => register.metrics();
}
