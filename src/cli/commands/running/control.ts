// The control socket of `gateway serve`: what the process itself adds to the handlers of the gateway.
import type { App } from '../../../app/app.ts';
import type { Config } from '../../../config/config.ts';
import type { ControlHandler } from '../../../control/handler.ts';
import type { ControlServer } from '../../../control/server.ts';
import type { GatewayStatus } from '../../../control/status.ts';
import type { Logger } from '../../../log.ts';
import { version, type Context } from '../../context.ts';
import { dataFolderOf } from '../../running.ts';

/** A gateway, of one process or of several. */
export interface Controlled {
  controlHandlers: readonly ControlHandler[];
  status(): ReturnType<App['status']> | Promise<ReturnType<App['status']>>;
  /** Rejects with ControlError if the configuration is not valid. */
  reload(): Promise<void>;
}

/** The gateway serves without its control socket, too: then this resolves to undefined, and the log has the reason. */
export async function openControl(
  app: Controlled,
  parts: {
    config: Config;
    logger: Logger;
    /** The file of the log; null: stderr. */
    logFile: string | null;
    /** Ends the gateway as a first SIGTERM does. */
    end: () => void;
    context: Context;
  },
): Promise<ControlServer | undefined> {
  const { config, logger, logFile, end, context } = parts;
  const { startControl } = await import('../../../control/server.ts');
  const status = async (): Promise<GatewayStatus> => ({
    pid: process.pid,
    version: version(),
    ...(await app.status()),
    log: logFile,
  });
  const handlers: ControlHandler[] = [
    ...app.controlHandlers,
    { method: 'GET', path: '/status', handle: status },
    {
      method: 'POST',
      path: '/stop',
      handle() {
        // After the reply.
        setImmediate(end);
        return status();
      },
    },
    {
      method: 'POST',
      path: '/reload',
      async handle() {
        await app.reload();
        return status();
      },
    },
  ];
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
