import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, hasEnded, killChild, spawnTied, waitForEnd } from '../support/child.js';

/** A line that an app has written: see report() in apps/common. */
export interface Report {
  event: string;
  [detail: string]: unknown;
}

/** A compiled app that runs. */
export class AppProcess {
  readonly reports: Report[] = [];
  /** What it wrote beside its reports: warnings, mostly. */
  readonly otherOutput: string[] = [];
  private readonly child: Child;

  constructor(folder: string, script: string, env: Record<string, string> = {}) {
    // Nothing of the test runner's own environment.
    const { PATH, HOME, TMPDIR } = process.env;
    this.child = spawnTied(process.execPath, [script], { cwd: folder, env: { PATH, HOME, TMPDIR, ...env } });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      let rest = '';
      stream.setEncoding('utf8').on('data', (text: string) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) this.read(line);
      });
    }
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** The names of the hooks that ran, in order. */
  get hooks(): unknown[] {
    return this.reports.filter(({ event }) => event === 'hook').map(({ name }) => name);
  }

  /** Waits for a report. */
  async reported(event: string, timeoutMs = 20_000): Promise<Report> {
    const deadline = performance.now() + timeoutMs;
    while (performance.now() < deadline) {
      const report = this.reports.find((candidate) => candidate.event === event);
      if (report !== undefined) return report;
      if (hasEnded(this.child)) break;
      await sleep(20);
    }
    throw new Error(`no "${event}" from the app, but:\n${this.transcript()}`);
  }

  /** Waits until it ends by itself, and returns its exit code. */
  async ended(timeoutMs = 20_000): Promise<number | null> {
    if (!(await waitForEnd(this.child, timeoutMs))) throw new Error(`the app does not end:\n${this.transcript()}`);
    return this.child.exitCode;
  }

  /** Asks it to end, waits, and returns how many milliseconds that took. */
  async terminate(timeoutMs: number): Promise<number> {
    const start = performance.now();
    this.child.kill('SIGTERM');
    await this.ended(timeoutMs);
    return performance.now() - start;
  }

  async stop(): Promise<void> {
    await killChild(this.child);
  }

  private read(line: string): void {
    if (line.startsWith('{"event":')) this.reports.push(JSON.parse(line) as Report);
    else if (line !== '') this.otherOutput.push(line);
  }

  private transcript(): string {
    return [...this.reports.map((report) => JSON.stringify(report)), ...this.otherOutput].join('\n');
  }
}
