import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.js';
import { RedisServer } from './redis-server.js';
import { run } from './run.js';

/** A Redis that speaks TLS, and only with clients that show a certificate. */
export class TlsTopology {
  private constructor(
    readonly server: RedisServer,
    readonly port: number,
    readonly tls: { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer },
    private readonly dir: string,
  ) {}

  static async start(): Promise<TlsTopology> {
    const dir = await mkdtemp(join(tmpdir(), 'tls-test-'));
    const file = (name: string): string => join(dir, name);
    const openssl = (...args: string[]): Promise<string> => run('openssl', args, { timeoutMs: 20_000 });
    const key = ['-newkey', 'rsa:2048', '-nodes', '-days', '2'];
    await openssl(
      'req',
      '-x509',
      ...key,
      '-subj',
      '/CN=test authority',
      '-keyout',
      file('ca.key'),
      '-out',
      file('ca.crt'),
    );
    for (const name of ['server', 'client']) {
      await openssl(
        'req',
        ...key.slice(0, 3),
        '-subj',
        `/CN=${name}`,
        '-addext',
        'subjectAltName=IP:127.0.0.1',
        '-keyout',
        file(`${name}.key`),
        '-out',
        file(`${name}.csr`),
      );
      await openssl(
        'x509',
        '-req',
        '-in',
        file(`${name}.csr`),
        '-CA',
        file('ca.crt'),
        '-CAkey',
        file('ca.key'),
        '-CAcreateserial',
        '-copy_extensions',
        'copy',
        '-days',
        '2',
        '-out',
        file(`${name}.crt`),
      );
    }
    const port = await freePort();
    const server = await RedisServer.start({
      args: [
        ...['--tls-port', String(port), '--tls-auth-clients', 'yes'],
        ...[
          '--tls-ca-cert-file',
          file('ca.crt'),
          '--tls-cert-file',
          file('server.crt'),
          '--tls-key-file',
          file('server.key'),
        ],
      ],
    });
    const [ca, cert, clientKey] = await Promise.all(
      ['ca.crt', 'client.crt', 'client.key'].map((name) => readFile(file(name))),
    );
    if (!ca || !cert || !clientKey) throw new Error('no certificate was made');
    return new TlsTopology(server, port, { ca, cert, key: clientKey }, dir);
  }

  async stop(): Promise<void> {
    await this.server.stop();
    await rm(this.dir, { recursive: true, force: true });
  }
}
