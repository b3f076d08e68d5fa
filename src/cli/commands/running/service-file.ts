// The file of a user service: a systemd unit, or a launchd property list. It holds absolute paths and no secret, and its first lines
// carry a hash, so that a file which somebody changed is recognised.
import { createHash } from 'node:crypto';
import path from 'node:path';
import type { Environment } from '../../context.ts';
import { shellWord } from '../../ui/style.ts';

export interface Service {
  /** Where the file belongs. */
  file: string;
  text: string;
  /** Commands for the user: after the file is written, and before it is removed. */
  start: string[];
  end: string[];
  logs: string;
  /** A link that exists while the service is enabled; undefined: it cannot be seen. */
  enabledLink: string | undefined;
}

export interface ServiceParts {
  node: string;
  script: string;
  /** Options of `serve`. */
  words: string[];
  /** A file of lines NAME=value with the keys of providers. */
  environmentFile: string;
  logFile: string;
  home: string;
  env: Environment;
  /** Milliseconds that `serve` has to end. */
  stopMs: number;
}

/** undefined: this platform has no services of this kind. */
export function serviceFor(platform: NodeJS.Platform, parts: ServiceParts): Service | undefined {
  if (platform === 'linux') return systemdService(parts);
  return platform === 'darwin' ? launchdService(parts) : undefined;
}

const MARK = /gateway service install, sha256 ([0-9a-f]{64})/;
const UNSIGNED = '0'.repeat(64);

/** Whether the text is as `gateway service install` wrote it. */
export function isUnchanged(text: string): boolean {
  const hash = MARK.exec(text)?.[1];
  return hash !== undefined && text === signed(text.replace(hash, UNSIGNED));
}

function signed(text: string): string {
  return text.replace(UNSIGNED, createHash('sha256').update(text).digest('hex'));
}

const NAME = 'gateway';

// https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html. A user's own manager cannot make a file system
// read-only on every machine, and V8 needs memory that is both written and executed.
function systemdService(parts: ServiceParts): Service {
  const { node, script, words, environmentFile, home, env, stopMs } = parts;
  const base = env['XDG_CONFIG_HOME'] ?? '';
  const folder = path.join(path.isAbsolute(base) ? base : path.join(home, '.config'), 'systemd', 'user');
  const command = [node, script, 'serve', ...words, '--in-background'].map(systemdWord).join(' ');
  const text = signed(`# Written by gateway service install, sha256 ${UNSIGNED}
[Unit]
Description=local-llm-gateway

[Service]
ExecStart=${command}
# Keys of providers, one NAME=value a line. The file is yours: mode 0600.
EnvironmentFile=-${systemdPath(environmentFile)}
Restart=on-failure
RestartSec=2
TimeoutStopSec=${Math.ceil(stopMs / 1000)}
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
UMask=0077

[Install]
WantedBy=default.target
`);
  return {
    file: path.join(folder, `${NAME}.service`),
    text,
    start: ['systemctl --user daemon-reload', `systemctl --user enable --now ${NAME}`],
    end: [`systemctl --user disable --now ${NAME}`],
    logs: `journalctl --user --unit ${NAME}`,
    enabledLink: path.join(folder, 'default.target.wants', `${NAME}.service`),
  };
}

/** https://www.freedesktop.org/software/systemd/man/latest/systemd.syntax.html#Quoting; `%` and `$` begin a variable. */
function systemdWord(word: string): string {
  const text = word.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@+=:,./-]+$/.test(text) ? text : `"${text}"`;
}

const systemdPath = (file: string): string => file.replaceAll('\\', '\\\\').replaceAll('%', '%%');

const LABEL = 'local-llm-gateway';

/** launchd has no file of variables, so that a shell reads them. The gateway bounds its log file itself. */
function launchdService(parts: ServiceParts): Service {
  const { node, script, words, environmentFile, logFile, home, stopMs } = parts;
  const command = [node, script, 'serve', ...words, `--in-background=${logFile}`].map(shellWord).join(' ');
  const variables = shellWord(environmentFile);
  const shell = `if [ -f ${variables} ]; then set -a; . ${variables}; fi; exec ${command}`;
  const file = path.join(home, 'Library', 'LaunchAgents', `${LABEL}.plist`);
  const text = signed(`<?xml version="1.0" encoding="UTF-8"?>
<!-- Written by gateway service install, sha256 ${UNSIGNED} -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
    <string>/bin/sh</string>
    <string>-c</string>
    <string>${xml(shell)}</string>
  </array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ExitTimeOut</key><integer>${Math.ceil(stopMs / 1000)}</integer>
  <key>Umask</key><integer>63</integer>
</dict>
</plist>
`);
  return {
    file,
    text,
    start: [`launchctl bootstrap gui/$(id -u) ${shellWord(file)}`],
    end: [`launchctl bootout gui/$(id -u)/${LABEL}`],
    logs: `tail -f ${shellWord(logFile)}`,
    enabledLink: undefined,
  };
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

const xml = (text: string): string => text.replace(/[&<>]/g, (char) => ENTITIES[char] ?? char);
