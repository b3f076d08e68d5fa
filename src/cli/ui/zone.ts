// In which zone a person reads times.
import { formatTime } from './style.ts';

/** The times that a person reads: UTC or those of this machine. */
export interface Zone {
  name: string;
  /** Milliseconds to add to a time, so that the same time in UTC reads as a local one. */
  offset(at: number): number;
}

export const UTC: Zone = { name: 'UTC', offset: () => 0 };

export const LOCAL: Zone = {
  name: 'local time',
  offset: (at) => -60_000 * new Date(at).getTimezoneOffset(),
};

/** `2026-11-21 14:30` */
export const shown = (at: number, zone: Zone): string => formatTime(at + zone.offset(at));
