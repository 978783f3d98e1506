import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RedisServer } from '../support/redis-server.js';
import { DemoRun } from './support/demo-run.js';
import { makeSampleFolder, type SampleFolder } from './support/sample-folder.js';

const CTRL_C = '\u0003';
const ESC = '\u001b';
const HOSTILE_NAME = `red${ESC}[31m.txt`;
const DONE = /^ *[\d.]+ s {2}([0-9a-f]{8}) {2}done {6}([0-9a-f]{64}) {2}(.+) \([\d.]+ [KM]?B\)$/;

let folder: SampleFolder;

beforeAll(async () => {
  folder = await makeSampleFolder(11, [HOSTILE_NAME]);
});

afterAll(() => rm(folder.path, { recursive: true, force: true }));

/** What the lines say was done: by whom, with which checksum. */
function doneIn(run: DemoRun): { server: string; sha256: string; name: string }[] {
  return run.lines.flatMap((line) => {
    const [, server = '', sha256 = '', name = ''] = DONE.exec(line) ?? [];
    return name === '' ? [] : [{ server, sha256, name }];
  });
}

function linesWith(run: DemoRun, word: string): string[] {
  return run.lines.filter((line) => new RegExp(`^ *[\\d.]+ s {2}[0-9a-f]{8} {2}${word} `).test(line));
}

describe('without a terminal', () => {
  it('makes each checksum once, though two servers compete, and ends by itself', async () => {
    await using run = DemoRun.plain([folder.path]);
    expect(await run.end(60_000)).toBe(0);

    const done = doneIn(run);
    const expected = [...folder.checksums].map(([name, sha256]) => [name.replace(ESC, '\uFFFD'), sha256]);
    expect(done.map(({ name, sha256 }) => [name, sha256]).sort()).toEqual(expected.sort());
    expect(new Set(done.map(({ server }) => server)).size).toBe(2);
    expect(run.output.match(/Server .* beats every 1000 ms .* through MemoryBroker/g)).toHaveLength(2);
    for (const word of ['up', 'draining', 'cleared']) expect(linesWith(run, word), word).toHaveLength(2);
    expect(linesWith(run, 'held').length).toBeGreaterThan(0);
    expect(run.output).toContain('12 of 12 files done, each once. The store is empty.');
    expect(run.output).not.toContain(ESC);
    expect(run.lines.length).toBeLessThan(200);
  });

  it('lets running tasks finish when it is interrupted, and takes no more', async () => {
    await using run = DemoRun.plain([folder.path]);
    await run.until(/ done /);
    run.signal('SIGINT');
    expect(await run.end(15_000)).toBe(0);

    const [before = '', after = ''] = run.output.split('Asked to end');
    expect(after).not.toContain(' taken ');
    const done = doneIn(run);
    expect(done.length).toBe(before.match(/ taken /g)?.length);
    expect(done.length).toBeLessThan(folder.checksums.size);
    for (const { name, sha256 } of done) expect(folder.checksums.get(name.replace('\uFFFD', ESC))).toBe(sha256);
    expect(linesWith(run, 'cleared')).toHaveLength(2);
    expect(run.output).toContain(`${String(done.length)} of 12 files done, each once. The store is empty.`);
  });

  it('ends at once when it is interrupted again', async () => {
    await using run = DemoRun.plain([folder.path]);
    await run.until(/ taken /);
    run.signal('SIGINT');
    await run.until(/ draining /);
    await new Promise((resolve) => setTimeout(resolve, 600));
    run.signal('SIGINT');
    expect(await run.end(2_000)).toBe(130);
    expect(run.output).toContain('Ending now');
  });

  it.each([
    ['a folder that is not there', () => [join(folder.path, 'nothing')], /^Cannot read ".*nothing": there is no such/],
    ['a file', () => [join(folder.path, 'file-1.txt')], /^".*file-1\.txt" is not a folder/],
    ['two folders', () => [folder.path, folder.path], /^One folder is enough/],
  ])('refuses %s in one line', async (_, args, message) => {
    await using run = DemoRun.plain(args());
    expect(await run.end(20_000)).toBe(2);
    expect(run.output).toMatch(message);
    expect(run.lines).toHaveLength(2);
  });

  it('refuses an empty folder in one line', async () => {
    const empty = await makeSampleFolder(0);
    await using run = DemoRun.plain([empty.path]);
    expect(await run.end(20_000)).toBe(2);
    expect(run.output).toMatch(/^There are no files in .*\n$/);
    await rm(empty.path, { recursive: true });
  });
});

