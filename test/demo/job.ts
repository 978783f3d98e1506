import type { SourceFile, SourceFolder } from './source-files.js';

/** What all servers share: the files, and what has become of them. In an app of yours this is the database. */
export class Job {
  /** Longer than a Redis that restarts needs. */
  private static readonly PATIENCE_MS = 6000;

  readonly files: readonly SourceFile[];
  /** Resolves when every file has been dealt with. */
  readonly finished: Promise<void>;
  /** Resolves, with what was wrong, when the store could not be asked for leases for too long. */
  readonly storeGivenUp: Promise<Error>;

  readonly #settled = new Set<string>();
  #failed = 0;
  #bytes = 0;
  #outage: { readonly since: number; readonly cause: Error } | undefined;
  #finish: () => void = () => undefined;
  #giveUp: (cause: Error) => void = () => undefined;

  constructor({ files }: SourceFolder) {
    this.files = files;
    this.finished = new Promise((resolve) => (this.#finish = resolve));
    this.storeGivenUp = new Promise((resolve) => (this.#giveUp = resolve));
  }

  /** Files with a checksum. */
  get done(): number {
    return this.#settled.size - this.#failed;
  }

  /** Files that could not be read. */
  get failed(): number {
    return this.#failed;
  }

  /** Bytes of the files that are done. */
  get bytes(): number {
    return this.#bytes;
  }

  get isFinished(): boolean {
    return this.#settled.size === this.files.length;
  }

  has({ name }: SourceFile): boolean {
    return this.#settled.has(name);
  }

  complete(file: SourceFile): void {
    if (this.has(file)) return;
    this.#bytes += file.size;
    this.#settle(file);
  }

  fail(file: SourceFile): void {
    if (this.has(file)) return;
    this.#failed += 1;
    this.#settle(file);
  }

  /** The store has answered, whatever it said. */
  storeAnswered(): void {
    this.#outage = undefined;
  }

  storeFailed(cause: Error): void {
    const now = performance.now();
    const { since, cause: known } = this.#outage ?? { since: now, cause };
    // That nothing was answered in time says less than what kept it from being asked.
    this.#outage = { since, cause: cause.cause ? cause : known };
    if (now - since >= Job.PATIENCE_MS) this.#giveUp(this.#outage.cause);
  }

  #settle({ name }: SourceFile): void {
    this.#settled.add(name);
    if (this.isFinished) this.#finish();
  }
}
