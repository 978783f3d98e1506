import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cachePath, projectRoot } from '../support/paths.js';
import { npm } from './npm.js';

export interface Tarball {
  path: string;
  /** What it holds, relative to the package. */
  files: string[];
  /** In bytes. */
  size: number;
  unpackedSize: number;
}

interface PackReport {
  filename: string;
  size: number;
  unpackedSize: number;
  files: { path: string }[];
}

/** All that decides what is in the tarball. */
const SOURCES = [
  'src',
  'package.json',
  'package-lock.json',
  'nest-cli.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
];

const folder = cachePath('packaging', 'tarball');
const reportPath = join(folder, 'pack.json');

/**
 * Builds and packs this package, as a release does. Test files run in processes of their own: the second one takes
 * what the first has packed, unless a source is newer.
 */
export async function packedTarball(): Promise<Tarball> {
  const packedAt = await modifiedAt(reportPath);
  if (packedAt === undefined || packedAt <= (await newestSource())) await pack();
  const { filename, files, size, unpackedSize } = JSON.parse(await readFile(reportPath, 'utf8')) as PackReport;
  return { path: join(folder, filename), files: files.map(({ path }) => path).sort(), size, unpackedSize };
}

async function pack(): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await npm(projectRoot, ['run', '-s', 'build']);
  const output = await npm(projectRoot, ['pack', '--json', '--pack-destination', folder]);
  // A list in npm 11, by name in others.
  const [report] = Object.values(JSON.parse(output) as PackReport[] | Record<string, PackReport>);
  await writeFile(reportPath, JSON.stringify(report));
}

/** Folders count too: they tell of files that are gone. */
async function newestSource(): Promise<number> {
  const inside = await readdir(join(projectRoot, 'src'), { recursive: true });
  const paths = [...SOURCES, ...inside.map((path) => join('src', path))];
  const times = await Promise.all(paths.map((path) => modifiedAt(join(projectRoot, path))));
  return Math.max(...times.map((time) => time ?? 0));
}

/** Undefined when there is no such file. */
async function modifiedAt(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => undefined,
  );
}