describe('on a terminal', () => {
  it('draws a table until everything is done', async () => {
    await using run = DemoRun.onTerminal([folder.path]);
    expect(await run.end(60_000)).toBe(0);

    expect(run.output).toContain('SERVER                           STATUS    TASKS  LAST BEAT  BEATS  DONE  HELD*');
    expect(run.output).toContain('SERVER    TASK                               ELAPSED  LEASE  PROGRESS');
    expect(run.output).toContain('2 servers, 8 workers, 8 leases');
    expect(run.output).toContain(`${ESC}[32mactive`);
    expect(run.output).not.toContain(HOSTILE_NAME);
    const last = run.output.slice(run.output.lastIndexOf(`${ESC}[H`));
    expect(last).toContain('12 of 12 files done, each once. The store is empty.');
    // Each line is followed by what erases the rest of it: no more of them than rows, so that nothing scrolls.
    expect(last.split(`${ESC}[K`).length - 1).toBeLessThan(24);
    expect(last).toContain(`${ESC}[?25h`);
  });

  it('drains and clears before one’s eyes on Ctrl-C', async () => {
    await using run = DemoRun.onTerminal([folder.path]);
    await run.until(/[1-9]\d* of 12 files/);
    run.press(CTRL_C);
    await run.until(/Draining… [1-9] tasks? left/);
    expect(await run.end(15_000)).toBe(0);

    const last = run.output.slice(run.output.lastIndexOf(`${ESC}[H`));
    // In the table itself: the log below it may have moved on.
    expect(stripVTControlCharacters(last).match(/cleared +0\/4/g)).toHaveLength(2);
    expect(last).toMatch(/[1-9]\d* of 12 files done, each once\. The store is empty\./);
    expect(last).not.toContain('12 of 12');
  });

  it('has no colors where NO_COLOR is set', async () => {
    await using run = DemoRun.onTerminal([folder.path], { NO_COLOR: '1' });
    await run.until(/Progress/);
    run.press(CTRL_C);
    expect(await run.end(15_000)).toBe(0);
    expect(run.output.includes(`${ESC}[32m`)).toBe(false);
  });
});

describe('with REDIS_URL', () => {
  it('beats there, and leaves nothing', async () => {
    const redis = await RedisServer.start();
    try {
      await using run = DemoRun.plain([folder.path], { REDIS_URL: redis.url });
      await run.until(/ taken /);
      // A task may end, and a server may still be starting, between what it says and what is read here.
      const leases = async (): Promise<number> => Number(await redis.cli('ZCARD', 'asynq:{checksums}:lease'));
      await expect.poll(leases, { interval: 20, timeout: 10_000 }).toBeGreaterThan(0);
      await expect.poll(() => redis.cli('ZCARD', 'asynq:servers'), { interval: 20, timeout: 10_000 }).toBe('2');
      expect(await run.end(60_000)).toBe(0);
      expect(run.output).toContain('12 of 12 files done, each once. The store is empty.');
      expect(await redis.cli('KEYS', '*')).toBe('');
    } finally {
      await redis.stop();
    }
  });

  it('says so when nobody answers there, and does no work without a lease', async () => {
    await using run = DemoRun.plain([folder.path], { REDIS_URL: 'redis://user:secret@127.0.0.1:1' });
    expect(await run.end(20_000)).toBe(1);
    expect(run.output).toMatch(/^redis:\/\/\*\*\*@127\.0\.0\.1:1 cannot be used: connect ECONNREFUSED/m);
    expect(run.output).not.toContain('secret');
    expect(run.output).not.toContain(' taken ');
  });

  it('refuses what is no address', async () => {
    await using run = DemoRun.plain([folder.path], { REDIS_URL: 'http://user:secret@localhost' });
    expect(await run.end(20_000)).toBe(2);
    expect(run.output).toMatch(/^REDIS_URL must be .*\n$/);
  });
});
