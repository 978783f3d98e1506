import { availableParallelism, hostname } from 'node:os';
import { v4 as uuid } from 'uuid';

/** What this module takes from the machine and the process it runs in. */
export interface HostProcess {
  readonly pid: number;
  /** May throw, where the system has no name. */
  hostname(): string;
  /** Number of processors that this process may use. */
  processors(): number;
  /** A new UUID, version 4. */
  uuid(): string;
  /** 0 ≤ x < 1. */
  random(): number;
  /** Whether anybody handles this signal. */
  handles(signal: NodeJS.Signals): boolean;
}

export const thisProcess: HostProcess = {
  pid: process.pid,
  hostname,
  processors: availableParallelism,
  uuid,
  random: Math.random,
  handles: (signal) => process.listenerCount(signal) > 0,
};
