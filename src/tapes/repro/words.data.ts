// Words that may be shown to anybody: those of the protocols, of JSON Schema, of media types, and those of which error messages are made.

const list = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter((word) => word !== ''));

/** Of member names and of values such as `response.output_text.delta`, cut at what is no letter. */
export const PROTOCOL_WORDS = list(`
  accept adaptive added additional advisor agent all allowed alternation annotations any anthropic application apply approval approximate args arguments array
  assistant attempt audio auto background base64 batch beta betas billing block blocks body bool boolean breakpoint budget by bytes cache cached call
  caller calls cancelled category changed chat choice choices chunk citation citations clear claude cli client code codex commentary compact
  compaction complete completed completion completions computer const container content context control conversation count created creation custom
  data date days default defer deferred definition definitions delta deltas description detail details developer diagnostics dimensions direct disable
  disabled document done edit edits effort embedding embeddings enable enabled encoding encrypted end ephemeral error event execution explanation
  explicit expires external extra failed false fetch field file filename fill filter finish fine first flex float format frequency function functions
  generate geo gif grained grammar hash header headers high hosted hour id identifier ids image images in include includes incomplete index inference
  input instructions integer interleaved interpreter item items jpeg js json key kind kwargs language large last latency lark length level limit list
  loading local location logit logprobs long low management max mcp media medium message messages metadata middle min minimal mistral modality modalities
  mode model models moderation ms n name namespace namespaced native node none null number oauth obfuscation object off omitted on only openai opencode
  options original originator output p parallel param parameter parameters part partial parts patch path pdf penalty phase ping plain png policy
  prediction prefill prefix presence preserved previous priority profile progress prompt prompts properties protocol provider python queued range rank
  raw read reason reasoning redacted reference refusal regex request requests required response responses result results retention retry role root
  safety sampling schema score screenshot sdk search seed sequence server service sequences shell signature size skill skills source speed standard start started
  status stop store stream streaming strict string structured subtype suffix summary syntax system tag tags target task template temperature
  text thinking thread tier timestamp title token tokens tool tools top topk total trace transforms truncation ttl turn type typescript unset upstream
  url usage use used user utf uuid value vector verbosity version via web webp webhook while width with word write xhigh x
`);

/** JSON Schema's members. What stands below the first ones is named by the schema's author. */
export const NAMING = list('properties patternProperties $defs definitions dependentSchemas');
export const SCHEMA_WORDS = list(`
  type required items prefixItems enum anyOf oneOf allOf not if then else $ref additionalProperties description title default format pattern
  minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems uniqueItems const examples nullable $schema strict
  propertyNames contains multipleOf minProperties maxProperties unevaluatedProperties readOnly writeOnly deprecated
`);
export const SCHEMA_VALUES = list(
  'string number integer boolean object array null date time uri email uuid hostname ipv4 ipv6 int32 int64',
);

/** Of error messages, with those of the protocols. */
export const SENTENCE_WORDS = list(`
  a above account active after again allow along already also although always an and another api are as at authentication available away back bad
  be because been before began begin beginning between beyond both broke broken but busy can cannot close closed combination configuration connect connection contain
  contained contains corresponding could credit current currently database days deep deployment did different does down duplicate during each early either empty
  ended ends enough entries entry errors even every exactly exceed exceeded exceeds exist expected expired few fields find follow followed following follows
  for forbidden found from full further gateway given gives got greater had has have help higher hours how however if immediate immediately instead insufficient
  internal into invalid is it its keys known larger later least left less let limited limits longer lost made make malformed many matches matching maximum
  may minimum minute minutes missing more most must need needed nested network no nor not nothing occurred of often one or order other our out over overloaded
  payload per permission please point position possible property provided quota rate reach reached read refused rejected remove repeated
  reset retries returned same seconds see send sent service set several should shorter since single size so some specified still such supported than that the
  their them then there these they this those time timed timeout times to together too true try two unauthorized unavailable under unexpected unique unknown
  unless unprocessable until unsupported up upgrade valid values was we were what when where which who will within without wrong you your zero
`);

/** Prefixes of ids that providers make. */
export const ID_PREFIX =
  /^(?:toolu|srvtoolu|call|msg|req|resp|rs|fc|ctc|ws|chatcmpl|cmpl|gen|file|batch)[_-]/;
