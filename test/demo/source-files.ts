import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join, relative, resolve, sep } from 'node:path';
import { UserError } from './user-error.js';

/** A file whose checksum is to be made. */
export interface SourceFile {
  /** Relative to the folder, with slashes: the task's id. */
  readonly name: string;
  readonly path: string;
  readonly size: number;
}

export interface SourceFolder {
  /** As shown to people: without what it lies in. */
  readonly name: string;
  readonly files: readonly SourceFile[];
  /** Whether there are more files than were taken. */
  readonly isCut: boolean;
}

/** As many as a person cares to follow; the rest of a large folder is left alone. */
const MOST_FILES = 64;

/**
 * @param given the folder as somebody gave it: npm runs scripts in the project's folder, wherever it was called.
 * @throws {UserError} when there is nothing to work on.
 */
export async function readSourceFolder(given: string): Promise<SourceFolder> {
  const folder = resolve(process.env['INIT_CWD'] ?? '', given);
  const name = basename(folder) || folder;
  const found = await stat(folder).catch((error: unknown) => {
    throw new UserError(`Cannot read "${given}": ${reasonOf(error)}.`);
  });
  if (!found.isDirectory()) throw new UserError(`"${given}" is not a folder: give a folder with files in it.`);

  const files: SourceFile[] = [];
  for await (const path of walk(folder)) {
    const size = (await stat(path).catch(() => undefined))?.size;
    if (size === undefined) continue;
    if (files.length === MOST_FILES) return { name, files, isCut: true };
    files.push({ name: relative(folder, path).split(sep).join('/'), path, size });
  }
  if (files.length === 0) throw new UserError(`There are no files in "${given}": give a folder with files in it.`);
  return { name, files, isCut: false };
}

/** All regular files, in order; links are not followed, so that it ends. */
async function* walk(folder: string): AsyncGenerator<string> {
  // A folder inside that may not be read is none of the demo's business.
  const entries = await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => []);
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* walk(path);
    else if (entry.isFile()) yield path;
  }
}

function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'there is no such folder';
  return code === 'EACCES' ? 'permission denied' : String(error);
}
