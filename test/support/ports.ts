import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the range from which systems take the local ports of outgoing connections. There, a client that retries
 * towards a stopped server could be given that very port as its own and so connect to itself. It leaves room for
 * Redis Cluster's bus too, which listens at port + 10,000.
 */
const FIRST_PORT = 10_000;
const LAST_PORT = 21_999;

/** Whether one can listen on a port of the loopback right now. */
export async function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}

/** A port of the loopback that was free a moment ago. Random, so that parallel test files rarely meet. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(FIRST_PORT, LAST_PORT + 1);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port found between ${String(FIRST_PORT)} and ${String(LAST_PORT)}`);
}
