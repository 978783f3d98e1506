import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { cachePath, findOnPath, isExecutable, projectRoot } from './paths.js';
import { run } from './run.js';

const SOURCE = join(projectRoot, 'test', 'interop', 'asynq');
const BINARY = cachePath('asynq', 'asynqpeer');
const OLDEST_GO = [1, 24] as const;
const BUILD_TIMEOUT_MS = 5 * 60_000;

let built: Promise<string> | undefined;

/** Builds the program of test/interop/asynq when it is missing or older than its source; returns its path. */
export async function buildAsynqPeer(): Promise<string> {
  built ??= build();
  return built;
}

async function build(): Promise<string> {
  if (await isUpToDate()) return BINARY;
  const go = await requireGo();
  await mkdir(cachePath('asynq'), { recursive: true });
  // Renamed when complete: another test process may be running the old one, or building the same.
  const fresh = `${BINARY}.${String(process.pid)}`;
  try {
    await run(go, ['build', '-buildvcs=false', '-o', fresh, '.'], { cwd: SOURCE, timeoutMs: BUILD_TIMEOUT_MS });
    await rename(fresh, BINARY);
  } finally {
    await rm(fresh, { force: true });
  }
  return BINARY;
}

async function isUpToDate(): Promise<boolean> {
  if (!(await isExecutable(BINARY))) return false;
  const built = await stat(BINARY);
  for (const file of await readdir(SOURCE)) {
    const source = await stat(join(SOURCE, file));
    if (source.mtimeMs > built.mtimeMs) return false;
  }
  return true;
}

async function requireGo(): Promise<string> {
  const wanted = `install Go ${OLDEST_GO.join('.')} or newer from https://go.dev/dl to run the tests against asynq`;
  const go = await findOnPath('go');
  if (go === undefined) throw new Error(`go is not on the PATH: ${wanted}`);
  // Its own version, not that of a newer toolchain which it would fetch for this module.
  const version = await run(go, ['env', 'GOVERSION'], { cwd: SOURCE, env: { ...process.env, GOTOOLCHAIN: 'local' } });
  const [major = 0, minor = 0] = version.replace(/^go/, '').split('.').map(Number.parseFloat);
  if (major < OLDEST_GO[0] || (major === OLDEST_GO[0] && minor < OLDEST_GO[1])) {
    throw new Error(`${version.trim()} is too old: ${wanted}`);
  }
  return go;
}
