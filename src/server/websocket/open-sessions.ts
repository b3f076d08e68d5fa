// The WebSockets that are open: how many, and their end with the server's.
import type { Socket } from 'node:net';

export interface Session {
  /** The server ends: the session closes after what it answers now. */
  leave(): void;
}

export class OpenSessions {
  readonly #open = new Map<Socket, Session>();
  #onEmpty: () => void = () => undefined;
  #isLeaving = false;

  get count(): number {
    return this.#open.size;
  }

  add(socket: Socket, session: Session): void {
    this.#open.set(socket, session);
    socket.on('close', () => {
      this.#open.delete(socket);
      if (this.#open.size === 0) this.#onEmpty();
    });
    if (this.#isLeaving) session.leave();
  }

  leaveAll(): void {
    this.#isLeaving = true;
    for (const session of this.#open.values()) session.leave();
  }

  /** Resolves when none is open. */
  allLeft(): Promise<void> {
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
      if (this.#open.size === 0) resolve();
    });
  }

  /** Closes those whose client does not answer the close. */
  cutAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }
}
