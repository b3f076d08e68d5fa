// What a client reads says what the gateway's owner must mend: a variable that is missing, or one whose key is refused.
import { expect, test } from 'vitest';
import { ask } from '../helpers/ask.ts';
import { gateway, provider } from '../helpers/gateway.ts';
import { scriptedProvider } from '../helpers/scripted-provider.ts';

test.each(['absent/m', 'm', 'auto', 'bare/m'])(
  '%s, whose provider is left out, is a 400 that names the missing variable',
  async (model) => {
    const server = await gateway({
      config: {
        providers: {
          sim: {},
          absent: provider('http://127.0.0.1:9', 'chat', [{ id: 'm' }], { api_key: '${NO_SUCH_VARIABLE}' }),
          bare: provider('http://127.0.0.1:9', 'chat', ['n', 'm'], { api_key: '${NO_SUCH_VARIABLE}' }),
        },
        routes: { auto: ['absent/m', 'bare/n'] },
      },
    });
    const { status, error } = await ask(server, { model });
    expect(status).toBe(400);
    expect(error?.code).toBe('model_not_found');
    expect(error?.message).toMatch(/left out.*NO_SUCH_VARIABLE is not set/);
    const limited = await server.newKey({ models: ['sim/echo'] });
    const told = await ask({ ...server, key: limited }, { model });
    expect(told.error?.message).not.toContain('NO_SUCH_VARIABLE');
  },
);

test.each([
  ['of the file', 'sk-literal-0123456789', 'providers.maker.api_key'],
  ['of a variable', '${MAKER_KEY}', 'MAKER_KEY'],
])('a refused key %s is a 502 that says where it is from', async (_, key, from) => {
  const maker = await scriptedProvider();
  maker.playAlways({ status: 401, body: { error: { message: 'Incorrect API key provided', type: 'x' } } });
  const server = await gateway({
    config: { providers: { maker: provider(maker.url, 'chat', ['m'], { api_key: key }) } },
    variables: { MAKER_KEY: 'sk-secret-of-the-maker' },
  });
  const { status, error } = await ask(server, { model: 'm' });
  expect(status).toBe(502);
  expect(error?.message).toBe(`maker/m: Incorrect API key provided (its key is from ${from})`);
  expect(server.log()).toContain(`"key_from":"${from}"`);
});
