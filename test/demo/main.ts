import 'reflect-metadata';
import { fileURLToPath } from 'node:url';
import { Logger } from '@nestjs/common';
import { HeartbeatOptionError } from 'nestjs-heartbeat';
import { onCtrlC } from './ctrl-c.js';
import { Demo } from './demo.js';
import { Feed } from './feed.js';
import { NestLogger } from './nest-logger.js';
import { readSourceFolder } from './source-files.js';
import { StopRequest } from './stop-request.js';
import { openStore, type Store } from './store.js';
import { UserError } from './user-error.js';
import { LiveView } from './view/live-view.js';
import { PlainView } from './view/plain-view.js';
import type { View } from './view/view.js';

/** The project's own: it is there in any clone. */
const DEFAULT_FOLDER = fileURLToPath(new URL('../../src', import.meta.url));
/** Nobody watches what does not go to a terminal: it is to end soon. */
const TIME_LIMIT_MS = { live: 3_600_000, plain: 30_000 };

const { stdin, stdout, env, argv } = process;
const isLive = stdout.isTTY && env['TERM'] !== 'dumb';

async function main(store: Store): Promise<void> {
  const [given, ...more] = argv.slice(2);
  if (more.length > 0) throw new UserError('One folder is enough: npm run demo -- <folder>');
  const folder = await readSourceFolder(given ?? DEFAULT_FOLDER);

  const feed = new Feed();
  Logger.overrideLogger(new NestLogger(feed));
  const view: View = isLive
    ? new LiveView(feed, stdout, !env['NO_COLOR'])
    : new PlainView(feed, (text) => void stdout.write(text));
  const stop = new StopRequest(() => {
    console.error('\nEnding now: what is left in the store runs out within seconds.');
    process.exit(130);
  });
  const timeLimit = isLive ? TIME_LIMIT_MS.live : TIME_LIMIT_MS.plain;
  const demo = new Demo({ folder, store, feed, view, stop: stop.signal, timeLimit });
  stop.onSignals();
  const release = isLive && stdin.isTTY ? onCtrlC(stdin, stop.ask) : undefined;
  await demo.run().finally(release);
}

function tell(error: unknown): void {
  if (error instanceof UserError) {
    console.error(error.message);
    process.exitCode = error.exitCode;
  } else if (error instanceof HeartbeatOptionError && error.option === 'connection') {
    console.error('REDIS_URL must be a redis:// or rediss:// URL, or the absolute path of a Unix socket.');
    process.exitCode = 2;
  } else throw error;
}

// Whoever reads may go away, as `head` does: then there is nobody to tell.
stdout.on('error', () => process.exit(0));
const store = openStore(env['REDIS_URL']);
await main(store)
  .catch(tell)
  .finally(() => {
    store.close();
  });
