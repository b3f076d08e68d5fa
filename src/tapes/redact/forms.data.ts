// The forms of secrets that can be known by their looks, one row a kind. `marks`: a text without any of them holds no secret of the
// row, so that most rows cost one search. The whole match is the secret, or its first group. Every expression takes linear time.

interface SecretForm {
  kind: string;
  marks: readonly string[];
  pattern: RegExp;
}

/** Nothing of a word stands before it. */
const token = (kind: string, marks: readonly string[], source: string): SecretForm => ({
  kind,
  marks,
  pattern: new RegExp(`(?<![A-Za-z0-9])(?:${source})`, 'dg'),
});

/** White space, also as JSON in JSON writes it. */
const GAP = String.raw`(?:\s|\\+[nrt])`;

/** The first row that fits names the secret. */
export const SECRET_FORMS: readonly SecretForm[] = [
  token('gateway key', ['sk-gw'], 'sk-gw[a-z]?-[0-9A-Za-z]{10,}'),
  token('Anthropic key', ['sk-ant-'], 'sk-ant-[\\w-]{16,}'),
  token('OpenRouter key', ['sk-or-'], 'sk-or-[\\w-]{16,}'),
  token('OpenAI key', ['sk-proj-', 'sk-svcacct-', 'sk-admin-'], 'sk-(?:proj|svcacct|admin)-[\\w-]{16,}'),
  token('provider key', ['sk-'], 'sk-(?=[\\w-]{0,60}\\d)[\\w-]{20,}'),
  token('Groq key', ['gsk_'], 'gsk_[A-Za-z0-9]{20,}'),
  token('xAI key', ['xai-'], 'xai-[A-Za-z0-9]{20,}'),
  token('Hugging Face token', ['hf_'], 'hf_[A-Za-z0-9]{20,}'),
  token('Replicate token', ['r8_'], 'r8_[A-Za-z0-9]{20,}'),
  token('Perplexity key', ['pplx-'], 'pplx-[A-Za-z0-9]{20,}'),
  token('Cerebras key', ['csk-'], 'csk-[a-z0-9]{20,}'),
  token('NVIDIA key', ['nvapi-'], 'nvapi-[\\w-]{20,}'),
  token('Fireworks key', ['fw_'], 'fw_[A-Za-z0-9]{20,}'),
  token('Tavily key', ['tvly-'], 'tvly-[\\w-]{16,}'),
  token('Google key', ['AIza'], 'AIza[\\w-]{30,}'),
  token('Google token', ['ya29.', 'GOCSPX-'], 'ya29\\.[\\w-]{20,}|GOCSPX-[\\w-]{20,}'),
  token('Bedrock key', ['ABSK'], 'ABSK[A-Za-z0-9+/]{60,}=*'),
  token('AWS key ID', ['AKIA', 'ASIA', 'ABIA', 'ACCA'], 'A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}(?![A-Za-z0-9])'),
  token('GitHub token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], 'gh[pousr]_[A-Za-z0-9]{30,}'),
  token('GitHub token', ['github_pat_'], 'github_pat_\\w{22,}'),
  token(
    'GitLab token',
    ['glpat-', 'gldt-', 'glrt-', 'glptt-', 'glcbt-'],
    'gl(?:pat|dt|rt|ptt|cbt)-[\\w.-]{20,}',
  ),
  token('Bitbucket token', ['ATBB'], 'ATBB[A-Za-z0-9]{24,}'),
  token('Atlassian token', ['ATATT3'], 'ATATT3[\\w=-]{40,}'),
  token('Slack token', ['xox', 'xapp-', 'xwfp-'], '(?:xox[abeoprs]|xapp|xwfp)-[\\w-]{10,}'),
  token(
    'Slack webhook',
    ['hooks.slack.com'],
    'hooks\\.slack\\.com/(?:services|workflows|triggers)/[\\w/]{20,}',
  ),
  token('Discord webhook', ['/api/webhooks/'], 'discord(?:app)?\\.com/api/webhooks/\\d{10,}/[\\w-]{30,}'),
  token('Discord token', ['.'], '[MNO][\\w-]{23,27}\\.[\\w-]{6}\\.[\\w-]{27,}'),
  token('Telegram token', [':AA'], '\\d{8,10}:AA[\\w-]{32,}'),
  token(
    'Stripe key',
    ['k_live_', 'k_test_', 'whsec_'],
    '(?:[spr]k_(?:live|test)_|whsec_)[A-Za-z0-9+/=]{16,}',
  ),
  token('Square token', ['sq0', 'EAAA'], 'sq0[a-z]{3}-[\\w-]{22,}|EAAA[\\w-]{56,}'),
  token('Shopify token', ['shp'], 'shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}'),
  token('Twilio key', ['SK'], 'SK[0-9a-f]{32}'),
  token('SendGrid key', ['SG.'], 'SG\\.[\\w-]{16,}\\.[\\w-]{16,}'),
  token('Mailgun key', ['key-'], 'key-[0-9a-f]{32}'),
  token('Mailchimp key', ['-us'], '[0-9a-f]{32}-us\\d{1,2}'),
  token('npm token', ['npm_'], 'npm_[A-Za-z0-9]{30,}'),
  token('PyPI token', ['pypi-'], 'pypi-[\\w-]{40,}'),
  token('RubyGems key', ['rubygems_'], 'rubygems_[0-9a-f]{48}'),
  token('Docker token', ['dckr_'], 'dckr_(?:pat|oat)_[\\w-]{20,}'),
  token('DigitalOcean token', ['do'], 'do[opr]_v1_[0-9a-f]{64}'),
  token('Databricks token', ['dapi'], 'dapi[0-9a-f]{32}(?:-\\d)?'),
  token('Vault token', ['hvs.', 'hvb.', 'hvr.'], 'hv[sbr]\\.[\\w-]{20,}'),
  token('Terraform token', ['.atlasv1.'], '[A-Za-z0-9]{14}\\.atlasv1\\.[\\w-]{40,}'),
  token('Doppler token', ['dp.'], 'dp\\.(?:pt|st|ct|sa|scim|audit)\\.[\\w.-]{40,}'),
  token('Linear key', ['lin_'], 'lin_(?:api|oauth)_[A-Za-z0-9]{32,}'),
  token('Notion token', ['ntn_', 'secret_'], '(?:ntn|secret)_[A-Za-z0-9]{40,}'),
  token('Airtable token', ['pat'], 'pat[A-Za-z0-9]{14}\\.[0-9a-f]{64}'),
  token('Postman key', ['PMAK-'], 'PMAK-[0-9a-f]{24}-[0-9a-f]{34}'),
  token('Sentry token', ['sntry'], 'sntry[su]_[\\w+/=-]{40,}'),
  token('Grafana token', ['glsa_', 'glc_'], 'glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|glc_[A-Za-z0-9+/=]{32,}'),
  token('New Relic key', ['NRAK-', 'NRJS-', 'NRII-'], 'NR(?:AK|JS|II)-[\\w-]{18,}'),
  token('Heroku key', ['HRKU-'], 'HRKU-[\\w-]{36,}'),
  token('Fly token', ['FlyV1', 'fo1_'], 'FlyV1 [\\w+/=,-]{40,}|fo1_[\\w-]{40,}'),
  token('Netlify token', ['nfp_'], 'nfp_[A-Za-z0-9]{36,}'),
  token('Figma token', ['fig'], 'fig[dours]_[\\w-]{36,}'),
  token('Dropbox token', ['sl.'], 'sl\\.[\\w-]{100,}'),
  token('Supabase token', ['sbp_', 'sb_secret_'], 'sbp_[0-9a-f]{40}|sb_secret_[\\w-]{20,}'),
  token('PlanetScale token', ['pscale_'], 'pscale_(?:tkn|pw|oauth)_[\\w.-]{32,}'),
  token('CircleCI token', ['CCIPAT_'], 'CCIPAT_[\\w]{20,}'),
  token('age key', ['AGE-SECRET-KEY-'], 'AGE-SECRET-KEY-1[0-9A-Z]{50,}'),
  // Never inside a run of such characters: each run is read once.
  {
    kind: 'JSON Web Token',
    marks: ['eyJ'],
    pattern: /(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?/dg,
  },
  token('Azure key', ['8Q~', '7Q~'], '[\\w~.-]{3}[78]Q~[\\w~.-]{31,34}'),
  {
    kind: 'Azure key',
    marks: ['AccountKey=', 'SharedAccessKey='],
    pattern: /(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{20,}={0,2})/dg,
  },
  {
    kind: 'AWS secret key',
    marks: ['aws', 'AWS', 'Secret'],
    pattern:
      /(?:secret_?access_?key|aws_?secret(?:_?key)?)[\s"'\\:=]{1,12}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])/dgi,
  },
  {
    kind: 'AWS session token',
    marks: ['oken'],
    pattern: /(?:session_?token|security_?token)[\s"'\\:=]{1,12}([A-Za-z0-9/+]{60,}={0,2})/dgi,
  },
  {
    kind: 'authorization',
    marks: ['earer', 'EARER', 'asic', 'ASIC', 'oken', 'OKEN'],
    // With a digit, a sign or both cases in it: "basic understanding" is no credential.
    pattern:
      /\b(?:bearer|basic|token)(?:\s{1,4}|%20|\+)(?=[a-z0-9.~+/=_-]{0,60}[0-9=_])([a-z0-9.~+/=_-]{8,})/dgi,
  },
  {
    kind: 'authorization',
    marks: ['uthorization', 'UTHORIZATION'],
    pattern: new RegExp(
      String.raw`\b(?:proxy-)?authorization[\\"']{0,4}${GAP}{0,4}[:=]${GAP}{0,4}[\\"']{0,4}(?:(?:bearer|basic|token|digest|aws4-hmac-sha256)\s{1,4})?(?!\[secret)([^\s"'\\,;]{6,})`,
      'dgi',
    ),
  },
  {
    kind: 'cookie',
    marks: ['ookie', 'OOKIE'],
    pattern:
      /\b(?:set-)?cookie[\\"']{0,4}: {0,4}[\\"']{0,4}([\w.-]{1,64}=[^\s"'\\]{4,}(?:; ?[\w.-]{1,64}=[^\s"'\\;]{1,})*)/dgi,
  },
  {
    kind: 'password of a URL',
    marks: ['://'],
    pattern: /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/@:"'\\]{0,200}:([^\s/@"'\\]{1,400})@/dgi,
  },
  {
    kind: 'user of a URL',
    marks: ['://'],
    pattern: /\b[a-z][a-z0-9+.-]{0,30}:\/\/(?!git@)([^\s/@:"'\\[\]<>{}$]{16,400})@/dgi,
  },
  {
    kind: 'secret of a URL',
    marks: ['?', '&'],
    pattern:
      /[?&](?:[\w-]{0,40}(?:key|token|secret|signature|password|passwd)|sig|code|x-amz-credential)=([^\s&"'#<>)\\[\]]{6,})/dgi,
  },
  {
    kind: 'secret in a member',
    marks: ['"'],
    // {"password": "…"}, at any depth of JSON in JSON; words with spaces are descriptions.
    pattern:
      /\\{0,15}"[\w.-]{0,40}(?:passw(?:or)?d|passphrase|secret|(?:api|access|private|secret|auth|signing|encryption)[_-]?key|(?:access|auth|refresh|bearer|api|session|id)[_-]?token|credential|_auth)s?\\{0,15}" {0,4}: {0,4}\\{0,15}"(?!(?:string|number|boolean|object|array|null|none|true|false|required|optional)\\{0,15}")([^\s"\\$<{[]{4,})\\{0,15}"/dgi,
  },
  {
    kind: 'secret in a variable',
    marks: ['='],
    pattern:
      /\b[A-Z][A-Z0-9_]{0,60}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|_AUTH|_PAT|_PWD)=(?:\\{0,15}["'])?(?![$"'\\\s])([^\s"'\\;]{6,})/dg,
  },
  {
    kind: 'secret in a setting',
    marks: ['assw', 'ASSW', 'ecret', 'oken', 'key', 'Key'],
    // `password: hunter2x`, `api_key = 'abc123…'`: with a digit in it, so that code that reads a secret stays.
    pattern:
      /\b[\w.-]{0,40}(?:passw(?:or)?d|passphrase|client_secret|api[_-]?key|access[_-]?token|auth[_-]?token|secret[_-]?key)[ ]{0,4}[:=][ ]{0,4}(?:\\{0,15}["'])?(?=[^\s"'\\(),;]{0,60}\d)([^\s"'\\(),;$<{[\]]{6,400})(?![\w(.])/dgi,
  },
];
