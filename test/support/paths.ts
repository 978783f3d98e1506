import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that package.json stands in. */
export const projectRoot = fileURLToPath(new URL('../..', import.meta.url));

/** A path below the folder for what tests download and build: outside version control, safe to delete. */
export function cachePath(...parts: string[]): string {
  return join(projectRoot, '.cache', ...parts);
}

/** Whether a file is there and this user may execute it. */
export async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** Where the shell would find a command, or undefined. */
export async function findOnPath(command: string): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, command);
    if (folder !== '' && (await isExecutable(path))) return path;
  }
  return undefined;
}
