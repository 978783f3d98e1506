import type { ServerView, Snapshot, TaskView } from './snapshot.js';
import { span, type Line, type Span, type Style } from './span.js';
import { bar, bytes, clean, counted, left, leftPath, right, seconds, shortId } from './text.js';

export interface FrameOptions {
  readonly columns: number;
  readonly rows: number;
  readonly styleOf: (server: string) => Style | undefined;
}

const WIDEST = 120;
const BLANK: Line = [];

/** The whole picture, no more than `rows` lines; what is left of them goes to the log. */
export function frame(snapshot: Snapshot, log: readonly Line[], options: FrameOptions): Line[] {
  const width = Math.min(options.columns, WIDEST);
  const above = [
    titleLine(snapshot, width),
    BLANK,
    ...serverTable(snapshot, width, options.styleOf),
    BLANK,
    ...taskTable(snapshot, width, options.styleOf),
    BLANK,
  ];
  const below = [storeLine(snapshot), progressLine(snapshot), hintLine(snapshot)];
  const room = Math.max(options.rows - above.length - below.length, 0);
  const shown = room === 0 ? [] : log.slice(-room);
  const padding = Array.from({ length: room - shown.length }, () => BLANK);
  return [...above.slice(0, Math.max(options.rows - below.length, 0)), ...shown, ...padding, ...below];
}

function titleLine({ title, elapsed }: Snapshot, width: number): Line {
  const time = seconds(elapsed);
  return [span(left(clean(title), width - time.length - 1), 'bold'), span(` ${time}`, 'dim')];
}

function serverTable({ servers }: Snapshot, width: number, styleOf: FrameOptions['styleOf']): Line[] {
  const name = width - 48;
  const heading = `${left('SERVER', name)}  STATUS    TASKS  LAST BEAT  BEATS  DONE  HELD*`;
  return [[span(heading, 'dim')], ...servers.map((server) => serverLine(server, name, styleOf(server.id)))];
}

function serverLine(server: ServerView, name: number, style: Style | undefined): Line {
  const { id, host, pid, status, active, concurrency, sinceBeat, beats, done, held } = server;
  const tail = `:${String(pid)}:${shortId(id)}`;
  const isGone = status === 'cleared' || status === 'ended';
  const age = isGone || sinceBeat === undefined ? '–' : seconds(sinceBeat);
  return [
    span(leftPath(clean(host) + tail, name), style),
    span('  '),
    span(left(status, 8), STATUS_STYLES[status]),
    span(right(`${String(active)}/${String(concurrency)}`, 7)),
    span(right(age, 11), server.healthy || isGone ? undefined : 'red'),
    span(right(String(beats), 7)),
    span(right(String(done), 6)),
    span(right(String(held), 7)),
  ];
}

const STATUS_STYLES: Readonly<Record<string, Style>> = {
  active: 'green',
  draining: 'yellow',
  cleared: 'dim',
  ended: 'red',
};

function taskTable(snapshot: Snapshot, width: number, styleOf: FrameOptions['styleOf']): Line[] {
  const { servers, tasks, slotsPerServer } = snapshot;
  const name = width - 46;
  const heading = `SERVER    ${left('TASK', name)}  ELAPSED  LEASE  PROGRESS`;
  const lines: Line[] = [[span(heading, 'dim')]];
  for (const { id: server } of servers) {
    for (let slot = 0; slot < slotsPerServer; slot++) {
      const task = tasks.find((other) => other.server === server && other.slot === slot);
      const owner = span(`${shortId(server)}  `, styleOf(server));
      lines.push([owner, ...(task ? taskCells(task, name) : [span('–', 'dim')])]);
    }
  }
  return lines;
}

function taskCells({ id, elapsed, lease, overdue, fraction }: TaskView, name: number): Span[] {
  return [
    span(leftPath(clean(id), name)),
    span(right(seconds(elapsed), 9)),
    span(right(overdue || lease === undefined ? 'lost' : seconds(Math.max(lease, 0)), 7), leaseStyle(lease, overdue)),
    span('  '),
    span(bar(fraction, 18), 'blue'),
  ];
}

function leaseStyle(lease: number | undefined, overdue: boolean): Style {
  if (overdue || lease === undefined) return 'red';
  return lease > 2000 ? 'green' : 'yellow';
}

function storeLine({ store: { name, holds } }: Snapshot): Line {
  const label = span('Store     ', 'dim');
  if (!holds) return [label, span(`${name} does not answer`, 'red')];
  const { servers, workers, leases } = holds;
  const what = [counted(servers, 'server'), counted(workers, 'worker'), counted(leases, 'lease')];
  const isEmpty = servers + workers + leases === 0;
  return [
    label,
    span(`${what.join(', ')}${isEmpty ? ': empty' : ''}`, isEmpty ? 'green' : undefined),
    span(` · ${name}`, 'dim'),
  ];
}

function progressLine({ progress: { done, failed, total, bytes: hashed } }: Snapshot): Line {
  const failures = failed > 0 ? span(` · ${String(failed)} failed`, 'red') : span('');
  return [
    span('Progress  ', 'dim'),
    span(bar((done + failed) / total, 24), 'green'),
    span(`  ${String(done)} of ${counted(total, 'file')} · ${bytes(hashed)} hashed`),
    failures,
  ];
}

function hintLine({ phase, tasks, result }: Snapshot): Line {
  if (phase === 'running') {
    return [span('Ctrl-C drains and clears', 'bold'), span('     * left to the server that holds the lease', 'dim')];
  }
  if (phase === 'draining') return [span(`Draining… ${counted(tasks.length, 'task')} left`, 'yellow')];
  return [span(clean(result ?? ''), 'bold')];
}
