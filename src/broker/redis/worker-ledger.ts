import type { WorkerInfo } from '../../format/records.js';

/** What has to change in the store so that it holds just the workers that there are. */
export interface WorkerChanges {
  /** Whether the store's copy is to be written from nothing. */
  readonly whole: boolean;
  /** Fields to remove; none when the whole is written. */
  readonly removed: readonly string[];
  readonly added: readonly (readonly [field: string, worker: WorkerInfo])[];
  /** How many workers the store must count afterwards. */
  readonly count: number;
}

/**
 * What the store was last heard to hold of a server's workers. As long as it is trusted, only changes travel; after
 * anything that casts doubt on it the whole is written again.
 */
export class WorkerLedger {
  #acknowledged = new Map<WorkerInfo, string>();
  #trusted = false;
  #lastField = 0;

  changesTo(workers: readonly WorkerInfo[]): WorkerChanges {
    const whole = !this.#trusted;
    if (whole) this.#acknowledged = new Map();
    const left = new Map(this.#acknowledged);
    const added: [string, WorkerInfo][] = [];
    for (const worker of workers) {
      if (!left.delete(worker)) added.push([this.#newField(), worker]);
    }
    return { whole, removed: [...left.values()], added, count: workers.length };
  }

  /** The store has taken the changes. */
  acknowledge({ removed, added }: WorkerChanges): void {
    const gone = new Set(removed);
    for (const [worker, field] of this.#acknowledged) if (gone.has(field)) this.#acknowledged.delete(worker);
    for (const [field, worker] of added) this.#acknowledged.set(worker, field);
    this.#trusted = true;
  }

  /** What the store holds is no longer known. */
  distrust(): void {
    this.#trusted = false;
  }

  /** Readers take the values alone, so a field only has to be short and never used for two runs. */
  #newField(): string {
    this.#lastField += 1;
    return this.#lastField.toString(36);
  }
}
