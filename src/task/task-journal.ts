import { listOf } from '../list-of.js';
import type { Log } from '../log.js';
import type { Clock, ClockTimer } from '../time/clock.js';

/** Tells the operator what befell tasks: a line a second for each kind of event, however many tasks are concerned. */
export class TaskJournal {
  private static readonly GATHER_MS = 1000;

  readonly #entries = new Map<string, string[]>();
  #timer: ClockTimer | undefined;

  constructor(
    private readonly log: Log,
    private readonly clock: Clock,
  ) {}

  /** @param what such as `lost the lease`. */
  enter(what: string, taskId: string): void {
    const ids = this.#entries.get(what);
    if (ids) ids.push(taskId);
    else this.#entries.set(what, [taskId]);
    this.#timer ??= this.clock.setTimeout(() => {
      this.flush();
    }, TaskJournal.GATHER_MS);
  }

  /** Tells what has been gathered. */
  flush(): void {
    if (this.#timer) this.clock.clear(this.#timer);
    this.#timer = undefined;
    for (const [what, ids] of this.#entries) {
      this.log.warn(`${String(ids.length)} ${ids.length === 1 ? 'task' : 'tasks'} ${what}: ${listOf(ids)}`);
    }
    this.#entries.clear();
  }
}
