// What stands for `undici` in the built program and in the tests: what src/providers takes of it, from the files in which it
// stands. All of undici takes 5 MiB and a fifth of a start's processor time more (docs/decisions/0009). Its proxy agents call
// `connect` of a dispatcher, which undici's own index puts there.
import connect from 'undici/lib/api/api-connect.js';
import buildConnector from 'undici/lib/core/connect.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import ProxyAgent from 'undici/lib/dispatcher/proxy-agent.js';

Object.assign(Dispatcher.prototype, { connect });
export { Agent, buildConnector, EnvHttpProxyAgent, Pool, ProxyAgent };
