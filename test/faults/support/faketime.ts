import { access, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Steps the wall clock of one process while it runs; its monotonic clock goes on as the machine's. */
export class FakeWallClock {
  private constructor(
    private readonly file: string,
    /** What the process is to be started with. */
    readonly env: NodeJS.ProcessEnv,
  ) {}

  /** @param dir where it keeps its file. */
  static async in(dir: string): Promise<FakeWallClock> {
    const file = join(dir, 'wall-clock');
    const clock = new FakeWallClock(file, {
      LD_PRELOAD: await findLibrary(),
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      FAKETIME_NO_CACHE: '1',
    });
    await clock.step(0);
    return clock;
  }

  /** @param seconds how far the clock is ahead of the machine's from now on. */
  async step(seconds: number): Promise<void> {
    // Renamed when complete: the process may read it at any moment.
    const next = `${this.file}.next`;
    await writeFile(next, `${seconds < 0 ? '' : '+'}${String(seconds)}\n`);
    await rename(next, this.file);
  }
}

/** Debian has it in a folder that is named after the machine's architecture. */
async function findLibrary(): Promise<string> {
  const systems = ['/usr/lib', '/usr/lib64', '/usr/local/lib'];
  const folders = await Promise.all(systems.map(subfolders));
  for (const folder of [...systems, ...folders.flat()]) {
    const library = join(folder, 'faketime', 'libfaketime.so.1');
    if (await exists(library)) return library;
  }
  throw new Error(
    'libfaketime is not installed: "apt-get install libfaketime", to test what a step of the clock does to us',
  );
}

async function subfolders(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
