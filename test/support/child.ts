import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ChildOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
}

/** A child process whose output is read and whose input is empty. */
export type Child = ChildProcessByStdio<null, Readable, Readable>;

/**
 * Starts a process that does not outlive this one, however this one ends: a handler of 'exit' would not run on
 * SIGKILL or on the default SIGTERM. A small shell holds the end of a pipe; when the pipe closes with this process,
 * it kills the child, also one that is stopped.
 */
export function spawnTied(command: string, args: string[], options: ChildOptions = {}): Child {
  const child: Child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  if (child.pid === undefined) return child;

  const script = `trap '' INT TERM HUP; read -r _; kill -KILL ${String(child.pid)} 2>/dev/null`;
  const guard = spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'ignore', 'ignore'] });
  guard.unref();
  // The child is gone: the guard goes at once, before its pid can belong to someone else.
  child.once('exit', () => guard.kill('SIGKILL'));
  return child;
}

export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Waits for the end of a process; false when it still runs after that time. */
export async function waitForEnd(child: ChildProcess, timeoutMs: number): Promise<boolean> {
  if (hasEnded(child)) return true;
  const timer = new AbortController();
  const ended = new Promise<true>((resolve) => {
    child.once('exit', () => {
      resolve(true);
    });
  });
  const late = sleep(timeoutMs, false, { signal: timer.signal }).catch(() => false);
  try {
    return await Promise.race([ended, late]);
  } finally {
    timer.abort();
  }
}

/** SIGTERM, and SIGKILL when the process still runs after the grace time. Returns when it has ended. */
export async function endChild(child: ChildProcess, graceMs: number): Promise<void> {
  if (hasEnded(child)) return;
  child.kill('SIGTERM');
  if (!(await waitForEnd(child, graceMs))) await killChild(child);
}

/** SIGKILL. Returns when the process has ended. */
export async function killChild(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  child.kill('SIGKILL');
  if (!(await waitForEnd(child, 10_000))) throw new Error(`process ${String(child.pid)} does not end`);
}
