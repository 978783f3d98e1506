import { run } from '../support/run.js';

/** npm hands its own settings of the project down to all it runs; they must not reach an npm in another folder. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_(package|lifecycle|config_local_prefix)/.test(name)),
);

/** Runs npm in a folder, and returns what it wrote. All share npm's cache of downloads. */
export async function npm(cwd: string, args: string[]): Promise<string> {
  return run('npm', args, { cwd, env: environment, timeoutMs: 240_000 });
}

/** Installs what the folder's package.json asks for, and these packages. */
export async function npmInstall(cwd: string, ...packages: string[]): Promise<void> {
  await npm(cwd, ['install', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', ...packages]);
}

/** The versions of all installed copies of each package. Rejects when the tree is not what the packages ask for. */
export async function installedCopies(cwd: string, names: string[]): Promise<Record<string, string[]>> {
  // One line a folder, `path:name@version`.
  const lines = (await npm(cwd, ['ls', '--all', '--parseable', '--long', ...names])).trim().split('\n');
  const copies = lines.map((line) => line.split(':')[1] ?? '');
  return Object.fromEntries(
    names.map((name) => [
      name,
      copies.filter((copy) => copy.startsWith(`${name}@`)).map((copy) => copy.slice(name.length + 1)),
    ]),
  );
}
