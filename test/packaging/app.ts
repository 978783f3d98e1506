import { cp, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../support/run.js';
import { npmInstall } from './npm.js';
import { packedTarball } from './tarball.js';

const apps = fileURLToPath(new URL('apps', import.meta.url));

/** An app of its own, outside this project: it sees nothing of it but the tarball. */
export class App {
  private constructor(readonly folder: string) {}

  /** Copies one of the apps, and what they have in common; installs nothing. */
  static async copy(name: string): Promise<App> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), `${name}-`)));
    await cp(join(apps, name), folder, { recursive: true });
    await cp(join(apps, 'common'), join(folder, 'src', 'common'), { recursive: true });
    return new App(folder);
  }

  /** Installs the tarball, what the app asks for, and these packages instead of what it asks for. */
  async install(packages: readonly string[]): Promise<void> {
    const { path } = await packedTarball();
    await npmInstall(this.folder, path, ...packages);
  }

  /**
   * Checks all types, those of its packages too, and compiles. Returns what the compiler complains of, but for what is
   * wrong within ioredis itself: 6.1.0 imports a package without types.
   */
  async compile(): Promise<string> {
    await rm(join(this.folder, 'dist'), { recursive: true, force: true });
    try {
      return await run(process.execPath, ['node_modules/typescript/bin/tsc', '--project', '.'], {
        cwd: this.folder,
        timeoutMs: 120_000,
      });
    } catch (error) {
      // The compiler complains on stdout.
      const { cause } = error as { cause?: { stdout?: string } };
      if (cause?.stdout) return cause.stdout.replaceAll(/^node_modules\/ioredis\/.*\n(?: .*\n)*/gm, '');
      throw error;
    }
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
