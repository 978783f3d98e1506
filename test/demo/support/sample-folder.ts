import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface SampleFolder {
  readonly path: string;
  /** SHA-256 in hex, by name. */
  readonly checksums: ReadonlyMap<string, string>;
}

/** A temporary folder with files of known content, some of them in a folder inside. */
export async function makeSampleFolder(count: number, moreNames: readonly string[] = []): Promise<SampleFolder> {
  const path = await mkdtemp(join(tmpdir(), 'demo-test-'));
  const names = Array.from({ length: count }, (_, n) => `${n % 3 === 0 ? 'inner/' : ''}file-${String(n)}.txt`);
  const checksums = new Map<string, string>();
  for (const name of [...names, ...moreNames]) {
    const content = `content of ${name}\n`.repeat(40);
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), content);
    checksums.set(name, createHash('sha256').update(content).digest('hex'));
  }
  return { path, checksums };
}
