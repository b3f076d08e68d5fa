// The control socket of a gateway: what the gateway answers, and what its process answers for it.
import type { App } from '../../../../app/app.ts';
import type { Config } from '../../../../config/config.ts';
import type { ControlHandler, GatewayStatus } from '../../../../control/calls.ts';
import type { ControlServer } from '../../../../control/server.ts';
import type { Logger } from '../../../../log.ts';
import { version, type Context } from '../../../context.ts';
import { dataFolderOf } from '../../../running.ts';

/** A gateway, of one process or of several. */
export interface Controlled {
  controlHandlers: readonly ControlHandler[];
  status(): ReturnType<App['status']> | Promise<ReturnType<App['status']>>;
  /** Rejects with ControlError if the configuration is not valid. Missing: `gateway reload` does not reach this gateway. */
  reload?(): Promise<void>;
}

interface Parts {
  config: Config;
  logger: Logger;
  /** The file of the log; null: stderr. */
  logFile: string | null;
  /** Ends the gateway as a first SIGTERM does. Missing: it ends with its tool. */
  end?: () => void;
  /** The tool of `gateway run` that the gateway ends with. */
  tool?: string;
  context: Context;
}

/** The gateway also serves without its control socket: then this resolves to undefined, and the log has the reason. */
export async function openControl(app: Controlled, parts: Parts): Promise<ControlServer | undefined> {
  const { config, logger, end, context } = parts;
  const { startControl } = await import('../../../../control/server.ts');
  const { networkName } = await import('../../../../control/place.ts');
  const status = async (): Promise<GatewayStatus> => ({
    pid: process.pid,
    version: version(),
    ...(await app.status()),
    network: networkName(),
    log: parts.logFile,
    ...(parts.tool !== undefined && { tool: parts.tool }),
  });
  const handlers: ControlHandler[] = [
    ...app.controlHandlers,
    { method: 'GET', path: '/status', handle: status },
  ];
  if (end !== undefined) {
    const handle = (): Promise<GatewayStatus> => {
      // After the reply.
      setImmediate(end);
      return status();
    };
    handlers.push({ method: 'POST', path: '/stop', handle });
  }
  if (app.reload !== undefined) {
    const handle = (): Promise<GatewayStatus> | undefined => app.reload?.().then(status);
    handlers.push({ method: 'POST', path: '/reload', handle });
  }
  try {
    const dataFolder = await dataFolderOf(config, context.env);
    return await startControl({ dataFolder, env: context.env, handlers, log: logger });
  } catch (error) {
    logger.warn('no control socket: commands like `gateway status` cannot reach this gateway', {
      reason: (error as Error).message,
    });
    return undefined;
  }
}
