// What needs a person stands first: a database that is away, targets that are avoided, accounts at their limits, providers left out.
import type { AccountLimits, Attention, LiveTarget } from '../../api.ts';
import * as format from '../../format.ts';
import { html, type Children } from '../../html.ts';
import { amountText, PER, shareOf, toneOf } from '../../parts/limit.ts';
import { Name } from '../../parts/text.ts';
import { hrefOf } from '../../route.ts';
import type { VNode } from 'preact';

/** Of each kind; the rest is a number. */
const MOST_SHOWN = 4;

interface Matter {
  tone: 'warn' | 'bad';
  text: Children;
}

interface StripProps {
  attention: Attention;
  /** As of this moment. */
  live: readonly LiveTarget[];
  /** The fullest first; undefined: they could not be read. */
  limits: readonly AccountLimits[] | undefined;
}

export function Strip({ attention, live, limits }: StripProps): VNode {
  const matters = [
    ...databaseMatters(attention),
    ...targetMatters(avoidedNow(attention, live)),
    ...accountMatters(limits ?? []),
    ...providerMatters(attention),
  ];
  return html`
    <section class="attention" aria-labelledby="attention">
      <h2 id="attention">Needs you</h2>
      ${
        matters.length === 0
          ? html`<p class="state good">
              <span>Nothing: all targets answer, no account is near a limit.</span>
            </p>`
          : html`<ul>
              ${matters.map(({ tone, text }) => html`<li class="state ${tone}"><span>${text}</span></li>`)}
            </ul>`
      }
    </section>
  `;
}

function databaseMatters({ database }: Attention): Matter[] {
  if (database === 'ok') return [];
  const text =
    database === 'away'
      ? 'The database is away: requests are refused until it is back.'
      : 'The database is slow: requests wait for it.';
  return [{ tone: database === 'away' ? 'bad' : 'warn', text }];
}

interface Avoided {
  target: string;
  state: 'cooling' | 'failing';
  until: number;
}

/** What the live events say is newer; they know nothing of what other gateways on the database avoid. */
function avoidedNow({ targets }: Attention, live: readonly LiveTarget[]): Avoided[] {
  const all = new Map<string, Avoided>();
  for (const { provider, model, state, until } of targets) {
    const target = `${provider}/${model}`;
    all.set(target, { target, state, until: Date.parse(until) });
  }
  for (const { target, state, wait_ms: wait } of live) {
    if (state === 'healthy') all.delete(target);
    else all.set(target, { target, state, until: Date.now() + wait });
  }
  return [...all.values()];
}

const WHY = { failing: 'its requests fail', cooling: 'it is rate limited or overloaded' } as const;

function targetMatters(avoided: readonly Avoided[]): Matter[] {
  const shown = avoided.slice(0, MOST_SHOWN).map(({ target, state, until }): Matter => {
    const at = new Date(until).toISOString();
    const when =
      until <= Date.now()
        ? 'and is asked again with the next request'
        : html`until <time datetime=${at} title=${format.time(at)}>${format.timeOfDay(at)}</time>`;
    return {
      tone: state === 'failing' ? 'bad' : 'warn',
      text: html`<a href=${hrefOf('models')}><${Name} of=${target} /></a> is avoided ${when}: ${WHY[state]}.`,
    };
  });
  return withRest(shown, avoided.length, ['target is avoided', 'targets are avoided'], 'models');
}

const NEAR = format.wholeShare(0.8, 1);

function accountMatters(limits: readonly AccountLimits[]): Matter[] {
  const near = limits.filter(({ share }) => share !== null && share >= 0.8);
  const shown = near.slice(0, MOST_SHOWN).map(({ account, limits: rows }): Matter => {
    const fullest = rows.reduce((most, row) => (shareOf(row) > shareOf(most) ? row : most));
    const { kind, per, limit, granted, resets_at: at } = fullest;
    const share = shareOf(fullest);
    const used = share >= 1 ? 'used up' : `used ${format.wholeShare(share, 1)} of`;
    const said = ` has ${used} its ${amountText(kind, limit + granted)} ${PER[per]}. The limit begins anew `;
    return {
      tone: toneOf(share) === 'bad' ? 'bad' : 'warn',
      text: html`<a href=${hrefOf('limits', { account })}><${Name} of=${account} /></a>${said}<time
          datetime=${at}
          title=${format.time(at)}
          >${format.ago(at)}</time
        >.`,
    };
  });
  return withRest(
    shown,
    near.length,
    [`account is at ${NEAR} of a limit or above`, `accounts are at ${NEAR} of a limit or above`],
    'limits',
  );
}

function providerMatters({ left_out: leftOut }: Attention): Matter[] {
  const shown = leftOut.slice(0, MOST_SHOWN).map(({ provider, why }): Matter => ({
    tone: 'warn',
    text: html`The provider <a href=${hrefOf('models')}>${provider}</a> is not used: ${why}.`,
  }));
  return withRest(shown, leftOut.length, ['provider is not used', 'providers are not used'], 'models');
}

function withRest(
  shown: Matter[],
  all: number,
  [one, many]: readonly [string, string],
  view: string,
): Matter[] {
  const more = all - shown.length;
  if (more <= 0) return shown;
  const text = html`<a href=${hrefOf(view)}>${format.count(more)} more</a> ${more === 1 ? one : many}.`;
  return [...shown, { tone: 'warn', text }];
}
