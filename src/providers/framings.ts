// How the frames of a stream stand in the bytes of a reply, by the name that a protocol gives: another framing is a row more.
import type { FramingName } from '../protocols/interface/protocol.ts';
import { endedFrame, isWholeFrame } from '../protocols/sse/frame.ts';
import { createSplitter, type Frame, type Splitter } from '../protocols/sse/splitter.ts';

export interface Framing {
  /** Of the `accept` header of a request for a stream. */
  mediaType: string;
  /** Whether a reply of this content type is a stream. */
  isStream(contentType: string): boolean;
  /** `maxFrame` in bytes. */
  createSplitter(options: { maxFrame: number }): Splitter;
  /** Whether a last frame without its end is complete. */
  isWhole(frame: Frame): boolean;
  /** Such a frame with its end. */
  ended(frame: Frame): Frame;
}

export const framings: Readonly<Record<FramingName, Framing>> = {
  sse: {
    mediaType: 'text/event-stream',
    isStream: (contentType) => contentType.includes('event-stream'),
    createSplitter,
    isWhole: isWholeFrame,
    ended: endedFrame,
  },
};
