import { findOnPath } from './paths.js';
import { debianRedis, type RedisBinary } from './redis-from-debian.js';

export type { RedisBinary } from './redis-from-debian.js';
export type RedisBinaryName = 'redis-server' | 'redis-sentinel' | 'redis-cli';

const found = new Map<RedisBinaryName, Promise<RedisBinary>>();

/**
 * Finds a program of Redis: on the PATH; else, on Debian and Ubuntu, in the distribution's own packages, which are
 * unpacked into the project's cache without installing anything.
 *
 * Start a sentinel as `<path> <config> --sentinel`: the path may be that of redis-server, which is the same program.
 */
export async function redisBinary(name: RedisBinaryName): Promise<RedisBinary> {
  let binary = found.get(name);
  if (binary === undefined) {
    binary = find(name);
    found.set(name, binary);
  }
  return binary;
}

async function find(name: RedisBinaryName): Promise<RedisBinary> {
  const program = name === 'redis-sentinel' ? 'redis-server' : name;
  const path = (await findOnPath(name)) ?? (await findOnPath(program));
  if (path !== undefined) return { path, env: process.env };
  try {
    return await debianRedis(program);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const line = `${name} is not on the PATH: install Redis 6.2 or newer (${firstLine(reason)})`;
    throw new Error(line, { cause: error });
  }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? text;
}
