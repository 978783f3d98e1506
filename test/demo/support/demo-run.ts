import { spawn, type ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasEnded, killChild, waitForEnd } from '../../support/child.js';
import { projectRoot } from '../../support/paths.js';

const COMMAND = [process.execPath, '--import', 'tsx', 'test/demo/main.ts'];

/** The demo as a process of its own, and what it has said so far. */
export class DemoRun implements AsyncDisposable {
  output = '';
  readonly #child: ChildProcess;

  private constructor(command: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    const inherited = { ...process.env };
    for (const name of ['REDIS_URL', 'NO_COLOR', 'FORCE_COLOR', 'CI']) Reflect.deleteProperty(inherited, name);
    this.#child = spawn(command, args, { cwd: projectRoot, env: { ...inherited, TERM: 'xterm-256color', ...env } });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
  }

  /** With its output going to a pipe. */
  static plain(args: readonly string[], env: NodeJS.ProcessEnv = {}): DemoRun {
    const [node = '', ...rest] = COMMAND;
    return new DemoRun(node, [...rest, ...args], env);
  }

  /** On a terminal of 80 × 24, as util-linux's `script` makes one; below a shell that waits, as npm starts it. */
  static onTerminal(args: readonly string[], env: NodeJS.ProcessEnv = {}): DemoRun {
    const words = [...COMMAND, ...args].map((word) => `'${word}'`).join(' ');
    return new DemoRun('script', ['-qec', `stty cols 80 rows 24; ${words}; exit $?`, '/dev/null'], {
      SHELL: '/bin/sh',
      ...env,
    });
  }

  get lines(): string[] {
    return this.output.split('\n');
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Keys, as a person at the terminal presses them. */
  press(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  async until(pattern: RegExp, timeoutMs = 20_000): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while (!pattern.test(this.output)) {
      if (hasEnded(this.#child) || performance.now() > deadline) {
        throw new Error(`The demo has not said ${String(pattern)}, but:\n${this.output}`);
      }
      await sleep(20);
    }
  }

  /** The exit code. */
  async end(timeoutMs: number): Promise<number | null> {
    if (!(await waitForEnd(this.#child, timeoutMs))) throw new Error(`The demo does not end:\n${this.output}`);
    return this.#child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await killChild(this.#child);
  }
}
