// Made-up secrets of well-known forms. Put together here, so that no scanner takes this file for a leak.

const LETTERS = 'Qw7eRt2yUi9oPa4sDf6gHj1kLz8xCv3bNm5ZqWnErTyUiOpAsDfGhJkLzXcVbNmQwErTy0';
const HEX = '3f9a1c7e5b2d804f6a9c1e3b7d5f2048a6c4e29b1f7d3a5c8e0b6f4d2a9c7e1b5f3d8a06c4e2';
const DIGITS = '74190352861947';

const letters = (count: number, from = 0): string => (LETTERS + LETTERS + LETTERS).slice(from, from + count);
const hex = (count: number): string => HEX.slice(0, count);

/** By kind. */
export const SECRETS: Readonly<Record<string, string>> = {
  anthropic: `sk-ant-${'api03-'}${letters(40)}`,
  openai: `sk-${'proj-'}${letters(40, 3)}`,
  openrouter: `sk-or-${'v1-'}${hex(64)}`,
  deepseek: `sk-${hex(32)}`,
  gateway: `sk-gw-${letters(43, 5)}`,
  groq: `gsk_${letters(52, 1)}`,
  xai: `xai-${letters(60)}`,
  huggingface: `hf_${letters(34, 2)}`,
  google: `AIza${letters(35, 4)}`,
  googleToken: `ya29.${letters(60)}`,
  awsId: `AKIA${'QWERTYUIOPASDFGH'}`,
  github: `ghp_${letters(36, 6)}`,
  githubFine: `github_pat_${letters(22)}_${letters(59, 7)}`,
  githubApp: `ghs_${letters(36, 9)}`,
  gitlab: `glpat-${letters(20, 8)}`,
  slack: `xoxb-${DIGITS}-${letters(24)}`,
  slackHook: `https://hooks.slack.com/services/T${'0QWERTYUI'}/B${'0QWERTYUI'}/${letters(24, 2)}`,
  stripe: `sk_live_${letters(24, 3)}`,
  stripeHook: `whsec_${letters(32)}`,
  twilio: `SK${hex(32)}`,
  sendgrid: `SG.${letters(22)}.${letters(43, 4)}`,
  npm: `npm_${letters(36, 5)}`,
  pypi: `pypi-AgEIcHlwaS5vcmc${letters(60)}`,
  docker: `dckr_pat_${letters(27)}`,
  digitalocean: `dop_v1_${hex(64)}`,
  databricks: `dapi${hex(32)}`,
  vault: `hvs.${letters(24, 6)}`,
  linear: `lin_api_${letters(40)}`,
  notion: `ntn_${letters(46, 1)}`,
  shopify: `shpat_${hex(32)}`,
  sentry: `sntryu_${hex(64)}`,
  grafana: `glsa_${letters(32)}_${hex(8)}`,
  newrelic: `NRAK-${letters(27)}`,
  telegram: `${DIGITS.slice(0, 10)}:AA${letters(33)}`,
  mailgun: `key-${hex(32)}`,
  supabase: `sbp_${hex(40)}`,
  jwt: `eyJ${letters(20)}.eyJ${letters(40, 3)}.${letters(43, 2)}`,
  azure: `${letters(3)}8Q~${letters(34, 7)}`,
  privateKey: `-----BEGIN RSA ${'PRIVATE'} KEY-----\nMIIE${letters(60)}\n${letters(64, 9)}\n-----END RSA PRIVATE KEY-----`,
  openssh: `-----BEGIN OPENSSH ${'PRIVATE'} KEY-----\nb3Bl${letters(60, 4)}\n-----END OPENSSH PRIVATE KEY-----`,
  replicate: `r8_${letters(37)}`,
  perplexity: `pplx-${letters(48)}`,
  nvidia: `nvapi-${letters(64)}`,
  figma: `figd_${letters(40)}`,
  netlify: `nfp_${letters(36, 2)}`,
  circleci: `CCIPAT_${letters(22)}_${hex(40)}`,
  postman: `PMAK-${hex(24)}-${hex(34)}`,
};

/** Where the form is around the secret: what must not be left, and the text. */
export const IN_CONTEXT: Readonly<Record<string, readonly [secret: string, text: string]>> = {
  awsSecret: [letters(40, 11), `aws_secret_access_key = ${letters(40, 11)}`],
  bearer: [letters(30, 12), `curl -H "Authorization: Bearer ${letters(30, 12)}" https://api.example.com`],
  basic: [
    Buffer.from('admin:open-sesame-42').toString('base64'),
    `Authorization: Basic ${Buffer.from('admin:open-sesame-42').toString('base64')}`,
  ],
  url: ['tiger42scott', 'postgres://scott:tiger42scott@db.example.com:5432/app'],
  urlToken: [letters(24, 13), `https://x-access-token:${letters(24, 13)}@github.com/a/b.git`],
  query: [letters(20, 14), `GET https://api.example.com/v1?api_key=${letters(20, 14)}&page=2`],
  json: ['hunter2-correct', '{"user":"ann","password":"hunter2-correct"}'],
  variable: ['open5esame', 'export DB_PASSWORD=open5esame'],
  yaml: ['s3cret-horse', 'db:\n  password: s3cret-horse\n'],
  cookie: [letters(26, 15), `Cookie: session=${letters(26, 15)}`],
  azureStorage: [`${letters(60, 16)}==`, `AccountName=a;AccountKey=${letters(60, 16)}==;EndpointSuffix=x`],
};
