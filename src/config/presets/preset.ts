// What a well-known provider is. A deviation of a provider from its protocol is a trait here, never a branch in code.
import type { ProtocolName } from '../../canonical/request.ts';
import type { Traits } from '../../canonical/traits.ts';
import type { ProviderConfig } from '../config.ts';

export interface Preset {
  name: string;
  /** The name for people. */
  title: string;
  /** Used by default: a client's own, else the first one, which loses least. For clients of responses chat comes before messages, since
   *  it takes files of any type, every form of the answer, tiers and the key of the prompt cache. `baseUrls` may have more protocols, which the file can choose with `protocol`. */
  protocols: readonly ProtocolName[];
  /** Spoken at another URL where the file does not say: many servers that are called so speak the usual protocol alone. */
  elsewhere?: readonly ProtocolName[];
  /** With the version. Empty: the file must set `base_url`. `{region}` stands for the file's `region`. */
  baseUrls: Partial<Record<ProtocolName, string>>;
  /** Environment variables of the API key; the first one that is set counts. Empty: the provider needs no key. */
  keys: readonly string[];
  auth: ProviderConfig['auth'];
  /** The preset whose rows of models (`routing/models/`) hold, if not its own. */
  rules?: string;
  /** The model for `auto` if the file lists none. */
  defaultModel?: string;
  /** The usual port of a local server, on loopback. */
  localPort?: number;
  traits: Partial<Traits>;
}
