// The two forms of an answer: of a chat, and of a prompt. A line of a stream and a whole answer have the same members.
import type { JsonObject } from '../../../canonical/json.ts';

/** What one line says, or a whole answer. */
export interface Said {
  /** A text always: some readers demand it. */
  content: string;
  thinking?: string;
  calls?: JsonObject[];
}

export interface Form {
  members(said: Said): JsonObject;
}

export const chatForm: Form = {
  members: ({ content, thinking, calls }) => ({
    message: {
      role: 'assistant',
      content,
      ...(thinking !== undefined && { thinking }),
      ...(calls !== undefined && { tool_calls: calls }),
    },
  }),
};

export const generateForm: Form = {
  members: ({ content, thinking }) => ({ response: content, ...(thinking !== undefined && { thinking }) }),
};
