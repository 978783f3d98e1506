import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../support/paths.js';

export interface PackageJson {
  exports: Record<string, string | Record<string, string>>;
  dependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
}

export function readPackageJson(folder: string): PackageJson {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageJson;
}

/** What this package works with. */
export const { peerDependencies } = readPackageJson(projectRoot);

/** The oldest versions that this package says it works with, as npm takes them: `ioredis@5.4.0`. */
export function oldestPeers(names: string[]): string[] {
  return names.map((name) => {
    const oldest = /\d+\.\d+\.\d+/.exec(peerDependencies[name] ?? '')?.[0];
    if (oldest === undefined) throw new Error(`${name} is no peer dependency with a version`);
    return `${name}@${oldest}`;
  });
}
