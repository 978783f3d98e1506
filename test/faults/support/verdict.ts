import type { AppProcess } from './app-process.js';
import type { Rig, RigTask } from './rig.js';
import { TIMING } from './timing.js';

/** What a fault did. Times in milliseconds. */
export interface Verdict {
  readonly what: string;
  readonly lasted: number;
  /** How long until beats were back; undefined when the app was to end. */
  readonly back: number | undefined;
  /** Leases lost that should not have been, and why we think so. */
  readonly wronglyLost: readonly string[];
  /** The longest time for which a lease was believed though it was gone. */
  readonly believed: number;
  /** How late each worker that had to be told was told. */
  readonly toldLate: readonly number[];
  /** Workers that had to be told, and were not, or more than once; and those that were told more than they should. */
  readonly mistold: readonly string[];
  /** How many servers and workers a reader saw after the app had been dead for its ttl. */
  readonly deadSeen: number;
  readonly unhandled: readonly string[];
  readonly logLines: readonly string[];
}

/** Between the readings of two clocks. */
const CLOCK_READING_MS = 5;

type TaskVerdict = Pick<Verdict, 'wronglyLost' | 'believed' | 'toldLate' | 'mistold'>;

/** Weighs what the app has told of its tasks against what is known of them from outside. */
export function judgeTasks({ tasks, app }: Rig): TaskVerdict {
  const verdicts = tasks
    .filter(({ fate }) => fate !== 'abandoned')
    .map((task) => (task.fate === 'kept' ? judgeKept(task, app) : judgeGone(task, app)));
  return {
    wronglyLost: verdicts.flatMap(({ wronglyLost }) => wronglyLost),
    believed: Math.max(0, ...verdicts.map(({ believed }) => believed)),
    toldLate: verdicts.flatMap(({ toldLate }) => toldLate),
    mistold: verdicts.flatMap(({ mistold }) => mistold),
  };
}

function judgeKept({ id }: RigTask, app: AppProcess): TaskVerdict {
  const ended = app.told('ended').filter((report) => report.id === id);
  const words = [
    ...app.told('told').filter((report) => report.id === id),
    ...app.told('lost').filter((report) => report.id === id),
    ...ended.filter(({ outcome }) => outcome !== 'done'),
  ].map((report) => `${id}: ${JSON.stringify(report)}`);
  if (ended.length !== 1) words.push(`${id}: ended ${String(ended.length)} times`);
  return { wronglyLost: words, believed: 0, toldLate: [], mistold: [] };
}

function judgeGone({ id, fate, goneAt }: RigTask, app: AppProcess): TaskVerdict {
  const told = app.told('told').filter((report) => report.id === id);
  const lost = app.told('lost').filter((report) => report.id === id);
  const ended = app.told('ended').filter((report) => report.id === id);
  const mistold = [];
  if (told.length !== 1 || lost.length !== 1) {
    mistold.push(`${id}: told ${String(told.length)} times, event ${String(lost.length)} times`);
  }
  if (ended.length !== 1 || ended[0]?.outcome !== 'E_LEASE_LOST') mistold.push(`${id}: ended ${JSON.stringify(ended)}`);
  const toldAt = told[0]?.at;
  const lastValidAt = ended[0]?.lastValidAt ?? 0;
  if (toldAt === undefined || goneAt === undefined) {
    return { wronglyLost: [], believed: 0, toldLate: [], mistold: [...mistold, `${id}: never gone, or never told`] };
  }
  // A deadline is counted from before the question, which may have been answered as late as its budget allows.
  const isEarly = toldAt < goneAt - TIMING.beatTimeout;
  if (fate === 'runs out' && lastValidAt > goneAt + CLOCK_READING_MS) {
    mistold.push(`${id}: valid ${String(lastValidAt - goneAt)} ms after the store had it run out`);
  }
  // Whoever was taken away is told when it is known: when the lease has said for the first time that it is not valid.
  const due = fate === 'runs out' ? goneAt : lastValidAt;
  return {
    wronglyLost: isEarly ? [`${id}: told ${String(Math.round(goneAt - toldAt))} ms before its lease was gone`] : [],
    believed: Math.max(0, lastValidAt - goneAt),
    toldLate: [Math.max(0, toldAt - app.freeFrom(due))],
    mistold,
  };
}
