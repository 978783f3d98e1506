import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceFile } from './source-files.js';

export interface ChecksumOptions {
  /** When it aborts, reading stops and the promise rejects. */
  readonly signal: AbortSignal;
  /** Milliseconds to spread the reading over, so that eyes can follow; a large file may take longer. */
  readonly pace: number;
  /** Hears how much has been read, from 0 to 1. */
  readonly onProgress: (fraction: number) => void;
}

const STEPS = 24;
const LARGEST_STEP = 1024 * 1024;

/** The SHA-256 of a file in hex, read in small steps. */
export async function checksum(file: SourceFile, { signal, pace, onProgress }: ChecksumOptions): Promise<string> {
  const begun = performance.now();
  const hash = createHash('sha256');
  const highWaterMark = Math.min(Math.max(Math.ceil(file.size / STEPS), 1), LARGEST_STEP);
  let read = 0;
  for await (const chunk of createReadStream(file.path, { highWaterMark, signal }) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    read += chunk.length;
    // A file may grow while it is read.
    const fraction = Math.min(read / Math.max(file.size, 1), 1);
    onProgress(fraction);
    const ahead = pace * fraction - (performance.now() - begun);
    // Timers are too coarse for less, and a file that is slow to read needs no pause.
    if (ahead >= 5) await sleep(ahead, undefined, { signal });
  }
  return hash.digest('hex');
}
