import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cachePath, findOnPath, isExecutable } from './paths.js';
import { run } from './run.js';

const MINUTES = 60_000;

export interface RedisBinary {
  path: string;
  /** The environment to run it in: this process's, with what its shared libraries need. */
  env: NodeJS.ProcessEnv;
}

/** Redis from the distribution's packages, unpacked below the project's cache: nothing is installed or started. */
export async function debianRedis(program: 'redis-server' | 'redis-cli'): Promise<RedisBinary> {
  const root = cachePath('redis');
  const unpacked = await tryOut(root, program);
  if (unpacked !== undefined) return unpacked;

  for (const command of ['apt-get', 'dpkg-deb']) {
    if ((await findOnPath(command)) === undefined) throw new Error(`there is no ${command} to fetch it with`);
  }
  console.error('Redis is not on the PATH: fetching the packages of this distribution into .cache/redis, once.');
  await mkdir(cachePath(), { recursive: true });
  // A folder of its own, renamed when complete: neither an interruption nor a second process can leave half of it.
  const workplace = await mkdtemp(cachePath('redis-'));
  try {
    await unpack(await download(workplace), join(workplace, 'root'));
    await rm(root, { recursive: true, force: true });
    await rename(join(workplace, 'root'), root);
  } finally {
    await rm(workplace, { recursive: true, force: true });
  }

  const fresh = await tryOut(root, program);
  if (fresh === undefined) throw new Error('the packages of this distribution do not run');
  return fresh;
}

/** The unpacked program, if it is there and runs: the folder may come from another system. */
async function tryOut(root: string, program: string): Promise<RedisBinary | undefined> {
  const path = join(root, 'usr', 'bin', program);
  if (!(await isExecutable(path))) return undefined;
  const libraries = [...(await libraryFolders(root)), process.env.LD_LIBRARY_PATH ?? ''].filter(Boolean);
  const env = { ...process.env, LD_LIBRARY_PATH: libraries.join(':') };
  return run(path, ['--version'], { env }).then(
    () => ({ path, env }),
    () => undefined,
  );
}

async function libraryFolders(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true });
  return [...new Set(entries.filter((entry) => /\.so(\.|$)/.test(entry)).map((entry) => join(root, dirname(entry))))];
}

/** Downloads Redis and those of its dependencies that this system lacks, through apt and its signatures. */
async function download(workplace: string): Promise<string[]> {
  const archives = join(workplace, 'cache', 'archives');
  await mkdir(join(workplace, 'state', 'lists', 'partial'), { recursive: true });
  await mkdir(join(archives, 'partial'), { recursive: true });
  const config = join(workplace, 'apt.conf');
  await writeFile(config, aptConfig(workplace));

  // Not the system's lists: they may be missing or too old, and only root can renew them. One broken third-party
  // source makes this fail although the others were read: then it matters only when the next step fails as well.
  const updated = run('apt-get', ['-c', config, '-qq', 'update'], { timeoutMs: 5 * MINUTES });
  await updated.catch(() => undefined);
  // --reinstall: the system may have it where this PATH does not reach.
  const install = ['-qq', '-y', '--download-only', '--no-install-recommends', '--reinstall', 'install'];
  const installed = run('apt-get', ['-c', config, ...install, 'redis-server', 'redis-tools'], {
    timeoutMs: 5 * MINUTES,
  });
  await installed.catch(() => undefined);
  const packages = (await readdir(archives)).filter((file) => file.endsWith('.deb'));
  if (packages.length > 0) {
    await installed;
    return packages.map((file) => join(archives, file));
  }
  // The first of them that failed says why.
  await updated;
  await installed;
  throw new Error('the distribution has no packages of it');
}

async function unpack(packages: string[], root: string): Promise<void> {
  await mkdir(root);
  for (const file of packages) await run('dpkg-deb', ['-x', file, root], { timeoutMs: MINUTES });
}

/** Settings that keep apt away from everything of the system's that it would write to or run. */
function aptConfig(workplace: string): string {
  return [
    `Dir::State "${join(workplace, 'state')}";`,
    `Dir::Cache "${join(workplace, 'cache')}";`,
    `Dir::Log "${workplace}";`,
    // What is installed is still read from the system's own status file, and not locked since it is not changed.
    'Debug::NoLocking "true";',
    // Root, too, downloads as itself: apt's own user may have no right to this folder.
    'APT::Sandbox::User "root";',
    // Hooks of the system, which have no business here.
    ...['APT::Update::Pre-Invoke', 'APT::Update::Post-Invoke', 'APT::Update::Post-Invoke-Success'].map(clear),
    ...['DPkg::Pre-Invoke', 'DPkg::Post-Invoke', 'DPkg::Pre-Install-Pkgs'].map(clear),
    // Descriptions and catalogues for app stores are larger than the rest together.
    'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";',
    'Acquire::IndexTargets::deb::CNF::DefaultEnabled "false";',
    'Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";',
    'Acquire::Languages "none";',
    // Otherwise an update without a network counts as a success.
    'APT::Update::Error-Mode "any";',
    '',
  ].join('\n');
}

function clear(option: string): string {
  return `#clear ${option};`;
}
