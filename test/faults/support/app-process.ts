import { type Child, hasEnded, killChild, spawnTied, waitForEnd } from '../../support/child.js';
import { moment } from '../../support/moments.js';
import { until } from '../../support/wait.js';
import { SETUP_VARIABLE, type AppSetup, type Command, type Report } from '../app/protocol.js';
import { buildApp } from './app-build.js';
import { ControlPort } from './control-port.js';

type Kind = Report['is'];
export type ReportOf<K extends Kind> = Extract<Report, { is: K }>;

/** A Nest app with the heartbeat in it, in a process of its own; it ends with the test process. */
export class AppProcess {
  /** What it told, oldest first. */
  readonly reports: Report[] = [];
  /** The lines of its log, and whatever else it printed, with the moments at which they came. */
  readonly log: { readonly at: number; readonly text: string }[] = [];
  /** When it ended. */
  endedAt: number | undefined;

  private constructor(
    private readonly child: Child,
    private readonly control: ControlPort,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        for (const line of text.split('\n').filter(Boolean)) this.log.push({ at: moment(), text: line });
      });
    }
    child.once('exit', () => {
      this.endedAt = moment();
    });
  }

  /** Starts an app, and waits until it is up; its first beat may still be under way. */
  static async start(setup: Omit<AppSetup, 'control'>, env: NodeJS.ProcessEnv = {}): Promise<AppProcess> {
    const file = await buildApp();
    let hear: (report: Report) => void = () => undefined;
    const control = await ControlPort.open((report) => {
      hear(report);
    });
    const variables = { [SETUP_VARIABLE]: JSON.stringify({ ...setup, control: control.port } satisfies AppSetup) };
    const child = spawnTied(process.execPath, [file], { env: { ...process.env, ...env, ...variables } });
    const app = new AppProcess(child, control);
    hear = (report) => app.reports.push(report);
    await app.first('up', 30_000);
    return app;
  }

  get signal(): NodeJS.Signals | null {
    return this.child.signalCode;
  }

  get exitCode(): number | null {
    return this.child.exitCode;
  }

  told<K extends Kind>(kind: K, since = 0): ReportOf<K>[] {
    return this.reports.filter((report): report is ReportOf<K> => report.is === kind && report.at >= since);
  }

  /** The first report of a kind, once it is there. */
  async first<K extends Kind>(kind: K, ms = 10_000, since = 0): Promise<ReportOf<K>> {
    const printed = (): string => this.log.map(({ text }) => text).join('\n');
    await until(`the app reports "${kind}"`, () => this.told(kind, since).length > 0 || hasEnded(this.child), ms);
    const [report] = this.told(kind, since);
    if (!report) throw new Error(`the app ended without reporting "${kind}":\n${printed()}`);
    return report;
  }

  send(command: Command): void {
    this.control.send(command);
  }

  kill(signal: 'SIGTERM' | 'SIGINT' | 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
    this.child.kill(signal);
  }

  ended(ms: number): Promise<boolean> {
    return waitForEnd(this.child, ms);
  }

  /** Ends it the hard way, if it still runs. */
  async stop(): Promise<void> {
    await killChild(this.child);
    this.control.close();
  }

  /** When the event loop was first free at or after a moment. */
  freeFrom(at: number): number {
    const stall = this.told('stalled').find(({ from, at: end }) => from < at && at < end);
    return stall?.at ?? at;
  }
}
