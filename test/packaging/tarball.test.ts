import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../support/paths.js';
import { run } from '../support/run.js';
import { type PackageJson, readPackageJson } from './package-json.js';
import { packedTarball, type Tarball } from './tarball.js';

const KILOBYTE = 1000;
const PAPERS = ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'];

let tarball: Tarball;
let folder: string;
let packageJson: PackageJson;
/** The tarball's own copy for the tools, which may remove what they are given. */
let copy: string;

beforeAll(async () => {
  tarball = await packedTarball();
  folder = await mkdtemp(join(tmpdir(), 'tarball-'));
  copy = join(folder, basename(tarball.path));
  await cp(tarball.path, copy);
  await run('tar', ['-xzf', tarball.path, '-C', folder]);
  packageJson = readPackageJson(join(folder, 'package'));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const tool = (name: string, ...args: string[]): Promise<string> =>
  run(join(projectRoot, 'node_modules', '.bin', name), args, { cwd: folder, timeoutMs: 120_000 });

describe('the tarball', () => {
  it('is small', () => {
    expect(tarball.size, 'packed').toBeLessThan(150 * KILOBYTE);
    expect(tarball.unpackedSize, 'unpacked').toBeLessThan(300 * KILOBYTE);
  });

  it('holds the compiled code with its types, the papers, and nothing else', () => {
    const code = tarball.files.filter((path) => path.startsWith('dist/'));
    expect(tarball.files.filter((path) => !code.includes(path))).toEqual(PAPERS);
    const modules = code.filter((path) => path.endsWith('.js')).map((path) => path.slice(0, -'.js'.length));
    expect(code).toEqual(modules.flatMap((path) => [`${path}.d.ts`, `${path}.js`]).sort());
    expect(code.filter((path) => /[./](tests?|spec|mocks?|fixtures?)[./]/i.test(path))).toEqual([]);
  });

  it('holds what the exports name', () => {
    const targets = Object.values(packageJson.exports).flatMap((target) =>
      typeof target === 'string' ? [target] : Object.values(target),
    );
    for (const target of targets) expect(tarball.files).toContain(target.replace('./', ''));
  });

  it('declares what it imports, and depends on nothing else', async () => {
    const imported = new Set<string>();
    for (const path of tarball.files.filter((candidate) => /\.(js|d\.ts)$/.test(candidate))) {
      const code = await readFile(join(folder, 'package', path), 'utf8');
      for (const name of packagesIn(code)) imported.add(name);
    }
    const { dependencies, peerDependencies } = packageJson;
    const declared = Object.keys({ ...dependencies, ...peerDependencies });
    expect([...imported].filter((name) => !declared.includes(name))).toEqual([]);
    expect(Object.keys(dependencies).filter((name) => !imported.has(name))).toEqual([]);
  });

  it('passes publint', async () => {
    await expect(tool('publint', '--strict', copy)).resolves.toContain('All good!');
  });

  it('has types that are right wherever ES modules are', async () => {
    await expect(tool('attw', '--profile', 'esm-only', copy)).resolves.toContain('(ESM)');
  });
});

/** The packages that a module imports, Node's own left out. */
function packagesIn(code: string): string[] {
  const specifiers = [...code.matchAll(/(?:\bfrom |\bimport |\bimport\()["']([^."'][^"']*)["']/g)];
  const names = specifiers.map(([, specifier = '']) =>
    specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'),
  );
  return names.filter((name) => !name.startsWith('node:') && !builtinModules.includes(name));
}
