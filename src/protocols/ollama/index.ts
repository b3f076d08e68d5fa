// Ollama's API for clients alone: no provider is spoken to in it. Each of its forms (a chat, a prompt, vectors) is a client's side of its
// own; bare texts and vectors go to endpoints that providers of another protocol have.
import type { Endpoint, Generation, Relayed } from '../interface/endpoint.ts';
import type { ClientProtocol, ClientSide } from '../interface/protocol.ts';
import { noneForwarded, requestLimitHeaders } from '../shared/client.ts';
import { embedAt, encodeVectors, LIST, SINGLE } from './carried/embed.ts';
import { fillIn } from './carried/fill.ts';
import { beside, chat, generateAt } from './endpoints.ts';
import { encodeError, encodeStreamError, errorHead } from './errors.ts';
import { wirePath } from './fields.ts';
import { keyHeaders, setup } from './outline.ts';
import { encodeReply, holds } from './reply/encode.ts';
import { chatForm, generateForm, type Form } from './reply/forms.ts';
import { createStreamEncoder } from './reply/stream-encoder.ts';
import { decodeChat, decodeGenerate, readAsked } from './request/decode.ts';
import { hints, prompt } from './request/hints.ts';

type Forms = Pick<ClientSide, 'path' | 'decodeRequest' | 'encodeReply' | 'createStreamEncoder' | 'holds'>;

/** What all forms have in common. */
function sideOf(forms: Forms, endpoints: readonly [Generation | Relayed, ...Endpoint[]]): ClientProtocol {
  const client: ClientSide = {
    ...forms,
    endpoints,
    isKeyless: true,
    setup,
    hasServerTools: false,
    keyHeaders,
    ownHeaders: [],
    recognizes: () => false,
    hints,
    prompt,
    forwardedHeaders: noneForwarded,
    readAsked,
    wirePath,
    needsInputEstimate: false,
    lossesOfRewriting: () => [],
    encodeError,
    errorHead,
    encodeStreamError,
    cutsBrokenStreams: false,
    // Written by the encoder, since a line names the model.
    keepAlive: '',
    streamType: 'application/x-ndjson',
    limitHeaders: requestLimitHeaders,
  };
  return { name: 'ollama', spoken: undefined, permission: 'chat', client };
}

function generating(form: Form, path: string, decodeRequest: ClientSide['decodeRequest']): Forms {
  return {
    path,
    decodeRequest,
    encodeReply: (reply, context) => encodeReply(reply, context, form),
    createStreamEncoder: (context) => createStreamEncoder(context, form),
    holds,
  };
}

/** Endpoints of providers that another protocol has. */
interface Borrowed {
  completions: Relayed;
  embeddings: Relayed;
}

export function ollama({ completions, embeddings }: Borrowed): readonly ClientProtocol[] {
  const generate = generateAt(fillIn(completions));
  const vectors = [LIST, SINGLE].map((form) => {
    const forms = {
      ...generating(generateForm, form.path, decodeGenerate),
      encodeReply: ((reply, context) =>
        encodeVectors(reply, context, form)) satisfies ClientSide['encodeReply'],
      holds: { ...holds, nativeParts: true },
    };
    return sideOf(forms, [embedAt(embeddings, form)]);
  });
  return [
    sideOf(generating(chatForm, chat.path, decodeChat), [chat, ...beside]),
    sideOf(generating(generateForm, generate.path, decodeGenerate), [generate]),
    ...vectors,
  ];
}
