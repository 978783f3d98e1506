import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'vite';
import { cachePath, projectRoot } from '../../support/paths.js';

const ENTRY = join(projectRoot, 'test', 'faults', 'app', 'main.ts');

let built: Promise<string> | undefined;

/** Compiles the app, and the source of this package with it, into one file that Node starts quickly; returns its path. */
export function buildApp(): Promise<string> {
  built ??= compile();
  return built;
}

async function compile(): Promise<string> {
  const app = cachePath('faults', 'app.js');
  await mkdir(cachePath('faults'), { recursive: true });
  // Renamed when complete: another test process may be building, or starting, the same.
  const outDir = await mkdtemp(cachePath('faults', 'build-'));
  try {
    await build({
      configFile: false,
      root: projectRoot,
      logLevel: 'warn',
      oxc: { decorator: { legacy: true, emitDecoratorMetadata: true } },
      build: { ssr: ENTRY, outDir, target: 'node20' },
    });
    await rename(join(outDir, 'main.js'), app);
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
  return app;
}
