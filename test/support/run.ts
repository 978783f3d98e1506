import { execFile } from 'node:child_process';
import { basename } from 'node:path';
import { promisify } from 'node:util';

export interface RunOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  timeoutMs?: number;
}

const execute = promisify(execFile);

/** Runs a command to its end and returns its stdout; rejects with what it wrote to stderr. */
export async function run(command: string, args: string[], options: RunOptions = {}): Promise<string> {
  const { timeoutMs = 30_000, ...rest } = options;
  try {
    const { stdout } = await execute(command, args, {
      ...rest,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: 256 * 1024 * 1024,
    });
    return stdout;
  } catch (error) {
    throw new Error(`${basename(command)} failed: ${reasonOf(error, timeoutMs)}`, { cause: error });
  }
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error);
  if ('killed' in error && error.killed === true) return `no end after ${String(timeoutMs)} ms`;
  const stderr = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim() : '';
  return stderr === '' ? error.message : stderr;
}
