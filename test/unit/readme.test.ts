import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import * as api from '../../src/index.js';
import { optionsTable } from '../support/options-table.js';

const root = new URL('../../', import.meta.url);
const readme = await readFile(new URL('README.md', root), 'utf8');

/** What the examples import and this project does not depend on. */
const ELSEWHERE = `
declare module '@nestjs/bullmq' {
  export function Processor(queue: string): ClassDecorator;
  export abstract class WorkerHost { abstract process(job: unknown): Promise<unknown>; }
}
declare module 'bullmq' {
  export interface Job<T> { id?: string; name: string; data: T }
}
declare module '@nestjs/microservices' {
  export function EventPattern(pattern: string): MethodDecorator;
  export function Payload(): ParameterDecorator;
}
`;

async function complaintsAbout(blocks: readonly string[]): Promise<string[]> {
  const folder = new URL('.cache/readme/', root);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await writeFile(new URL('elsewhere.d.ts', folder), ELSEWHERE);
  const names = blocks.map((block, index) => /^\/\/ (\S+\.ts)$/m.exec(block)?.[1] ?? `example-${index}.ts`);
  // Each block is a module of its own.
  await Promise.all(
    blocks.map((block, index) => writeFile(new URL(names[index] ?? '', folder), `${block}\nexport {};\n`)),
  );
  const config = ts.readConfigFile(new URL('tsconfig.json', root).pathname, (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root.pathname);
  const program = ts.createProgram(
    [...names, 'elsewhere.d.ts'].map((name) => new URL(name, folder).pathname),
    {
      ...options,
      noUnusedLocals: false,
      noUnusedParameters: false,
      paths: { 'nestjs-heartbeat': [new URL('src/index.ts', root).pathname] },
    },
  );
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ file, messageText }) => `${file?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
}

describe('README', () => {
  it('lists the options as the code has them', async () => {
    const listed = /<!-- options -->\s*([\s\S]*?)\s*<!-- \/options -->/.exec(readme)?.[1];
    expect(listed).toBe((await optionsTable()).trim());
  });

  it('names every event, every error code and every reason', () => {
    const events = Object.values(api)
      .filter((value) => typeof value === 'string')
      .filter((value) => value.startsWith('heartbeat.'));
    expect(events).toHaveLength(8);
    const codes: Record<api.HeartbeatErrorCode, true> = {
      E_OPTION: true,
      E_TASK: true,
      E_LEASE_LOST: true,
      E_LEASE_HELD: true,
      E_SERVER_CLOSED: true,
      E_DISABLED: true,
      E_BROKER: true,
      E_TIMEOUT: true,
    };
    for (const name of [...events, ...Object.keys(codes), ...api.LEASE_LOSS_REASONS]) {
      expect(readme).toContain(`\`${name}\``);
    }
  });

  it('has examples that compile', async () => {
    const blocks = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block]) => block ?? '');
    expect(blocks.length).toBeGreaterThan(8);
    expect(await complaintsAbout(blocks)).toEqual([]);
  }, 60_000);
});
