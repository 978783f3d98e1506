import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Command, Report } from '../app/protocol.js';

/** The test's end of the line to an app. */
export class ControlPort {
  #socket: Socket | undefined;

  private constructor(
    private readonly server: Server,
    onReport: (report: Report) => void,
  ) {
    server.once('connection', (socket) => {
      this.#socket = socket.setNoDelay(true);
      const lines = createInterface({ input: socket });
      lines.on('line', (line) => {
        onReport(JSON.parse(line) as Report);
      });
      // An app that is killed resets it.
      for (const end of [socket, lines]) end.on('error', () => undefined);
    });
  }

  static async open(onReport: (report: Report) => void): Promise<ControlPort> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ControlPort(server, onReport);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  send(command: Command): void {
    this.#socket?.write(`${JSON.stringify(command)}\n`);
  }

  close(): void {
    this.#socket?.destroy();
    this.server.close();
  }
}
