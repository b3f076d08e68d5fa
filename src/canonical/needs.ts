// What a request asks of a model: found while it is validated, compared with what a target can do when it is routed.

export interface Needs {
  image: boolean;
  document: boolean;
  audio: boolean;
  tools: boolean;
  thinking: boolean;
  structuredOutput: boolean;
  serverTools: boolean;
}

export const NO_NEEDS: Needs = {
  image: false,
  document: false,
  audio: false,
  tools: false,
  thinking: false,
  structuredOutput: false,
  serverTools: false,
};
