// The body of a relayed chat request: the provider is asked for the usage of a stream, whether the client was or not.
import { isObject } from '../../../canonical/json.ts';
import type { Edit, Members } from '../../json/splice.ts';
import type { RelayedBody, RelayTarget, RewrittenBody } from '../../protocol.ts';
import { rewriteBody } from '../../json/request-bytes.ts';
import { asksForUsage } from './hints.ts';

export function rewrite(body: RelayedBody, target: RelayTarget): RewrittenBody {
  const asks = body.stream && target.traits.streamUsage && !asksForUsage(body.value);
  return rewriteBody(body, target, asks ? { ask: (members) => usageQuestion(body, members) } : {});
}

function usageQuestion({ value }: RelayedBody, members: Members): Edit {
  const given = value.stream_options;
  const asked = JSON.stringify({ ...(isObject(given) ? given : {}), include_usage: true });
  const member = members.get('stream_options');
  if (member !== undefined) return { start: member.start, end: member.end, text: asked };
  return { start: members.close, end: members.close, text: `,"stream_options":${asked}` };
}
